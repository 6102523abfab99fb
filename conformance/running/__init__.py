"""Runs the test cases of a role: which of them, side by side, how patiently, with what result."""
