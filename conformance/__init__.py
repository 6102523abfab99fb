"""Conformance tests for the protocols of robots and robot simulators."""

__version__ = "0.1.0"
