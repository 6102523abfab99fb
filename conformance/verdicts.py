"""Verdicts: what a test may conclude, and how conclusions merge. Merging only ever worsens."""

from collections.abc import Iterable
from enum import StrEnum
from typing import Any, Self


class Verdict(StrEnum):
    """The verdict of a test case or of a requirement."""

    PASS = "pass"
    FAIL = "fail"
    WARN = "warn"
    INCONCLUSIVE = "inconclusive"
    NOT_EXERCISED = "not-exercised"
    NOT_APPLICABLE = "not-applicable"
    KNOWN = "known"


# From bad to good. A requirement that one test passed was exercised, even if another test could not
# try it: `pass` comes before `not-exercised`. An inconclusive test outweighs a pass.
_WORST_FIRST = (
    Verdict.FAIL,
    Verdict.WARN,
    Verdict.KNOWN,
    Verdict.INCONCLUSIVE,
    Verdict.PASS,
    Verdict.NOT_EXERCISED,
    Verdict.NOT_APPLICABLE,
)


def merge(verdicts: Iterable[Verdict]) -> Verdict:
    """The verdict of several conclusions about one requirement; of none it is not-exercised."""
    return min(verdicts, key=_WORST_FIRST.index, default=Verdict.NOT_EXERCISED)


VIOLATIONS = (Verdict.FAIL, Verdict.WARN)
"""The verdicts of violated statements."""


def violated(level: str) -> Verdict:
    """The verdict of a violated statement of this level."""
    return Verdict.FAIL if level == "must" else Verdict.WARN


class Conclusion(Exception):
    """A test's conclusion other than pass; never a fault of the suite."""

    verdict = Verdict.INCONCLUSIVE
    session: Any = None
    """The session that shows it, if that is not the test's last one."""
    sessions: tuple[Any, ...] = ()
    """All sessions of the attempt, if that is not just the test's last one."""

    def shown_in(self, session: Any, sessions: Iterable[Any] = ()) -> Self:
        """Name the session that shows it and all of the attempt, unless they are named already."""
        self.session = self.session or session
        self.sessions = self.sessions or tuple(sessions)
        return self


class Violation(Conclusion):
    """The IUT did not do what a requirement says.

    ``expected`` and ``came`` are plain sentences; the first is None if the second says all.
    ``requirement`` is None for the requirement that the test decides. ``event`` is the index of
    the offending event in the session's transcript. ``explains``: the violation counts although
    bytes came that are not a message. ``missing`` names the messages that did not come in the full
    time, if no single session was to bring them.
    """

    verdict = Verdict.FAIL

    def __init__(
        self,
        expected: str | None,
        came: str,
        requirement: str | None = None,
        event: int | None = None,
        *,
        explains: bool = False,
        missing: tuple[str, ...] = (),
    ) -> None:
        super().__init__(came if expected is None else f"expected {expected}; {came}")
        self.expected = expected
        self.came = came
        self.requirement = requirement
        self.event = event
        self.explains = explains
        self.missing = missing


class Inconclusive(Conclusion):
    """It was tried, and the evidence does not decide."""


class Flooded(Inconclusive):
    """The IUT has written more than is read; ``size`` is in bytes."""

    def __init__(self, text: str, size: int) -> None:
        super().__init__(text)
        self.size = size


class Late(Inconclusive):
    """A message came later than declared; ``took`` is in seconds since it was asked for."""

    def __init__(self, text: str, took: float) -> None:
        super().__init__(text)
        self.took = took


class Hindered(Inconclusive):
    """Another test can have stood in the IUT's way: this test runs again alone."""


class NotRepeated(Inconclusive):
    """An earlier test waited in full for the same message and the same requirement."""


class NotExercised(Conclusion):
    """The means were missing; the text says what to provide."""

    verdict = Verdict.NOT_EXERCISED


class Unreachable(Conclusion):
    """The IUT could not be started or reached; nothing was tried."""
