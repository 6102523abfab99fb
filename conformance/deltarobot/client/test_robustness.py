"""What a client survives."""

from conformance.cases import in_one_loop
from conformance.deltarobot.both.robustness import *  # noqa: F403  both roles have the same

pytestmark = in_one_loop
