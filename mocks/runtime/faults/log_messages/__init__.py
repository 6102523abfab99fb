"""Faults of the log publisher."""
