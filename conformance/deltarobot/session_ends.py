"""Ends of sessions that show nothing about the IUT.

The specification permits both sides to end a session at any time. A side can also disconnect if the
handshake of its peer does not arrive in some amount of time. On a busy machine, a handshake can be
too late.
"""

import contextlib
import math
from collections.abc import AsyncIterator
from itertools import takewhile

from conformance.deltarobot import tester
from conformance.deltarobot.messages import HANDSHAKE
from conformance.iut import Iut
from conformance.session import Session
from conformance.verdicts import Hindered, Inconclusive, Violation
from conformance.wire import Message

_LATE_SHARE = 0.5  # share of the handshake time that the machine took: explains a late handshake
NEARLY = 0.8  # share of the handshake time before which an end has another reason


@contextlib.asynccontextmanager
async def excuse_end(iut: Iut, session: Session) -> AsyncIterator[None]:
    """Raise another conclusion instead of a Violation if the end of the session explains it.

    The conclusion is Inconclusive if the IUT also ends plain sessions, after an announcement or
    when it drops a silent peer. It is Hindered if the machine was so busy that the handshake of the
    suite can have been too late.
    """
    before = iut.testbed.timeouts.crowding.lost()
    try:
        yield
    except Violation as wrong:
        another = wrong.session is not None and wrong.session is not session
        if wrong.event is not None or another or not session.closed_by_iut or session.crash:
            raise
        wrong.shown_in(session)
        await _raise_if_hindered(iut, session, iut.testbed.timeouts.crowding.lost() - before)
        known = has_announced_end(session) or await _is_dropped_like_silent_peers(iut, session)
        if known and await is_ended_by_itself(iut, session):
            raise Inconclusive(f"{describe_own_end(session)}; {wrong}").shown_in(session) from None
        raise


async def _raise_if_hindered(iut: Iut, session: Session, lost: float) -> None:
    """Raise Hindered if the IUT has shown no service and can have given up a late handshake.

    ``lost`` is the time in seconds that the machine took from the session.
    """
    if is_served(session) or lost <= 0:
        return
    patience = await time_of_a_silent_peer(iut)
    if patience and end_time(session) >= NEARLY * patience and lost >= _LATE_SHARE * patience:
        raise Hindered(
            f"the IUT gave up after {end_time(session):.1f} s and waits {patience:.1f} s for a "
            f"handshake; the busy machine took {lost:.1f} s of that time"
        ).shown_in(session)


async def time_of_a_silent_peer(iut: Iut) -> float:
    """Return the seconds for which the IUT keeps a silent peer; 0 means for ever."""
    declared = iut.configuration.declared("handshake")
    return declared if declared is not None else await _observed_time_of_a_silent_peer(iut)


async def _observed_time_of_a_silent_peer(iut: Iut) -> float:
    async def find() -> float:
        async with iut.session() as silent:
            closed = await silent.until_closed(iut.configuration.max_wait)
            return end_time(silent) if closed else 0.0

    return await iut.cached("time of a silent peer", find)


async def _is_dropped_like_silent_peers(iut: Iut, session: Session) -> bool:
    """True if this session ended at the time of a silent peer, which handshake.patient judges."""
    dropped = await _observed_time_of_a_silent_peer(iut)
    return bool(dropped) and abs(end_time(session) - dropped) < session.seconds("quiet")


def end_time(session: Session) -> float:
    """Return the seconds after which the IUT ended this session."""
    return max((event.at for event in session.iut_events), default=session.now)


def is_served(session: Session) -> bool:
    """Return True if the IUT has shown in this session that it serves its peer."""
    return any(message.name in tester.of(session).signs for message in session.received)


async def is_ended_by_itself(iut: Iut, session: Session, before: float = math.inf) -> bool:
    """Return True if the IUT ends a plain session of this length, too.

    The plain session has as many requests as this one and nothing unusual. It counts only if it
    ends ``before`` this time in seconds.
    """
    until = end_time(session)
    async with iut.session() as plain:
        await plain.send(*HANDSHAKE)
        tester.of(plain).attend(plain, since=0)
        await tester.of(plain).imitate(plain, session)
        within = until + plain.seconds("quiet")
        return await plain.until_closed(within) and end_time(plain) < before


def describe_own_end(session: Session) -> str:
    """Return a text about a session that the IUT has ended by itself."""
    names = [message.name for message in session.received]
    shown = " and ".join(
        f"{names.count(name)} {name}" for name in tester.of(session).signs if name in names
    )
    what = f"the {session.role.name} ended the session by itself, as it ends a plain session"
    return f"{what}, after {shown or 'its handshake'}"


def has_announced_end(session: Session, before: Message | None = None) -> bool:
    """Return True if the IUT announced the end of the session ``before`` this message."""
    before_end = takewhile(lambda message: message is not before, session.received)
    return any(message.name == "EndOfTransmission" for message in before_end)
