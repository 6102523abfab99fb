"""The faults of the reference frontend, one module for each area of its requirements."""
