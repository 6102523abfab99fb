"""Faults in working with buffers: of all roles, of an owner, and of a consumer."""
