"""The exit codes of commands, and the exceptions that end a command with one line."""

CONFORMANT, NONCONFORMANT, USAGE, INCONCLUSIVE, SUITE_FAILED = 0, 1, 2, 3, 4
INTERRUPTED = 130


class WrongUsage(Exception):
    """An error in a command line or a file; the text says what was expected."""


class SuiteFault(Exception):
    """The suite itself has failed, in a way that one line explains."""
