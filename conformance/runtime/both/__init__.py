"""Test cases that owners and consumers of buffers have in common."""

PLAIN = "plain.yaml"
