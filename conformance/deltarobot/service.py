"""Whether the IUT serves its peer, understands what comes next, and is still alive."""

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

from conformance.cases import check
from conformance.deltarobot import tester
from conformance.deltarobot.handshake import opened
from conformance.deltarobot.messages import OF_EACH_SIZE, end, unknown
from conformance.iut import Iut
from conformance.segmentation import Segmentation, byte_by_byte
from conformance.session import Session
from conformance.verdicts import Inconclusive, Violation
from conformance.wire import Message

_LONG = unknown(0xF321, "ff" * 0x1_8FF0)
"""The lower bytes of its length are negative numbers to who takes bytes for signed."""

_ORDINARY = "ordinary"  # under which the run remembers it

REASON = "bye"
"""The usual reason of our end of transmission."""


# What an undisturbed session shows


@dataclass(frozen=True)
class Habits:
    """What the IUT does in an ordinary session.

    ``serves``: it shows that it serves its peer; ``closing``: the reason of an end of transmission
    upon which it closes, before its peer does, REASON or else none; None if it closes upon neither.
    """

    serves: bool
    closing: str | None


async def kept(iut: Iut, name: str, hold: Callable[[Iut], Awaitable[Session]]) -> Session:
    """A session that several tests look at, and that is held once in a run."""
    return _shown(iut, await iut.once(name, lambda: hold(iut)))


def _shown(iut: Iut, session: Session) -> Session:
    if session not in iut.sessions:
        iut.sessions.append(session)
    return session


async def ordinary(iut: Iut) -> Session:
    """A session as it usually is, from its beginning to its end."""
    session, _ = await iut.once(_ORDINARY, lambda: _ordinary(iut))
    return _shown(iut, session)


async def habits(iut: Iut) -> Habits:
    """What the IUT does in an ordinary session."""
    _, found = await iut.once(_ORDINARY, lambda: _ordinary(iut))
    return found


def seen(tested: Iut | Session) -> tuple[Session | None, Habits | None]:
    """An ordinary session and what it has shown, as far as one was held in this run."""
    found: tuple[Session | None, Habits | None] = tested.memory.get(_ORDINARY, (None, None))
    return found


async def _ordinary(iut: Iut) -> tuple[Session, Habits]:
    """Hold it, and a second time if it shows no service: too much rests on it for one bad start."""
    session, found = await _plain(iut)
    return (session, found) if found.serves else await _plain(iut)


async def _plain(iut: Iut) -> tuple[Session, Habits]:
    async with opened(iut) as session:
        served = await tester.of(session).served(session)
        await tester.of(session).show_more(session)
        if session.ended:
            # It ends soon by itself: only a short session shows what it closes upon.
            closing = await _closing(iut, REASON, "")
        else:
            closes = await closes_upon(session, REASON)
            closing = REASON if closes else await _closing(iut, "")
        found = Habits(served, closing)
        await session.finish()
        await session.until_closed()
        return session, found


async def _closing(iut: Iut, *reasons: str) -> str | None:
    for reason in reasons:
        async with opened(iut) as session:
            if await closes_upon(session, reason):
                return reason
    return None


async def closes_upon(session: Session, reason: str) -> bool:
    """Whether it closes, before its peer does, upon an end of transmission with this reason.

    Nothing more is sent, which might end a message in which one waits that understands nothing.
    """
    await session.stop_answering()
    await session.send(end(reason))
    return await session.until_closed()


@dataclass(frozen=True)
class Refused:
    """The messages of unknown types, one of each size, upon which it closes the connection or dies.

    The specification does not forbid to close it: what rests on such messages cannot be seen then.
    """

    closed: list[Any]
    deadly: list[Any]

    def __contains__(self, message: Any) -> bool:
        return message in self.closed or message in self.deadly

    def like(self, message: Any) -> bool:
        """Whether one of them has the size of this message."""
        size = slice(3)  # what its identifier begins with: 0x and a digit
        ends = (one["identifier"][size] for one in (*self.closed, *self.deadly))
        return message["identifier"][size] in ends


async def refused(iut: Iut) -> Refused:
    """Upon which unknown messages the IUT ends the session, found out once in a run."""
    return await iut.once("refused", lambda: _refused(iut))


async def _refused(iut: Iut) -> Refused:
    each = list(OF_EACH_SIZE.values())
    some = await _ends_upon(iut, *each)
    ends = [(one, await _ends_upon(iut, one)) for one in each if some]
    closed = [one for one, end in ends if end == "closed"]
    return Refused(closed, [one for one, end in ends if end == "died"])


async def _ends_upon(iut: Iut, *messages: Any) -> str:
    """How it ends the session upon these: closed, died, or an empty text if it does not."""
    async with opened(iut) as session:
        await session.send(*messages)
        await tester.of(session).prompt(session)
        await session.watch(*tester.of(session).signs, within="response")
        if not await session.until_closed(session.seconds("quiet")):
            return ""
        try:
            await unharmed(session, "unknown messages")
        except Violation:
            return "died"
        return "" if await _ends_anyway(iut, session) else "closed"


