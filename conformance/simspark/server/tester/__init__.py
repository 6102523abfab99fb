"""The part of a session that the suite plays against a server: monitors, agents, matches."""
