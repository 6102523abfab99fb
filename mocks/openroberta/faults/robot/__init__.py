"""Faults of the robot, by what they are about."""
