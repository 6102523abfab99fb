"""The faults of the RPC server, by what they are about."""
