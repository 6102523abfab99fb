"""Faults of the reference server."""
