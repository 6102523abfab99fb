"""Faults of the client; each breaks one requirement."""
