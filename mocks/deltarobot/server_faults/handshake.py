"""Faults of the server in the handshake."""

from mocks.deltarobot.both_faults.handshake import *  # noqa: F403  both roles have the same
