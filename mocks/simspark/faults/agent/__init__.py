"""Faults of the reference agent."""
