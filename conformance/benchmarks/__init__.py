"""Measurements, each a ratio within one run: `python -m conformance.benchmarks.NAME`.

Machines are shared and noisy, so that no test asserts a time; what is compared runs in turn.
"""
