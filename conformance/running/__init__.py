"""Runs the test cases of a role: selection, execution in parallel, timeouts and results."""
