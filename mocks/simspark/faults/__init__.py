"""Faults of the SimSpark mocks, by role.

The modules of this package contain the faults that several roles share.
"""
