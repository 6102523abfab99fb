"""The faults of the receiver of gamepad input, by what they are about."""
