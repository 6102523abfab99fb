"""What the testers of all three roles share: messages as text, and sessions held once in a run."""

from collections.abc import Awaitable, Callable
from typing import Any

from conformance.harness.upper import Answer
from conformance.iut import Iut
from conformance.session import Session
from conformance.simspark.sexp import read
from conformance.verdicts import Inconclusive, Violation


def expressions(text: str) -> list[Any]:
    """The decoded form of a message written as on the wire."""
    return read(text.encode("ascii"))


async def in_one_session(iut: Iut, name: str, hold: Callable[[Iut], Awaitable[None]]) -> None:
    """Hold a session in which many statements show, once in a run; what it has shown is remembered.

    Raises Violation where it has shown one of the statement that the test decides.
    """
    if name not in iut.memory:
        await hold(iut)
        iut.memory[name] = [finding for s in iut.sessions for finding in s.judge.findings]
    for finding in iut.memory[name]:
        if finding.requirement == iut.deciding:
            raise Violation("what the requirement says", finding.message, explains=True)


async def asked(session: Session, operation: str) -> Answer:
    """Run an operation of the upper tester. Raises Violation where the IUT has died meanwhile."""
    try:
        return await session.instance.upper(operation)
    except Inconclusive:
        await session.until_closed(session.seconds("quiet"))
        await session.unharmed("what it was told")
        raise
