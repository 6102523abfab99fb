"""The clients that the suite plays against a server: monitors, agents, matches."""