async def taken(iut: Iut, messages: dict[str, Any]) -> dict[str, Any]:
    """Those of no size of which it ends the session upon an unknown one. Raises Inconclusive."""
    known = await refused(iut)
    left = {name: value for name, value in messages.items() if not known.like(value)}
    if not left:
        raise Inconclusive("it closes the connection upon unknown ones (messages.unknown-skipped)")
    return left


async def script(iut: Iut) -> list[Any]:
    """What its peer may say, of every size, without what it would end the session upon."""
    left_out = await refused(iut)
    return [message for message in tester.of(iut).script if message not in left_out]


# Whether it serves


async def serves(iut: Iut, session: Session, after: str) -> None:
    """Raise Violation unless the IUT shows, by a new message, that it serves this session."""
    _, known = seen(iut)
    if (known is None or known.serves) and await tester.of(session).served(session):
        return
    # Not before: one that serves a single client at a time has no plain session beside this one.
    if not (await habits(iut)).serves:
        raise Inconclusive(f"{tester.of(session).unseen} in a plain session either")
    await _stopped(iut, session, after)


async def goes_on(iut: Iut, session: Session, after: str) -> None:
    """Raise Violation unless the IUT is still in step: it serves, and understands what comes next.

    A server shows the latter only by ending the session upon an end of transmission.
    """
    await serves(iut, session, after)
    # What a server sends may have been on its way before it closed the connection.
    within = 0 if tester.of(session).asks else session.seconds("quiet")
    if await session.until_closed(within):
        await _stopped(iut, session, after)
    await tester.of(session).follows(iut, session, after)


async def passes_over(iut: Iut, session: Session, after: str) -> None:
    """As `goes_on`, where it may know the messages as little as those of no meaning."""
    try:
        await goes_on(iut, session, after)
    except Violation as wrong:
        if session.ended and (await refused(iut)).closed:
            known = "it closes the connection upon unknown ones, too (messages.unknown-skipped)"
            raise Inconclusive(f"{wrong}; {known}") from None
        raise


async def _stopped(iut: Iut, session: Session, after: str) -> None:
    """Raise Violation, as the IUT no longer serves this session, or why that decides nothing."""
    await unharmed(session, after)
    expected = f"the session to go on after {after}"
    if not session.ended:
        known = await tester.of(session).falters(iut)
        raise Violation(expected, f"the {session.role.name} {tester.of(session).silent}", known)
    if await _ends_anyway(iut, session):
        raise Inconclusive("it ends its sessions by itself before this could be seen")
    raise Violation(expected, f"the {session.role.name} closed the connection{_why(session)}")


async def _ends_anyway(iut: Iut, session: Session) -> bool:
    """Whether a plain session ends by itself within the time that this one took."""
    async with opened(iut) as plain:
        return await plain.until_closed(session.now)


def _why(session: Session) -> str:
    reasons = [m.value["reason"] for m in session.received if m.name == "EndOfTransmission"]
    return f", saying {reasons[0][:200]!r}" if reasons and reasons[0] else ""


@contextlib.asynccontextmanager
async def in_many_reads(iut: Iut) -> AsyncIterator[None]:
    """What is sent here is too long for one read of the IUT.

    Where it does not understand even short messages in pieces, a Violation is one of
    frame.segmentation; where it passes over none of more than 65535 bytes, frame.variable-length.
    """
    try:
        yield
    except Violation as violation:
        violation.session = violation.session or (iut.sessions[-1] if iut.sessions else None)
        if await iut.once("loses pieces", lambda: _loses(iut, byte_by_byte)):
            violation.requirement = "frame.segmentation"
        elif OF_EACH_SIZE["variable"] not in await refused(iut) and await iut.once(
            "loses long ones", lambda: _loses(iut, None, _LONG)
        ):
            violation.requirement = "frame.variable-length"
        raise


async def _loses(iut: Iut, segmentation: Segmentation | None, *messages: Any) -> bool:
    """Whether it serves no peer that says this, or whose messages come in pieces."""
    try:
        async with opened(iut, segmentation=segmentation) as session:
            await session.send(*messages)
            await goes_on(iut, session, "messages")
    except Violation:
        return True
    return False


# Whether it is still alive


def announced(session: Session, before: Message | None = None) -> bool:
    """Whether it has said, ``before`` this message, that it ends the session."""
    said = takewhile(lambda message: message is not before, session.received)
    return any(message.name == "EndOfTransmission" for message in said)


async def unharmed(session: Session, after: str) -> None:
    """Raise Violation if the IUT has died, by a signal or an unhandled error."""
    if not (session.ended and (announced(session) or await tester.of(session).lives(session))):
        await session.unharmed(after)


async def lives_on(iut: Iut, session: Session, after: str) -> None:
    """Raise Violation unless the IUT serves on or has closed the connection of its own accord.

    A server must also serve its next client.
    """
    serving = (await habits(iut)).serves
    if not session.ended and serving and not await tester.of(session).served(session):
        hangs = f"it hangs{session.instance.describe_end()}"
        check(session.ended, f"the session to go on or to end after {after}", hangs)
    await unharmed(session, after)
    await tester.of(session).next_is_served(iut, session, after)
