"""Faults of the server; each breaks one requirement."""
