"""The lawful variants of the runtime's mocks, by what they are about."""
