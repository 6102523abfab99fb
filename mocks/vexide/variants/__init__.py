"""Lawful behaviour that differs from the usual one; what either mock can do stands in `either`."""
