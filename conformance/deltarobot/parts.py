"""Messages and steps that the test cases of both roles are made of.

What is said here of "the IUT" holds for either role: the suite plays the other one. An IUT shows
that it serves its peer by what only its role sends: a client by its pongs, a server by pings and
exercise data.
"""

import asyncio
import contextlib
import itertools
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Any

from conformance.cases import check
from conformance.deltarobot.codec import frame, message
from conformance.harness.instance import Instance
from conformance.iut import Iut
from conformance.segmentation import Segmentation, whole
from conformance.session import Message, Session
from conformance.verdicts import Inconclusive, Violation

MAGIC = message("ProtocolMagic", magic="DeltaRVr")
VERSION = message("ProtocolVersion", version=1)
HANDSHAKE = (MAGIC, VERSION)

POSITION, CURRENT, DESIRED = (
    "CurrentActuatorPosition",
    "CurrentDirectionVector",
    "DesiredDirectionVector",
)
PROGRESS = (POSITION, CURRENT, DESIRED)
SIGNS = {"server": ("Ping", "Curve", *PROGRESS), "client": ("Pong",)}
"""By which messages an IUT shows that it serves its peer."""

_SENT = {"ProtocolMagic": "handshake.magic-sent", "ProtocolVersion": "handshake.version-sent"}
_AGAIN = 0.02  # seconds until a server that turned us away is tried again
_LAST_WORDS = 0.5  # seconds in which a process that has closed its stream may end

_numbers = itertools.count(0x5EED_0000_0000_0001, 0x0001_0000_0001_0001)


# Messages


def ping(number: int) -> dict[str, Any]:
    return message("Ping", number=number)


def pong(number: int) -> dict[str, Any]:
    return message("Pong", number=number)


def end(reason: str = "") -> dict[str, Any]:
    return message("EndOfTransmission", reason=reason)


def curve(*points: Sequence[Any]) -> dict[str, Any]:
    return message("Curve", points=[list(point) for point in points])


def vector(name: str, x: Any, y: Any, z: Any, u: Any = 0.0) -> dict[str, Any]:
    return message(name, x=x, y=y, z=z, u=u)


def unknown(identifier: int, data: str) -> dict[str, Any]:
    """A message of any identifier, its contents in hex."""
    return {"identifier": f"{identifier:#06x}", "data": data}


def announcing(identifier: int, length: int, contents: bytes = b"") -> bytes:
    """The beginning of a message of variable length that says that so much is to come."""
    return frame(identifier, contents)[:2] + length.to_bytes(4, "little") + contents


UNKNOWN: dict[str, dict[str, Any]] = {
    "8-bit": unknown(0x0123, "ff"),
    "16-bit": unknown(0x1123, "ffff"),
    "32-bit": unknown(0x2123, "ff" * 4),
    "64-bit": unknown(0x3123, "ff" * 8),
    "128-bit": unknown(0x4123, "ff" * 16),
    "variable": unknown(0xF123, "ff" * 5),
    "variable-empty": unknown(0xF123, ""),
    "highest-type": unknown(0x4FFF, "0430" * 8),
    "like-a-ping": unknown(0xF7FF, "0430" + "11" * 8),
}
"""Messages of unknown types, of each defined size.

Where one is not skipped by its size, contents of FF are read as a message that never ends.
"""

OTHER_SIZES: dict[str, dict[str, Any]] = {
    "magic-of-32": unknown(0x2001, "44656c74"),
    "version-of-64": unknown(0x3002, "0200000000000000"),
    "position-variable": unknown(0xF003, "00" * 16),
    "pong-of-16": unknown(0x1005, "0102"),
    "pong-variable": unknown(0xF005, "01" * 8),
    "end-of-8": unknown(0x0006, "62"),
    "end-of-128": unknown(0x4006, "62" * 16),
    "direction-of-64": unknown(0x3007, "00" * 8),
    "curve-of-128": unknown(0x4009, "00" * 16),
}
"""Known types with a size that they do not have. No pings: a pong to one is a graver thing."""

