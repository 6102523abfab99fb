"""The faults of the consumer of buffers, by what they are about."""
