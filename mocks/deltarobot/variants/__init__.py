"""Lawful ways in which either mock can differ from the usual one, a module a topic."""