NULLS: dict[str, dict[str, Any]] = {
    "8-bit": unknown(0x0000, "00"),
    "16-bit": unknown(0x1000, "0000"),
    "32-bit": unknown(0x2000, "00000000"),
    "64-bit": unknown(0x3000, "0430000000000000"),
    "128-bit": unknown(0x4000, "ff" * 16),
    "variable": unknown(0xF000, "000000"),
    "variable-empty": unknown(0xF000, ""),
}
"""Messages of the reserved type 0x000, of each defined size."""


# A session, step by step


@contextlib.asynccontextmanager
async def opened(iut: Iut, *, segmentation: Segmentation = whole) -> AsyncIterator[Session]:
    """A session in which both sides have sent their handshake; pings are answered from now on."""
    async with iut.session(segmentation=segmentation) as session:
        await shake_hands(session)
        yield session


async def shake_hands(session: Session, *handshake: Any) -> None:
    """The handshake of both sides; ours is the usual one if none is given."""
    await answer_handshake(session, *handshake)
    await greeted(session)


async def answer_handshake(session: Session, *handshake: Any) -> None:
    """Our handshake, or what is left of it, without waiting for the IUT's."""
    if session.role.name == "server":
        session.answer("Ping", lambda message: pong(message.value["number"]))
    await session.send(*(handshake or HANDSHAKE))


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
        try:
            message = await session.expect(*missing, "Unknown", to=to)
        except Violation as none:
            # What has begun to come is only seen once the stream ends.
            await session.finish()
            await session.until_closed()
            about = requirement or next(iter(missing.values()))
            if explained := _explained(said(session)):
                about, reason = explained
                raise Violation(none.expected, reason, about, explains=True) from none
            raise Violation(none.expected, none.came, about) from none
        if missing.pop(message.name, None):
            found.append(message)
    return found


def said(session: Session) -> bytes:
    """All bytes of the IUT that could be cut into messages, and those that are none."""
    return b"".join(event.data or b"" for event in session.theirs)


def _explained(data: bytes) -> tuple[str, str] | None:
    """What is wrong with an opening in which magic or version is missing, where that is plain."""
    if data[:2] in (b"\x30\x01", b"\x20\x02"):
        return "frame.identifier", f"{data[:2].hex(' ')} is an identifier in big-endian"
    if data[:2] in (b"\x13\x00", b"\x22\x00"):
        return "frame.identifier", f"{data[:2].hex(' ')} has the size identifier in the low bits"
    if data.startswith(b"DeltaRVr"):
        return "frame.identifier", "the magic came without an identifier"
    rest = data.removeprefix(b"\x01\x30DeltaRVr")
    if rest.startswith(b"\x02\x20") and len(rest) < 6:
        return "frame.fixed-lengths", f"the version has only {len(rest) - 2} bytes of contents"
    return None


# Signs of life


@dataclass(frozen=True)
class Habits:
    """What the IUT does in a session without any peculiarity.

    ``serves``: it shows that it serves its peer; ``closes``: it closes upon an end of transmission,
    before its peer closes.
    """

    serves: bool
    closes: bool


async def habits(iut: Iut) -> Habits:
    """What a plain session shows, which is held once in a run."""
    if "habits" not in iut.memory:
        async with opened(iut) as session:
            served = await _serves(session)
            await session.send(end("bye"))
            iut.memory["habits"] = Habits(served, await session.until_closed())
    known: Habits = iut.memory["habits"]
    return known


async def serves(iut: Iut, session: Session, after: str) -> None:
    """Raise Violation unless the IUT shows, by a new message, that it serves this session."""
    if not (await habits(iut)).serves:
        unseen = {"server": "no ping and no exercise data come", "client": "a ping is not answered"}
        raise Inconclusive(f"{unseen[session.role.name]} in a plain session either")
    if await _serves(session):
        return
    await unharmed(session, after)
    expected = f"the session to go on after {after}"
    if not session.ended:
        sign = "answers no ping" if session.role.name == "client" else "sends nothing any more"
        raise Violation(expected, f"the {session.role.name} {sign}")
    if await _ends_anyway(iut, session):
        raise Inconclusive("it ends its sessions by itself before this could be seen")
    raise Violation(expected, f"the {session.role.name} closed the connection{_why(session)}")


