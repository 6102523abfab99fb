"""What a protocol is: its roles, messages, schemas and requirements, loaded from its files."""
