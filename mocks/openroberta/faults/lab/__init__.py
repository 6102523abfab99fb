"""Faults of the lab, by topic."""