async def _serves(session: Session) -> bool:
    return await (_pings(session) if session.role.name == "server" else _answers(session))


async def _pings(session: Session) -> bool:
    """Whether a server sends a ping or exercise data, by itself or because an exercise begins."""
    within = session.seconds("ping") + session.seconds("response")
    upper = session.instance.upper
    if "ping" not in session.instance.configuration.timing and upper.offers("exercise"):
        within = session.seconds("quiet")
    await drained(session, 0)
    if await session.watch(*SIGNS["server"], within=within):
        return True
    if session.ended or not upper.offers("exercise"):
        return False
    await upper("exercise", curve=[[0, 0, 0], [1, 2, -3]])
    within = session.seconds("exercise") + session.seconds("response")
    return await session.watch(*SIGNS["server"], within=within) is not None


async def drained(session: Session, seconds: float) -> None:
    """Pass over all that has come, and that comes within a while."""
    deadline = session.now + seconds
    while await session.watch(within=deadline - session.now):
        pass


async def _answers(session: Session) -> bool:
    """Whether a client answers a ping."""
    number = next(_numbers) % 2**64
    await session.send(ping(number))
    deadline = session.now + 2 * session.seconds("response")
    while message := await session.watch("Pong", within=deadline - session.now):
        if message.value["number"] == number:
            return True
    return False


async def all_answered(session: Session, numbers: list[int], after: str = "") -> None:
    """Wait until each of these pings has its pong. Raises Violation naming those that have none."""
    wanted = Counter(numbers)
    deadline = session.now + session.seconds("response") + len(numbers) / 1000

    def missing() -> Counter[int]:
        came = Counter(m.value["number"] for m in session.received if m.name == "Pong")
        return wanted - came

    while missing() and await session.watch("Pong", within=deadline - session.now):
        pass
    if none := missing():
        text = ", ".join(f"{number:#x}" for number in list(none)[:4])
        raise Violation(
            f"a pong for each of {len(numbers)} pings{after}",
            f"none came for {sum(none.values())} of them: {text}",
        )


async def goes_on(iut: Iut, session: Session, after: str) -> None:
    """Raise Violation unless the IUT is still in step: it serves, and understands what comes next.

    A server shows the latter only by ending the session upon an end of transmission.
    """
    await serves(iut, session, after)
    if session.role.name == "server" and (await habits(iut)).closes:
        await session.send(end("bye"))
        check(
            await session.until_closed(),
            f"an end of transmission to be understood after {after}",
            "the server did not close the connection, as it does without that",
        )


async def _ends_anyway(iut: Iut, session: Session) -> bool:
    """Whether a plain session ends by itself within the time that this one took."""
    if not any(message.name == "EndOfTransmission" for message in session.received):
        return False
    async with opened(iut) as plain:
        return await plain.until_closed(session.now)


def _why(session: Session) -> str:
    reasons = [m.value["reason"] for m in session.received if m.name == "EndOfTransmission"]
    return f", saying {reasons[0][:200]!r}" if reasons and reasons[0] else ""


async def unharmed(session: Session, after: str) -> None:
    """Raise Violation if the IUT has died, by a signal or an error that nobody handled."""
    process = session.instance.process
    if process and session.ended and not await _lives(session):
        await process.wait(_LAST_WORDS)
    died = process is not None and process.crashed
    check(
        not died,
        f"the {session.role.name} to survive {after}",
        f"it died{session.instance.describe_end()}",
    )


async def _lives(session: Session) -> bool:
    """Whether it is known without waiting that the IUT has not died of the end of this session."""
    if any(message.name == "EndOfTransmission" for message in session.received):
        return True
    upper = session.instance.upper
    by_line = session.instance.configuration.upper_tester == "stdio"
    if by_line and "state" in session.role.hooks:
        with contextlib.suppress(Inconclusive):
            return (await upper("state")).ok
    return False


