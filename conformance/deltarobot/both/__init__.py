"""Test cases of both roles: each is run for every role that its requirement binds."""
