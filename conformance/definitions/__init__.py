"""Defines protocols: roles, messages, schemas and requirements, loaded from their files."""
