"""Faults of the SimSpark mocks, by role; those that any of them can have stand here."""
