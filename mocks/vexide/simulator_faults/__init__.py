"""The faults of the reference simulator, one module for each area of its requirements."""
