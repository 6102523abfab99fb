"""Faults of the sender and the receiver of gamepad input."""
