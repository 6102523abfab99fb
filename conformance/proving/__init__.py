"""Prove the suite with its mocks: faults, lawful variants and mutants."""
