"""Shared code of the testers of all three roles."""

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Sequence
from math import inf
from typing import Any

from conformance.cases import blaming
from conformance.harness.deadlines import in_time
from conformance.harness.upper_tester import Answer
from conformance.iut import Iut
from conformance.judging.judge import Finding
from conformance.running.timeouts import GRACE
from conformance.segmentation import Segmentation, byte_by_byte
from conformance.session import Session
from conformance.simspark.sexp import read
from conformance.verdicts import Conclusion, Inconclusive, NotExercised, Violation

LONG_TEXTS = (
    *(255, 256, 1023, 1024, 4095, 4096, 65_535, 65_536, 70_000),
    *(65_537, 4097, 1025, 257),
)
"""Sizes in bytes of the texts that an upper tester is asked to send.

The sizes above a limit by one byte come last. If one byte of a text is missing, the next message
can complete it. The received bytes then show less clearly that the length is wrong.
"""

FORMS_OF_NUMBERS = (
    *("2.5e+00", "0.25E1", "250e-2", "-25e-1", "-2.5e-01", "25000000000000000000001e-22"),
    *("+2.5", "02.5", "010", "3.", ".5", "-.5", "2.500000000000000000000000000001"),
)
"""Ways to write numbers: with exponents, signs, zeros and digits that a double does not hold."""

ODD_NUMBERS = (
    *("nan", "-nan", "inf", "-inf", "1e80", "-1e80", "1e400", "-1e400", "1e-400", "5e-324"),
    *("1.7976931348623157e+308", "-1.7976931348623157e+308", "1e308", "-1e308"),
)
"""Numbers that are not finite, or that a double cannot hold."""
LONG_NUMBERS = ("9" * 200, f"0.{'3' * 200}", f"-{'0' * 200}1.5", f"1.5{'0' * 200}")
"""Numbers of very many digits, but of fewer than 256 characters."""


def expressions(text: str) -> list[Any]:
    """Decode a message from its text on the wire, without the length."""
    return read(text.encode("ascii"))


async def leave(session: Session) -> None:
    """Close a connection in an orderly way, after the IUT has closed its side.

    Unread messages would turn the close into a reset. Only a should says that an IUT survives a
    reset.
    """
    await session.finish()
    await session.until_closed("quiet")
    await session.close()


@contextlib.asynccontextmanager
async def blame_pieces(
    iut: Iut, play: Callable[[Iut, Segmentation | None], Awaitable[None]]
) -> AsyncIterator[None]:
    """Raise Inconclusive for a violation in this block if the IUT loses messages in pieces.

    Long and incomplete messages arrive in pieces. ``play`` sends a short message in pieces, or
    whole, and raises Violation if it is lost.
    """

    async def is_lost(pieces: Segmentation | None) -> bool:
        try:
            await play(Iut(iut.testbed, ""), pieces)
        except Violation:
            return True
        except Conclusion:
            pass  # There is no evidence of a loss.
        return False

    async def only_pieces_are_lost() -> bool:
        return not await is_lost(None) and await is_lost(byte_by_byte)

    try:
        yield
    except Violation as violation:
        if not await iut.cached(f"lost pieces: {play.__qualname__}", only_pieces_are_lost):
            raise
        why = f"{violation}; a short message in pieces is lost, too (frame.segmentation)"
        raise Inconclusive(why) from None


async def judge_one_session(
    iut: Iut,
    name: str,
    play: Callable[[Iut], Awaitable[str | None]],
    first: Collection[str] = (),
    *,
    fails: str | None = None,
) -> None:
    """Play a session that exercises many requirements, once in a run, and report its findings.

    ``play`` returns a sentence if the IUT ended the session early, else None. ``first`` are the
    requirements that even a short session decides. ``fails`` is the requirement to blame if
    ``play`` raises a Violation without one.

    Raises Violation if the session violated the requirement of the current test, and Inconclusive
    if the session ended early.
    """

    async def find() -> tuple[tuple[Session, ...], str | None]:
        with blaming(fails):
            early = await play(iut)
        return tuple(iut.sessions), early

    sessions, early = await iut.cached(name, find)
    for session in sessions:
        for finding in sorted(session.judge.findings, key=_in_time):
            if finding.requirement == iut.requirement_id:
                shown = Violation(None, finding.message, None, finding.event, explains=True)
                raise shown.shown_in(session, sessions)
    if early and iut.requirement_id not in first:
        raise Inconclusive(early)


def _in_time(finding: Finding) -> float:
    """Sort key: the event of a finding.

    A finding about an earlier message can be detected later.
    """
    return inf if finding.event is None else finding.event


def raise_if_unreadable(session: Session, expected: str) -> None:
    """Raise Violation if the received bytes cannot be split into messages.

    Raises Inconclusive if they violate another requirement than that of the test.
    """
    findings = session.judge.findings
    if other := next((f for f in findings if f.requirement != "frame.length-prefix"), None):
        raise Inconclusive(f"the received bytes violate another requirement: {other.message}")
    if session.judge.take_rest(session.role.name) or session.judge.spoiled:
        came = "the received bytes cannot be split into messages"
        raise Violation(expected, came, "frame.length-prefix", explains=True).shown_in(session)


def raise_unless_whole(sessions: Sequence[Session], what: str) -> None:
    """Raise the conclusion for messages that are missing: Violation if others were garbled."""
    for session in sessions:
        judge = session.judge
        if judge.findings or judge.take_rest(session.role.name) or judge.spoiled:
            came = "received bytes that are other messages, or only the beginning of one"
            wrong = Violation(f"whole {what}", came, "frame.length-prefix")
            raise wrong.shown_in(session, sessions)
    raise Inconclusive(f"did not receive all {what}")


async def repeat_for(
    session: Session, seconds: float, count: int, take: Callable[[], Awaitable[Any]]
) -> None:
    """Call `take` repeatedly for `seconds`.

    Continue for 1.2 times as long if `take` returned fewer than `count` times by then.
    """
    began, taken = session.now, 0
    while session.now < began + (seconds if taken >= count else 1.2 * seconds):
        await take()
        taken += 1


def reported_names(session: Session) -> set[str]:
    """Return the names of all values that the IUT has reported so far."""
    names: set[str] = session.facts.setdefault("kept", set())
    return names


def require_reported(session: Session, name: str) -> None:
    """Raise NotExercised if the IUT reports no value of this name."""
    if name not in reported_names(session):
        hook = session.role.hooks["state"].description
        raise NotExercised(f"needs {name} in the state: --hook state=COMMAND ({hook})")


async def run_operation(session: Session, operation: str) -> Answer:
    """Run an operation of the upper tester and return its answer.

    Raises Violation if the IUT crashes during the wait, or stops answering operations.
    """
    operated, before = session.instance.upper.operated, session.now
    answer = session.instance.upper(operation)
    deadlines = 1 if operation in operated.unanswered else 1 + int(GRACE)
    try:
        if not reported_names(session):
            return await answer
        # The IUT has answered earlier, so its declared response time is a valid timeout.
        return await in_time(answer, session.countdown(*deadlines * ["response"]))
    except (Inconclusive, TimeoutError) as none:
        await session.until_closed(session.seconds("quiet"))
        await session.assert_alive("an operation")
        waited = session.now - before
        if isinstance(none, Inconclusive) and (
            not reported_names(session) or session.ended or waited < session.seconds("response")
        ):
            raise
        operated.take(operation, False)
        expected = f"an answer to the operation {operation!r}, as earlier in the run"
        raise Violation(expected, f"received no answer within {waited:.0f} s") from none
