"""Test cases that owners and consumers have in common; the packages of the roles take them over."""
