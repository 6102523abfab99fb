"""The start of a session: both sides send magic and version."""

import contextlib
from collections.abc import AsyncIterator
from typing import Any

from conformance.deltarobot import diagnosis, session_ends, tester
from conformance.deltarobot.messages import HANDSHAKE
from conformance.iut import Iut
from conformance.segmentation import Segmentation
from conformance.session import Session
from conformance.verdicts import Hindered, Violation
from conformance.wire import Message

_FIRST = "handshake.first"
_SENT = {"ProtocolMagic": "handshake.magic-sent", "ProtocolVersion": "handshake.version-sent"}


@contextlib.asynccontextmanager
async def open_session(
    iut: Iut, *, segmentation: Segmentation | None = None
) -> AsyncIterator[Session]:
    """Open a session, exchange the handshakes, and answer pings from then on."""
    async with open_unshaken(iut, segmentation=segmentation) as session:
        await shake_hands(session)
        yield session


@contextlib.asynccontextmanager
async def open_unshaken(
    iut: Iut, *, segmentation: Segmentation | None = None
) -> AsyncIterator[Session]:
    """Open a session that should continue; nothing has been sent yet."""
    async with (
        iut.session(segmentation=segmentation) as session,
        session_ends.excuse_end(iut, session),
    ):
        yield session


async def shake_hands(
    session: Session, *handshake: Any, segmentation: Segmentation | None = None
) -> None:
    """Send ``handshake``, by default the usual one, and wait for the IUT's."""
    await answer_handshake(session, *handshake, segmentation=segmentation)
    await await_greeting(session)


async def answer_handshake(
    session: Session, *handshake: Any, segmentation: Segmentation | None = None
) -> None:
    """Send our handshake, or the rest of it, without waiting for the IUT's.

    Raises Hindered if the machine was so slow that the handshake took longer than the IUT waits. An
    IUT that has shown no sign of life has not begun to wait.
    """
    before, began = len(session.received), session.now
    await session.send(*(handshake or HANDSHAKE), segmentation=segmentation)
    patience = session.instance.configuration.declared("handshake")
    is_waiting = session.ended or session.size > 0
    if is_waiting and patience is not None and began <= patience < session.now:
        took = f"{session.now:.1f} s; the IUT waits {patience:g} s for it"
        raise Hindered(f"the suite took too long to send its own handshake: {took}")
    # Pings are answered only now: an earlier pong would interrupt our handshake.
    tester.of(session).attend(session, since=before)


async def await_greeting(
    session: Session, to: str = "right after the connection", requirement: str = ""
) -> list[Message]:
    """Wait for the IUT's magic and version; return them in the order of arrival.

    Raises Violation if a message is missing. The violated requirement is the best explanation that
    the bytes give, or else ``requirement``.
    """
    found: list[Message] = []
    missing = dict(_SENT)
    while missing:
        about = requirement or next(iter(missing.values()))
        try:
            message = await session.expect(*missing, to=to, requirement=about)
        except Violation as none:
            # An incomplete message becomes visible only when the stream ends.
            await session.finish()
            await session.until_closed()
            if explained := diagnosis.explain_opening(bytes_of_the_iut(session)):
                about, reason = explained
                event = session.events.index(next(session.iut_events))
                raise Violation(none.expected, reason, about, event, explains=True) from none
            if len(missing) == len(_SENT) and any(
                f.requirement == _FIRST for f in session.judge.findings
            ):
                about = _FIRST
            raise Violation(none.expected, none.came, about) from none
        del missing[message.name]
        found.append(message)
    return found


def bytes_of_the_iut(session: Session) -> bytes:
    """Return all bytes that the IUT sent, decodable or not."""
    return b"".join(event.data or b"" for event in session.iut_events)
