"""What the testers of all three roles share: messages as text, and sessions held once in a run."""

from collections.abc import Awaitable, Callable, Collection
from math import inf
from typing import Any

from conformance.harness.deadlines import in_time
from conformance.harness.upper import Answer
from conformance.iut import Iut
from conformance.judging.judge import Finding
from conformance.running.patience import LATE
from conformance.session import Session
from conformance.simspark.sexp import read
from conformance.verdicts import Inconclusive, Violation


def expressions(text: str) -> list[Any]:
    """The decoded form of a message written as on the wire."""
    return read(text.encode("ascii"))


async def in_one_session(
    iut: Iut,
    name: str,
    play: Callable[[Iut], Awaitable[str | None]],
    first: Collection[str] = (),
    *,
    fails: str | None = None,
) -> None:
    """Play a session in which many requirements show, once in a run; its findings are remembered.

    ``play`` returns how the IUT has ended the session early, if it has. Raises Violation where it
    has shown one of the requirement that the test decides, Inconclusive where it has ended early,
    except for those that show ``first``. ``fails`` is what it violates by not playing on.
    """

    async def find() -> tuple[tuple[Session, ...], str | None]:
        try:
            early = await play(iut)
        except Violation as none:
            none.requirement = none.requirement or fails
            raise
        return tuple(iut.sessions), early

    sessions, early = await iut.once(name, find)
    presumed = list(iut.testbed.patience.presumed(iut.deciding))
    for session in sessions:
        basis: Finding | None = None
        for finding in sorted(session.judge.findings, key=_in_time):
            if finding.requirement in (iut.deciding, *presumed):
                basis = basis or finding
            if basis and finding.requirement == iut.deciding:
                # It may follow from what it presumes and what was violated before it.
                about, came, event = basis.requirement, basis.message, basis.event
                shown = Violation(None, came, about, event, explains=True)
                raise shown.shown_in(session, sessions)
    if early and iut.deciding not in first:
        raise Inconclusive(early)


def _in_time(finding: Finding) -> float:
    """What is about an earlier message may have been found later."""
    return inf if finding.event is None else finding.event


async def for_long(
    session: Session, seconds: float, count: int, take: Callable[[], Awaitable[Any]]
) -> None:
    """Take what comes again and again for some seconds; for more where fewer have come by then."""
    began, taken = session.now, 0
    while session.now < began + (seconds if taken >= count else 1.2 * seconds):
        await take()
        taken += 1


def kept(session: Session) -> set[str]:
    """The names of the values that the IUT keeps: that its states have told in the run."""
    names: set[str] = session.memory.setdefault("kept", set())
    return names


async def asked(session: Session, operation: str) -> Answer:
    """Run an operation of the upper tester.

    Raises Violation where the IUT has died meanwhile, or answers no more, as one does that hangs.
    """
    operated, before = session.instance.upper.operated, session.now
    answer = session.instance.upper(operation)
    deadlines = 1 if operation in operated.unanswered else 1 + int(LATE)
    try:
        if not kept(session):
            return await answer
        # It has answered before, within what it declares of all that it reacts to.
        return await in_time(answer, session.left(*deadlines * ["response"]))
    except (Inconclusive, TimeoutError) as none:
        await session.until_closed(session.seconds("quiet"))
        await session.unharmed("what it was told")
        waited = session.now - before
        if isinstance(none, Inconclusive) and (
            not kept(session) or session.ended or waited < session.seconds("response")
        ):
            raise
        operated.take(operation, False)
        expected = f"it to answer the operation {operation!r}, as it did before"
        raise Violation(expected, f"no answer came for {waited:.0f} s") from none
