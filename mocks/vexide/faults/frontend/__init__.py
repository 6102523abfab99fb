"""Faults that only the frontend can have."""
