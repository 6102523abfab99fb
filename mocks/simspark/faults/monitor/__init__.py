"""Faults of the reference monitor."""
