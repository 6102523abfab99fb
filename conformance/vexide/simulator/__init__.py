"""Test cases for a simulator: the suite plays the frontend."""

from conformance.iut import Iut
from conformance.session import Session
from conformance.verdicts import Violation
from conformance.vexide.commands import hello
from conformance.vexide.simulator.plain import basis
from conformance.waiting import LAST_WORDS

__all__ = ["SMOKE", "basis", "smoke"]

SMOKE = "handshake.answered"


async def smoke(iut: Iut) -> None:
    """One Handshake, answered by a Handshake event; Ready follows."""
    async with iut.session() as session:
        await session.send(hello())
        try:
            await session.expect("Handshake", to="in answer to the Handshake command")
        except Violation as silent:
            await _held_back(session, silent)
            raise
        loading = session.seconds("startup")
        await session.expect("Ready", within=loading, to="unasked", requirement="ready.sent")


async def _held_back(session: Session, silent: Violation) -> None:
    """Raise a Violation that says more where the answer may only have been held back."""
    if session.ended or session.received or session.judge.spoiled or silent.requirement:
        return
    await session.finish()
    # One that flushes at its end has nothing else to do.
    late = await session.watch("Handshake", within=LAST_WORDS)
    came = "it came only when the input had ended" if late else silent.came
    question = "is every line flushed as it is written?"
    raise Violation(silent.expected, f"{came}; {question}") from silent
