"""The handshake of a server."""

from conformance.cases import in_one_loop
from conformance.deltarobot.both.handshake import *  # noqa: F403  both roles have the same

pytestmark = in_one_loop
