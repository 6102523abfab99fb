"""How a command ends: its exit codes, and the two exceptions that end it with one line.

The command imports this before anything else, so it imports nothing itself.
"""

CONFORMANT, NONCONFORMANT, USAGE, INCONCLUSIVE, SUITE_FAILED = 0, 1, 2, 3, 4
INTERRUPTED = 130


class WrongUsage(Exception):
    """What was typed, or stands in a file, makes no sense; one line says what was expected."""


class SuiteFault(Exception):
    """The suite itself has failed, in a way that one line explains."""
