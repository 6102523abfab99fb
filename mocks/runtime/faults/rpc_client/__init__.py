"""Faults of the RPC client, by topic."""
