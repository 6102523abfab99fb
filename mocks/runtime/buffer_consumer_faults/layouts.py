"""Faults of the consumer in how its buffers are laid out."""

from mocks.runtime.memory.faults.layouts import *  # noqa: F403  both roles have the same
