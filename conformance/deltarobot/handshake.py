"""The beginning of a session: magic and version of both sides."""

import contextlib
from collections.abc import AsyncIterator
from typing import Any

from conformance.deltarobot import diagnosis, tester
from conformance.deltarobot.messages import HANDSHAKE
from conformance.iut import Iut
from conformance.segmentation import Segmentation
from conformance.session import Session
from conformance.verdicts import Hindered, Violation
from conformance.wire import Message

_FIRST = "handshake.first"
_SENT = {"ProtocolMagic": "handshake.magic-sent", "ProtocolVersion": "handshake.version-sent"}


@contextlib.asynccontextmanager
async def opened(iut: Iut, *, segmentation: Segmentation | None = None) -> AsyncIterator[Session]:
    """A session in which both sides have sent their handshake; pings are answered from now on."""
    async with iut.session(segmentation=segmentation) as session:
        await shake_hands(session)
        yield session


async def shake_hands(
    session: Session, *handshake: Any, segmentation: Segmentation | None = None
) -> None:
    """The handshake of both sides; ours is the usual one if none is given."""
    await answer_handshake(session, *handshake, segmentation=segmentation)
    await greeted(session)


async def answer_handshake(
    session: Session, *handshake: Any, segmentation: Segmentation | None = None
) -> None:
    """Our handshake, or what is left of it, without waiting for the IUT's.

    Raises Hindered where the machine has kept us from it for longer than the IUT waits.
    """
    before, began = len(session.received), session.now
    await session.send(*(handshake or HANDSHAKE), segmentation=segmentation)
    patience = session.instance.configuration.declared("handshake")
    if patience is not None and began <= patience < session.now:
        took = f"{session.now:.1f} s, and {patience:g} s are waited for it"
        raise Hindered(f"the suite's own handshake has taken {took}")
    # Not sooner: a pong in the midst of our handshake would come before it is finished.
    tester.of(session).attend(session, since=before)


async def greeted(
    session: Session, to: str = "right after the connection", requirement: str = ""
) -> list[Message]:
    """The IUT's magic and version, in the order in which they come.

    Raises Violation of the statement that explains best why one of them does not, or of
    ``requirement`` where nothing explains it.
    """
    found: list[Message] = []
    missing = dict(_SENT)
    while missing:
        about = requirement or next(iter(missing.values()))
        try:
            message = await session.expect(*missing, to=to, requirement=about)
        except Violation as none:
            # What has begun to come is only seen once the stream ends.
            await session.finish()
            await session.until_closed()
            if explained := diagnosis.opening(said(session)):
                about, reason = explained
                event = session.events.index(next(session.theirs))
                raise Violation(none.expected, reason, about, event, explains=True) from none
            if len(missing) == len(_SENT) and any(
                f.requirement == _FIRST for f in session.judge.findings
            ):
                about = _FIRST
            raise Violation(none.expected, none.came, about) from none
        del missing[message.name]
        found.append(message)
    return found


def said(session: Session) -> bytes:
    """All bytes of the IUT, whether they could be cut into messages or not."""
    return b"".join(event.data or b"" for event in session.theirs)
