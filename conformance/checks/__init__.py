"""Check that a protocol's files agree with each other and follow the project's rules."""
