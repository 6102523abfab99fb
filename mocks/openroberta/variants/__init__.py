"""Lawful variants of the mocks, by role."""
