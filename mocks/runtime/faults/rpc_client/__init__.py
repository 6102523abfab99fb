"""The faults of the RPC client, by what they are about."""
