"""Faults of the RPC server, by topic."""
