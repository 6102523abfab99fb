"""What the toy mocks can do wrong, a module a topic."""
