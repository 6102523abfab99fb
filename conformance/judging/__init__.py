"""Judges what crosses the wire: captures of it, live or recorded, and the findings in them."""
