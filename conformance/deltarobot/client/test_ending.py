"""How a client ends a session, and what it makes of the end that its peer brings."""

from conformance.cases import in_one_loop
from conformance.deltarobot.both.ending import *  # noqa: F403  both roles have the same

pytestmark = in_one_loop
