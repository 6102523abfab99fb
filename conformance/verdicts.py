"""The verdicts of tests and requirements, and how they are merged: the worst verdict wins."""

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
    """The worst of several verdicts about a requirement; without any, not-exercised."""
    return min(verdicts, key=_WORST_FIRST.index, default=Verdict.NOT_EXERCISED)


VIOLATIONS = (Verdict.FAIL, Verdict.WARN)
"""The verdicts of violated statements."""


def violation_verdict(level: str) -> Verdict:
    """The verdict of a violated statement of this level."""
    return Verdict.FAIL if level == "must" else Verdict.WARN


class Conclusion(Exception):
    """A conclusion of a test other than pass. It is never a fault of the suite."""

    verdict = Verdict.INCONCLUSIVE
    session: Any = None
    """The session that shows the conclusion; None for the last session of the test."""
    sessions: tuple[Any, ...] = ()
    """All sessions of the attempt; empty for all sessions of the test."""

    def shown_in(self, session: Any, sessions: Iterable[Any] = ()) -> Self:
        """Set `session` and `sessions`, unless they are set already."""
        self.session = self.session or session
        self.sessions = self.sessions or tuple(sessions)
        return self


class Violation(Conclusion):
    """The IUT violates a requirement.

    - ``expected`` and ``came``: texts without a full stop; ``expected`` is None if ``came`` is
      enough
    - ``requirement``: None for the requirement that the test decides
    - ``event``: the index of the offending event in the session's transcript
    - ``explains``: the violation counts although bytes came that are not a message
    - ``missing``: the names of messages that timed out in each of several sessions
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
    """The test tried the requirement, and the evidence does not decide."""


class Flooded(Inconclusive):
    """The IUT has written more than the suite reads; ``size`` is in bytes."""

    def __init__(self, text: str, size: int) -> None:
        super().__init__(text)
        self.size = size


class Late(Inconclusive):
    """A message came later than declared; ``took`` is the time in seconds until it came."""

    def __init__(self, text: str, took: float) -> None:
        super().__init__(text)
        self.took = took


class Hindered(Inconclusive):
    """The machine or another test can be the reason for the failure. The test is repeated."""


class NotRepeated(Inconclusive):
    """The same wait of an earlier test of the same requirement timed out."""


class NotExercised(Conclusion):
    """The test did not try the requirement; the text says what to provide for it."""

    verdict = Verdict.NOT_EXERCISED


class Unreachable(Conclusion):
    """The IUT could not be started or reached; nothing was tried."""
