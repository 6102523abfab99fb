"""Lawful variants of the SimSpark mocks, by role.

The modules `reading` and `writing` contain the variants of several roles.
"""
