"""Faults of the mocks by topic; modules at this level apply to both mocks."""
