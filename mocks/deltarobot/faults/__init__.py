"""Deliberate violations of both mocks, one module for each topic."""
