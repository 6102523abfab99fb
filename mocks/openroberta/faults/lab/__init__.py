"""Faults of the lab, by what they are about."""
