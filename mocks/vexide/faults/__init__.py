"""Faults of the mocks, one module a topic; those that either peer can have stand here."""
