"""What the toy mocks can lawfully do otherwise, a module a topic."""
