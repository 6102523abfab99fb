"""Faults of the reference server, by topic."""
