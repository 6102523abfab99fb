"""Refusal: how the IUT treats a peer with a wrong or missing handshake."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable

from conformance.deltarobot import tester
from conformance.deltarobot.messages import MAGIC
from conformance.deltarobot.service import assert_alive
from conformance.deltarobot.session_ends import (
    NEARLY,
    describe_own_end,
    end_time,
    has_announced_end,
    is_ended_by_itself,
    is_served,
)
from conformance.iut import Iut
from conformance.session import Session
from conformance.verdicts import Conclusion, Hindered, Inconclusive, Violation


async def assert_refused(
    iut: Iut, session: Session, what: str, requirement: str | None = None
) -> None:
    """Raise Violation unless the IUT closes the connection after this handshake and serves nothing.

    ``requirement`` is the requirement to blame; the default is the one under test.
    """
    expected = f"the connection to be closed after {what}"
    await tester.of(session).prompt(session)
    await _assert_no_service(iut, session, expected, "response", requirement)
    if not await _is_closed(iut, session, "wrong"):
        about = "end.closes" if has_announced_end(session) else requirement
        raise Violation(expected, "the connection stays open", about).shown_in(session)
    await assert_alive(session, what)


async def assert_unserved(iut: Iut, session: Session, what: str) -> None:
    """Raise Violation if the IUT serves or keeps a peer that sends nothing more."""
    expected = f"the connection to be closed after {what}"
    await _assert_no_service(iut, session, expected, session.seconds("quiet"))
    await assert_dropped(iut, session, what)


async def _assert_no_service(
    iut: Iut, session: Session, expected: str, within: str | float, requirement: str | None = None
) -> None:
    """Raise Violation if the IUT serves this peer within this time."""
    sign = await session.wait_for(*tester.of(session).signs, within=within)
    if sign and not await _is_serving_anybody(iut):
        about = "end.nothing-after" if has_announced_end(session, sign) else requirement
        came = f"received {sign.name}: the IUT serves the peer"
        # Another session was opened since.
        raise Violation(expected, came, about, sign.event).shown_in(session)


async def _is_serving_anybody(iut: Iut) -> bool:
    """Return True if the IUT serves even a peer that has sent only its magic.

    Service is then no evidence that the IUT accepted a handshake.
    """

    async def find() -> bool:
        async with iut.session() as session:
            await session.send(MAGIC)
            return await session.wait_for(*tester.of(session).signs, within="response") is not None

    return await iut.cached("serves anybody", find)


async def assert_dropped(iut: Iut, session: Session, what: str) -> None:
    """Raise Violation unless the IUT drops a silent peer within the declared time.

    Raises Inconclusive if no time is declared and the IUT keeps the peer for the longest wait of a
    test.
    """
    if await _is_closed(iut, session, "silent"):
        await assert_alive(session, what)
        return
    declared = iut.configuration.declared("handshake")
    if declared is None:
        raise Inconclusive(
            f"the IUT keeps {what} for more than {iut.configuration.max_wait:g} s, and the "
            "specification sets no limit; declare --timing handshake=SECONDS"
        )
    raise Violation(
        f"the connection to be closed about {declared:g} s after {what}",
        f"the connection was still open after {session.now:.1f} s",
        "end.closes" if has_announced_end(session) else None,
    )


async def look_beyond_the_handshake_time(
    iut: Iut, session: Session, look: Callable[[], Awaitable[None]]
) -> None:
    """Call `look` repeatedly for twice the time after which the IUT drops a silent peer.

    If the IUT keeps the silent peer for the longest wait of a test, `look` is called for that time
    only. Raises Violation if the session ends together with the silent one, although its handshake
    was complete.
    """
    async with iut.session() as silent:
        dropping = asyncio.ensure_future(_is_closed(iut, silent, "silent"))
        try:
            while not dropping.done():
                await look()
                await asyncio.wait({dropping}, timeout=silent.seconds("quiet"))
            await look()
        except Conclusion:
            if session.ended and await dropping and _is_as_old(silent, session):
                if not is_served(session):
                    came = "the IUT ended the session like that of a silent peer, unserved"
                    raise Hindered(f"{came}: our handshake can have come too late") from None
                if await is_ended_by_itself(iut, session, before=NEARLY * end_time(silent)):
                    raise Inconclusive(describe_own_end(session)) from None
                expected = "the session to continue after the time for the handshake is over"
                came = f"the {session.role.name} ended the session then, as without a handshake"
                wrong = Violation(expected, came, "handshake.patient", len(session.events) - 1)
                raise wrong.shown_in(session) from None
            raise
        finally:
            dropping.cancel()
            await asyncio.wait({dropping})
        enough = 2 * silent.now if dropping.result() else 0
        # The IUT can end a long session by itself, which decides nothing.
        with contextlib.suppress(Inconclusive):
            while silent.now < enough:
                await asyncio.sleep(silent.seconds("quiet"))
                await look()


def _is_as_old(silent: Session, session: Session) -> bool:
    """Return True if the IUT ended both sessions after the same time."""
    return abs(end_time(silent) - end_time(session)) < silent.seconds("quiet")


async def _is_closed(iut: Iut, session: Session, peer: str) -> bool:
    """Wait for the IUT to close the connection; return True if it does.

    The wait is twice the declared time for the handshake. If none is declared, the longest wait of
    a test is used once in a run for each kind of peer.
    """
    declared = iut.configuration.declared("handshake")
    if declared is not None:
        return await session.until_closed(session.countdown(2 * declared, "response"))
    if iut.facts.get(f"keeps a {peer} peer"):
        return session.ended
    closed = await session.until_closed(iut.configuration.max_wait)
    iut.facts[f"keeps a {peer} peer"] = not closed
    return closed