async def lives_on(iut: Iut, session: Session, after: str) -> None:
    """Raise Violation unless the IUT serves on or has closed the connection of its own accord.

    A server must also serve its next client.
    """
    if not session.ended and (await habits(iut)).serves and not await _serves(session):
        check(session.ended, f"the session to go on or to end after {after}", "it hangs")
    await unharmed(session, after)
    if session.role.name == "server":
        await serves_the_next(iut, session, after)


async def serves_the_next(iut: Iut, session: Session, after: str) -> None:
    """Raise Violation unless the server of this session serves another client as well."""
    await session.close()
    async with following(iut, session.instance, after) as another:
        await serves(iut, another, f"{after} in an earlier connection")


@contextlib.asynccontextmanager
async def following(iut: Iut, instance: Instance, after: str) -> AsyncIterator[Session]:
    """A session with a server that has had another client just before.

    One that serves a single client at a time may turn away the next one until it has noticed that
    the last one is gone; that is tried again for a while.
    """
    loop = asyncio.get_running_loop()
    deadline = loop.time() + iut.configuration.seconds("response")
    while True:
        async with iut.connect(instance) as session:
            try:
                await shake_hands(session)
            except Violation as none:
                if session.received:
                    raise
                if not session.ended or loop.time() > deadline:
                    expected = f"the next client to be served after {after}"
                    raise Violation(expected, none.came) from none
            else:
                yield session
                return
        await asyncio.sleep(_AGAIN)


# Handshakes that fail


async def refused(iut: Iut, session: Session, what: str, requirement: str | None = None) -> None:
    """Raise Violation unless the connection is closed, and nothing is served, after this handshake.

    ``requirement`` is what it violates otherwise, if not the one that the test decides.
    """
    expected = f"the connection to be closed after {what}"
    if session.role.name == "client":
        await session.send(ping(next(_numbers) % 2**64))
    sign = await session.watch(*SIGNS[session.role.name], within=session.seconds("response"))
    if sign and not await _serves_anybody(iut):
        raise Violation(expected, f"{sign.name} came: the peer is served", requirement, sign.event)
    if not (session.ended or await _closes(iut, session)):
        raise Violation(expected, "it stays open", requirement)
    await unharmed(session, what)


async def _closes(iut: Iut, session: Session) -> bool:
    """Whether it closes in the time that it may take: until its patience is over."""
    declared = iut.configuration.declared("handshake")
    if declared is not None:
        return await session.until_closed(2 * declared + session.seconds("response"))
    if iut.memory.get("never closes"):
        return False
    closed = await session.until_closed(iut.configuration.max_wait)
    iut.memory["never closes"] = not closed
    return closed


async def _serves_anybody(iut: Iut) -> bool:
    """Whether a peer that has not said a word is served as well, so that this shows nothing."""
    if "serves anybody" not in iut.memory:
        async with iut.session() as session:
            sign = None
            if session.role.name == "server":
                within = session.seconds("response")
                sign = await session.watch(*SIGNS["server"], within=within)
            iut.memory["serves anybody"] = sign is not None
    return bool(iut.memory["serves anybody"])


async def dropped(iut: Iut, session: Session, what: str) -> None:
    """Raise Violation unless a peer that says no more is dropped within the declared patience.

    Raises Inconclusive where none is declared and it is kept for as long as a test may wait.
    """
    declared = iut.configuration.declared("handshake")
    if declared is not None:
        closed = await session.until_closed(2 * declared + session.seconds("response"))
        check(
            closed,
            f"the connection to be closed about {declared:g} s after {what}",
            f"it was still open after {session.now:.1f} s",
        )
    else:
        waits = iut.memory.get("kept", 0.0) < iut.configuration.max_wait
        if not waits or not await session.until_closed(iut.configuration.max_wait):
            iut.memory["kept"] = iut.configuration.max_wait
            raise Inconclusive(
                f"{what} is kept for more than {iut.configuration.max_wait:g} s, and the "
                "specification sets no limit; declare --timing handshake=SECONDS"
            )
    await unharmed(session, what)
