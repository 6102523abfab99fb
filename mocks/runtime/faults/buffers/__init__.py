"""Faults of whoever works with buffers: of all, of their owner, and of a consumer."""
