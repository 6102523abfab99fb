"""Test cases that server and client have in common; the packages of the roles take them over."""
