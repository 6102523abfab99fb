"""The faults of the runtime's mocks, by what they are about."""
