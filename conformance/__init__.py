"""Conformance tests for the protocols of robots and robot simulators."""

__version__ = "0.2.0"
