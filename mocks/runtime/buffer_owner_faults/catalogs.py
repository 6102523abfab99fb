"""Faults of the owner in what it makes of the catalog."""

from mocks.runtime.memory.faults.catalogs import *  # noqa: F403  both roles have the same
