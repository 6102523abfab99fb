"""Lawful variants of the runtime's mocks, by topic."""
