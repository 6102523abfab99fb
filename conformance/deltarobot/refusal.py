"""Refusal: how the IUT treats a peer whose handshake is wrong, or does not come."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable

from conformance.deltarobot import tester
from conformance.deltarobot.messages import MAGIC
from conformance.deltarobot.service import announced, unharmed
from conformance.iut import Iut
from conformance.session import Session
from conformance.verdicts import Conclusion, Inconclusive, Violation


async def refused(iut: Iut, session: Session, what: str, requirement: str | None = None) -> None:
    """Raise Violation unless the connection is closed, and nothing is served, after this handshake.

    ``requirement`` is what it violates otherwise, if not the one that the test decides.
    """
    expected = f"the connection to be closed after {what}"
    await tester.of(session).prompt(session)
    sign = await session.watch(*tester.of(session).signs, within="response")
    if sign and not await _serves_anybody(iut):
        about = "end.nothing-after" if announced(session, sign) else requirement
        raise Violation(expected, f"{sign.name} came: the peer is served", about, sign.event)
    if not await _closes(iut, session, "wrong"):
        about = "end.closes" if announced(session) else requirement
        raise Violation(expected, "it stays open", about)
    await unharmed(session, what)


async def unserved(iut: Iut, session: Session, what: str) -> None:
    """Raise Violation if a peer that sends nothing more is served, or is not dropped."""
    sign = await session.watch(*tester.of(session).signs, within=session.seconds("quiet"))
    if sign and not await _serves_anybody(iut):
        came = f"{sign.name} came: the peer is served"
        raise Violation(f"the connection to be closed after {what}", came, event=sign.event)
    await dropped(iut, session, what)


async def _serves_anybody(iut: Iut) -> bool:
    """Whether a peer is served that has sent no more than its magic: then that shows nothing."""

    async def find() -> bool:
        async with iut.session() as session:
            await session.send(MAGIC)
            return await session.watch(*tester.of(session).signs, within="response") is not None

    return await iut.once("serves anybody", find)


async def dropped(iut: Iut, session: Session, what: str) -> None:
    """Raise Violation unless a peer that sends nothing more is dropped within the declared time.

    Raises Inconclusive where none is declared and it is kept for as long as a test may wait.
    """
    if await _closes(iut, session, "silent"):
        await unharmed(session, what)
        return
    declared = iut.configuration.declared("handshake")
    if declared is None:
        raise Inconclusive(
            f"{what} is kept for more than {iut.configuration.max_wait:g} s, and the "
            "specification sets no limit; declare --timing handshake=SECONDS"
        )
    raise Violation(
        f"the connection to be closed about {declared:g} s after {what}",
        f"it was still open after {session.now:.1f} s",
        "end.closes" if announced(session) else None,
    )


async def twice_as_long_as_a_silent_peer_is_kept(
    iut: Iut, session: Session, look: Callable[[], Awaitable[None]]
) -> None:
    """Look again and again while a peer that says nothing is dropped, and as long once more.

    Where it is kept for as long as a test may wait, that is enough. Raises Violation where the
    session ends with the time for a handshake, which it has had.
    """
    async with iut.session() as silent:
        dropping = asyncio.ensure_future(_closes(iut, silent, "silent"))
        try:
            while not dropping.done():
                await look()
                await asyncio.wait({dropping}, timeout=silent.seconds("quiet"))
            await look()
        except Conclusion:
            if session.ended and await dropping and _as_old(silent, session):
                expected = "the session to go on when the time for the handshake is over"
                came = f"the {session.role.name} ended it then, as it does without a handshake"
                wrong = Violation(expected, came, "handshake.patient", len(session.events) - 1)
                raise wrong.shown_in(session) from None
            raise
        finally:
            dropping.cancel()
            await asyncio.wait({dropping})
        enough = 2 * silent.now if dropping.result() else 0
        # It may end its sessions by itself: of so long a one that decides nothing.
        with contextlib.suppress(Inconclusive):
            while silent.now < enough:
                await asyncio.sleep(silent.seconds("quiet"))
                await look()


def _as_old(silent: Session, session: Session) -> bool:
    """Whether both sessions were ended after the same time."""
    ages = [max(event.at for event in each.theirs) for each in (silent, session)]
    return max(ages) - min(ages) < silent.seconds("quiet")


async def _closes(iut: Iut, session: Session, peer: str) -> bool:
    """Whether it closes in the time that it may take: until its patience is over.

    Where that is not declared, it is waited out once in a run for each kind of peer.
    """
    declared = iut.configuration.declared("handshake")
    if declared is not None:
        return await session.until_closed(session.left(2 * declared, "response"))
    if iut.memory.get(f"keeps a {peer} peer"):
        return session.ended
    closed = await session.until_closed(iut.configuration.max_wait)
    iut.memory[f"keeps a {peer} peer"] = not closed
    return closed
