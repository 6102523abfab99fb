"""Checks that the files of a protocol agree with one another and follow the rules of the house."""
