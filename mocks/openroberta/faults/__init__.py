"""Faults of the mocks, by role and topic."""
