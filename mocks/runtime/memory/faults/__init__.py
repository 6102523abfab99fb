"""Faults that owners and consumers of buffers both can have, by what they are about."""
