"""Faults that only the simulator can have."""
