"""Lawful variants of both mocks, one module for each topic."""
