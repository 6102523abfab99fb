"""The exit codes of commands, and the exceptions that end a command with one line."""

import os

CONFORMANT, NONCONFORMANT, USAGE, INCONCLUSIVE, SUITE_FAILED = 0, 1, 2, 3, 4
INTERRUPTED = 130


class WrongUsage(Exception):
    """An error in a command line or a file; the text says what was expected."""


class SuiteFault(Exception):
    """The suite itself has failed, in a way that one line explains."""


def check_working_folder() -> None:
    """Raise WrongUsage if the working folder does not exist any more."""
    try:
        os.getcwd()
    except OSError:
        raise WrongUsage("the working folder does not exist any more") from None
