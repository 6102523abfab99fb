"""Deliberate violations of either mock, a module a topic."""
