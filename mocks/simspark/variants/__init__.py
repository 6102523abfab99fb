"""Lawful variants of the SimSpark mocks, by role; those of several roles stand in `clients`."""
