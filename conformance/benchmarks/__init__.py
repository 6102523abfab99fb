"""Measurements, each a ratio within one run: `python -m conformance.benchmarks.NAME`.

Machines are shared and noisy, so no test asserts a time. The two sides of a ratio run alternately.
"""
