"""Faults of the robot, by topic."""
