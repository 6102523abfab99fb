"""Faults of the sender and of the receiver of gamepad input."""
