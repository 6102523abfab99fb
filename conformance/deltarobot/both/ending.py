"""The end of a session: announced by either side, or abrupt."""

import pytest

from conformance.cases import absent, check, requirement
from conformance.deltarobot.codec import TRUNCATED, encode
from conformance.deltarobot.parts import (
    UNKNOWN,
    curve,
    end,
    habits,
    opened,
    ping,
    serves_the_next,
    unharmed,
)
from conformance.iut import Iut
from conformance.session import Message, Session
from conformance.verdicts import Inconclusive, Violation

_END = "EndOfTransmission"
_NO_MESSAGE = (None, TRUNCATED)


async def shut_down(session: Session) -> Message | None:
    """Let the application end the connection; its end of transmission, if one comes."""
    answer = await session.instance.upper("close")
    if not answer.ok:
        raise Inconclusive(f"the operation 'close' failed: {answer.error}")
    return await session.watch(_END, within=session.seconds("response"))


async def announced(session: Session) -> Message:
    """The same. Raises Inconclusive where none comes: that is for end.announced to judge."""
    message = await shut_down(session)
    if message is None:
        raise Inconclusive("no end of transmission came (end.announced)")
    return message


@requirement("end.announced")
async def test_announced(iut: Iut) -> None:
    """An application that ends the connection says so before."""
    async with opened(iut) as session:
        if await shut_down(session) is None:
            came = "the connection was closed without one" if session.ended else "none came"
            raise Violation("an end of transmission before the connection is closed", came)


@requirement("end.announced")
async def test_announced_in_the_middle(iut: Iut) -> None:
    """The same while messages come and go."""
    async with opened(iut) as session:
        await _busy(session)
        if await shut_down(session) is None:
            came = "the connection was closed without one" if session.ended else "none came"
            raise Violation("an end of transmission before the connection is closed", came)


async def _busy(session: Session) -> None:
    upper = session.instance.upper
    if session.role.name == "client":
        await session.send(curve((0.0, 0.0, 0.0)), ping(1), UNKNOWN["32-bit"])
        await session.watch("Pong", within=session.seconds("response"))
    elif upper.offers("exercise"):
        await upper("exercise", curve=[[0, 0, 0], [1, 2, -3]])
        await session.watch("CurrentActuatorPosition", within=session.seconds("exercise"))


@requirement("end.reason-ascii")
async def test_reason(iut: Iut) -> None:
    """What is said as a reason, if anything, is ASCII."""
    async with opened(iut) as session:
        message = await announced(session)
        reason = message.value["reason"]
        check(reason.isascii(), "ASCII text", f"{reason[:80]!r} came", message.event)


@requirement("frame.variable-length")
async def test_length_of_the_reason(iut: Iut) -> None:
    """The length of an end of transmission is that of its reason."""
    async with opened(iut) as session:
        await session.instance.upper("close")
        message = await session.watch(_END, "Oversized", within=session.seconds("response"))
        await session.until_closed()
        came = ""
        if message and message.name == "Oversized":
            came = f"a length of {message.value['length']} came"
        elif cut := [
            e for e in session.theirs if e.data is not None and e.message in (None, "Truncated")
        ]:
            came = f"there are more or fewer bytes than it says: {(cut[-1].data or b'')[:60]!r}"
        if came:
            raise Violation("the length of the reason", came, explains=True)
        if message is None:
            raise Inconclusive("no end of transmission came (end.announced)")


@requirement("end.closes")
async def test_closes_after_it(iut: Iut) -> None:
    """Whoever has said that it will close the connection closes it."""
    async with opened(iut) as session:
        await announced(session)
        closed = await session.until_closed()
        check(closed, "the connection to be closed after an end of transmission", "it stays open")


@requirement("end.nothing-after")
async def test_nothing_after_it(iut: Iut) -> None:
    """Not even what is asked for, or due, comes after it."""
    async with opened(iut) as session:
        await _busy(session)
        await announced(session)
        if session.role.name == "client":
            await session.send(ping(2), ping(3))
        absent(await session.watch(), "nothing after an end of transmission")


REASONS = {
    "none": "",
    "long": "The exercise is finished. " * 40,
    "odd": "one\r\ntwo\0 Auf Wiederh\xf6ren \xff",
}


@requirement("end.received")
@pytest.mark.parametrize("reason", REASONS)
async def test_received(iut: Iut, reason: str) -> None:
    """Once the peer has ended the transmission, the connection is closed, or its close accepted."""
    async with opened(iut) as session:
        await session.send(end(REASONS[reason]))
        if not (await habits(iut)).closes or not await session.until_closed():
            await session.finish()
        check(
            await session.until_closed(),
            "the connection to be closed after an end of transmission",
            "it stays open",
        )
        await unharmed(session, "an end of transmission")


@requirement("end.reason-optional")
async def test_no_reason(iut: Iut) -> None:
    """An end of transmission without a reason is understood as well as one with it."""
    with_reason = (await habits(iut)).closes
    async with opened(iut) as session:
        await session.send(end(""))
        closed = await session.until_closed(None if with_reason else session.seconds("quiet"))
        does = {True: "closed the connection", False: "did not close the connection"}
        check(
            closed == with_reason,
            f"the same as with a reason, upon which it {does[with_reason]}",
            f"it {does[closed]}",
        )
        await unharmed(session, "an end of transmission without a reason")


WHERE = {
    "between-messages": b"",
    "inside-a-length": encode(UNKNOWN["variable"])[:4],
    "inside-contents": encode(UNKNOWN["128-bit"])[:9],
}


@requirement("end.abrupt")
@pytest.mark.parametrize("where", WHERE)
async def test_abrupt_end(iut: Iut, where: str) -> None:
    """A peer that is gone without a word is no reason to die, and a server serves the next one."""
    async with opened(iut) as session:
        await session.send_bytes(WHERE[where])
        await session.finish()
        check(
            await session.until_closed(),
            "the connection to be closed once the peer has closed it",
            "it stays open",
        )
        await unharmed(session, "an abrupt end")
        if session.role.name == "server":
            await serves_the_next(iut, session, "an abrupt end")
