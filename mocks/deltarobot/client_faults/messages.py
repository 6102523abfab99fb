"""Faults of the client with messages of no meaning."""

from mocks.deltarobot.both_faults.messages import *  # noqa: F403  both roles have the same
