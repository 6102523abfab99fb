"""Faults of peers that work with buffers: all roles, owners, and consumers."""
