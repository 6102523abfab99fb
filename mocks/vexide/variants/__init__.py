"""Lawful behaviour that differs from the usual behaviour; `either` applies to both mocks."""
