"""Proves the suite by its mocks: faults, lawful variants and mutants."""
