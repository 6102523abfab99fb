"""Access to the IUT: its process, its byte streams and its upper tester."""
