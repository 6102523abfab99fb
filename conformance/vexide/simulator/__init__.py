"""Test cases for a simulator: the suite plays the frontend."""

from conformance.iut import Iut
from conformance.session import EXIT_TIME, Session
from conformance.verdicts import Violation
from conformance.vexide.commands import hello

SMOKE = "handshake.answered"


async def smoke(iut: Iut) -> None:
    """The simulator answers one Handshake with a Handshake event and then sends Ready."""
    async with iut.session() as session:
        await session.send(hello())
        try:
            await session.expect("Handshake", to="in answer to the Handshake command")
        except Violation as silent:
            await _comes_late(session, silent)
            raise
        loading = session.seconds("startup")
        await session.expect("Ready", within=loading, to="unasked", requirement="ready.sent")


async def _comes_late(session: Session, silent: Violation) -> None:
    """Raise a Violation with more information if the answer is possibly only buffered."""
    if session.ended or session.received or session.judge.spoiled or silent.requirement:
        return
    await session.finish()
    # A simulator that flushes its output at exit does this now.
    late = await session.wait_for("Handshake", within=EXIT_TIME)
    came = "the answer came only after the end of input" if late else silent.came
    question = "does the program flush every line after writing?"
    raise Violation(silent.expected, f"{came}; {question}") from silent
