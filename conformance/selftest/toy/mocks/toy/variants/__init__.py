"""Lawful variants of the toy mocks, a module for each topic."""
