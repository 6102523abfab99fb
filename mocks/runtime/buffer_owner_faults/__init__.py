"""The faults of the owner of buffers, by what they are about."""
