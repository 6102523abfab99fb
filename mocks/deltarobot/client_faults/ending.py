"""Faults of the client at the end of a session, and in what it survives."""

from mocks.deltarobot.both_faults.ending import *  # noqa: F403  both roles have the same
