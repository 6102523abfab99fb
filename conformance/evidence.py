"""Evidence: the facts that a test observed, recorded once and never changed."""

import re
from collections.abc import Collection
from dataclasses import dataclass, field
from enum import StrEnum

from conformance.harness import crash_output
from conformance.verdicts import Verdict

CONNECTION_STEPS = (FIRST_CONNECTION, CONNECT, CLOSE, BREAK) = (
    "the first connection",
    "a further connection",
    "the end of a connection",
    "a reset of a connection",
)
"""Labels of what our side does with connections. Most other labels are kinds of messages."""

_VARIES = re.compile(r"'[^']*'|\"[^\"]*\"|`[^`]*`|0x[0-9a-fA-F]+|\d+")
"""The parts of an error text that depend on one input: quoted text and numbers."""


class Kind(StrEnum):
    """The kind of a piece of evidence."""

    VIOLATION = "violation"
    """Something that came, or that an operation showed, contradicts the requirement."""
    TIMEOUT = "timeout"
    """The wait for a message timed out, while the stream was open."""
    END = "end"
    """The process or the stream ended before the awaited message came."""
    LATE = "late"
    """A message came after its declared time."""
    FLOOD = "flood"
    """The IUT wrote more than the suite reads."""
    MISSING_MEANS = "missing-means"
    """The user's configuration has no means to try the requirement."""
    UNREACHABLE = "unreachable"
    """The IUT could not be started or reached."""
    HINDERED = "hindered"
    """The machine or another test can be the reason for the failure."""
    NOT_REPEATED = "not-repeated"
    """The same wait of an earlier test of the same requirement timed out."""
    UNDECIDED = "undecided"
    """The test tried the requirement, and the facts do not decide."""
    SUITE_FAULT = "suite-fault"
    """The suite itself failed."""


AGAINST = (Kind.VIOLATION, Kind.TIMEOUT, Kind.END)
"""The kinds of evidence that violate a requirement."""


@dataclass(frozen=True)
class Place:
    """The place of a fact: a transcript, its event, and a path into the message."""

    transcript: str | None = None
    event: int | None = None
    path: tuple[str | int, ...] = ()


@dataclass(frozen=True)
class End:
    """How the IUT ended a session: its process crashed, or it closed the stream.

    - ``how`` completes "the IUT …"
    - ``said``: the reason in the output of the process, or empty
    - ``candidates``: the labels of the messages sent since the last message or answer of the IUT,
      in their order
    - ``lawful``: a side had said goodbye, so the protocol permits the end
    """

    how: str
    said: str = ""
    candidates: tuple[str, ...] = ()
    crashed: bool = False
    lawful: bool = False

    @property
    def way(self) -> tuple[str, str]:
        """The key of equal ends: how the session ended, and the general reason."""
        reason = self.said if crash_output.can_explain(self.said) else ""
        return self.how, generalize(reason)


def generalize(reason: str) -> str:
    """A reason without the parts that depend on one input."""
    return _VARIES.sub("…", reason)


@dataclass(frozen=True)
class Evidence:
    """A fact about a requirement.

    - ``message``: the whole sentence
    - ``expected`` and ``came``: the two halves of the sentence, if it has halves
    - ``missing``: the names of the messages that did not come
    - ``otherwise``: other messages with a missing name came
    - ``judged``: the evidence comes from the judge of a session, not from the test itself
    - ``amount``: seconds for a late message, bytes for a flood
    - ``end``: the end of the session
    """

    kind: Kind
    requirement: str
    message: str
    expected: str | None = None
    came: str | None = None
    place: Place = Place()
    missing: tuple[tuple[str, ...], ...] = ()
    otherwise: bool = False
    judged: bool = False
    amount: float = 0.0
    end: End | None = None

    @property
    def is_against(self) -> bool:
        """True if this evidence violates its requirement."""
        return self.kind in AGAINST


@dataclass(frozen=True)
class Observed:
    """Observations in the sessions of a test that are not evidence.

    - ``exercised``: requirements
    - ``received``: names of the messages that the IUT sent
    - ``sent``: labels of the messages that the suite sent
    """

    exercised: frozenset[str] = frozenset()
    received: frozenset[str] = frozenset()
    sent: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Files:
    """The files of a test, relative to the report's folder."""

    transcript: str | None = None
    counterexample: str | None = None


@dataclass(frozen=True)
class Result:
    """The result of one test case. It does not change after the end of the test.

    ``detail`` is the reason for the verdict. ``reproduce`` is the command that repeats the test.
    ``crash`` describes a crash of the IUT that no evidence is about.
    """

    id: str
    purpose: str
    requirement: str
    verdict: Verdict = Verdict.PASS
    detail: str = ""
    duration_s: float = 0.0
    evidence: tuple[Evidence, ...] = ()
    files: Files = Files()
    observed: Observed = field(default_factory=Observed)
    reproduce: str = ""
    crash: str = ""

    @property
    def own_evidence(self) -> Evidence | None:
        """The test's own conclusion, or else the judge's first finding about its requirement."""
        concluded = next((each for each in self.evidence if not each.judged), None)
        if concluded:
            return concluded
        return next((e for e in self.evidence if e.requirement == self.requirement), None)

    @property
    def problem(self) -> str:
        """The fault of the suite that ended the test, or empty."""
        faults = (each.message for each in self.evidence if each.kind is Kind.SUITE_FAULT)
        return next(faults, "")

    @property
    def is_unreached(self) -> bool:
        """True if the IUT could not be reached for this test."""
        return any(each.kind is Kind.UNREACHABLE for each in self.evidence)

    @property
    def findings(self) -> tuple[Evidence, ...]:
        """The evidence against requirements that is not the test's verdict on its own."""
        own = self.own_evidence
        return tuple(
            each
            for each in self.evidence
            if each.is_against
            and (each.judged or each.requirement != self.requirement or each != own)
        )


def failed_prerequisite(
    fact: Evidence, evidence: Collection[Evidence], presumed: Collection[str]
) -> Evidence | None:
    """The first finding about a prerequisite, earlier in the session of this fact.

    Without its prerequisites a test cannot succeed, so its own conclusion after such a finding
    decides nothing. Findings of the judge always count. Returns None if no prerequisite failed.
    """
    if fact.judged:
        return None
    for other in evidence:
        if not (other.judged and other.requirement in presumed):
            continue
        if other.place.transcript != fact.place.transcript:
            continue
        if fact.place.event is None or (other.place.event or 0) <= fact.place.event:
            return other
    return None
