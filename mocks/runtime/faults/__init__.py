"""Faults of the runtime's mocks, by topic."""
