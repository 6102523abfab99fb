"""What a client takes from the stream, and what it puts there."""

from conformance.cases import in_one_loop
from conformance.deltarobot.both.frames import *  # noqa: F403  both roles have the same

pytestmark = in_one_loop
