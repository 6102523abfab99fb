"""Faults of the server in frames and segmentation."""

from mocks.deltarobot.both_faults.frames import *  # noqa: F403  both roles have the same
