"""Small programs in several languages, each sound but for the mistake that a switch makes."""
