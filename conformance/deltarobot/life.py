"""Signs of life: whether the IUT serves its peer, is still in step, and has come to no harm.

What is said here of "the IUT" holds for either role. An IUT shows that it serves its peer by what
only its role sends: a client by its pongs, a server by pings and exercise data.
"""

import asyncio
import contextlib
import itertools
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass

from conformance.cases import check
from conformance.deltarobot.messages import PROGRESS, curve, end, ping, vector
from conformance.deltarobot.opening import opened, shake_hands
from conformance.harness.instance import Instance
from conformance.iut import Iut
from conformance.session import LAST_WORDS, Session
from conformance.verdicts import Inconclusive, Unreachable, Violation

SIGNS = {"server": ("Ping", "Curve", *PROGRESS), "client": ("Pong",)}
"""By which messages an IUT shows that it serves its peer."""

REASON = "bye"
"""The usual reason of our end of transmission."""

_AGAIN = 0.02  # seconds until a server that turned us away is tried again

_numbers = itertools.count(0x5EED_0000_0000_0001, 0x0001_0000_0001_0001)


# What a session of no peculiarity shows


async def held_once(iut: Iut, name: str, hold: Callable[[Iut], Awaitable[Session]]) -> Session:
    """A session that several tests look at, and that is held once in a run."""
    if name not in iut.memory:
        iut.memory[name] = await hold(iut)
    session: Session = iut.memory[name]
    if session not in iut.sessions:
        iut.sessions.append(session)
    return session


async def ordinary(iut: Iut) -> Session:
    """A session as it usually is, from its beginning to its end."""
    return await held_once(iut, "ordinary", _ordinary)


async def _ordinary(iut: Iut) -> Session:
    async with opened(iut) as session:
        served = await shows_service(session)
        await _show_more(session)
        # Of one that ends its sessions soon by itself, only a short one shows what it closes upon.
        closes = not session.ended and await _closes_upon(session, REASON)
        iut.memory["habits"] = Habits(served, REASON if closes else await _closing(iut))
        await session.finish()
        await session.until_closed()
        return session


async def _show_more(session: Session) -> None:
    """Let the IUT send more of what its role sends."""
    upper = session.instance.upper
    if session.role.name == "client":
        vectors = [vector(name, 1.0, -2.5, 0.125) for name in PROGRESS]
        await session.send(curve((0.0, 0.0, 0.0), (1.0, 2.0, -3.0)), *vectors)
    elif upper.offers("exercise"):
        await upper("exercise", curve=[[0, 0, 0], [1, 2, -3]])
        await session.watch(*PROGRESS, within=session.seconds("exercise"))
    for _ in range(3):
        if session.role.name == "server":
            await session.watch("Ping", within=session.seconds("ping"))
        elif not session.ended:
            await _answers(session)


async def _closing(iut: Iut) -> str | None:
    for reason in (REASON, ""):
        async with opened(iut) as session:
            if await _closes_upon(session, reason):
                return reason
    return None


async def _closes_upon(session: Session, reason: str) -> bool:
    await session.send(end(reason))
    return await session.until_closed()


@dataclass(frozen=True)
class Habits:
    """What the IUT does in an ordinary session.

    ``serves``: it shows that it serves its peer; ``closing``: the reason of an end of transmission
    upon which it closes, before its peer does, REASON or else none; None if it closes upon neither.
    """

    serves: bool
    closing: str | None


async def habits(iut: Iut) -> Habits:
    if "habits" not in iut.memory:
        await ordinary(iut)
    known: Habits = iut.memory["habits"]
    return known


# Whether it serves


async def serves(iut: Iut, session: Session, after: str) -> None:
    """Raise Violation unless the IUT shows, by a new message, that it serves this session."""
    if not (await habits(iut)).serves:
        unseen = {"server": "no ping and no exercise data come", "client": "a ping is not answered"}
        raise Inconclusive(f"{unseen[session.role.name]} in a plain session either")
    if await shows_service(session):
        return
    await unharmed(session, after)
    expected = f"the session to go on after {after}"
    if not session.ended:
        sign = "answers no ping" if session.role.name == "client" else "sends nothing any more"
        raise Violation(expected, f"the {session.role.name} {sign}")
    if await _ends_anyway(iut, session):
        raise Inconclusive("it ends its sessions by itself before this could be seen")
    raise Violation(expected, f"the {session.role.name} closed the connection{_why(session)}")


async def shows_service(session: Session) -> bool:
    """Whether the IUT shows, by a new message, that it serves this session."""
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
    number = fresh_number()
    await session.send(ping(number))
    deadline = session.now + 2 * session.seconds("response")
    while message := await session.watch("Pong", within=deadline - session.now):
        if message.value["number"] == number:
            return True
    return False


def fresh_number() -> int:
    """A number that no other ping has."""
    return next(_numbers) % 2**64


async def all_answered(session: Session, numbers: list[int], after: str = "") -> None:
    """Wait until each of these pings has its pong, as long as any pongs come.

    Raises Violation naming those that have none.
    """
    missing = Counter(numbers)
    looked_at = 0
    while True:
        for message in session.received[looked_at:]:
            if message.name == "Pong" and missing[number := message.value["number"]]:
                missing[number] -= 1
        looked_at = len(session.received)
        if not any(missing.values()):
            return
        if not await session.watch("Pong", within=2 * session.seconds("response")):
            break
    none = +missing
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
    closing = (await habits(iut)).closing
    if session.role.name == "server" and closing is not None:
        if await _closes_upon(session, closing):
            return
        expected = f"an end of transmission to be understood after {after}"
        if await session.until_closed(2 * session.seconds("response")):
            raise Inconclusive(f"expected {expected}; it was, after {session.now:.1f} s")
        came = "the server did not close the connection, as it does without that"
        raise Violation(expected, came)


async def _ends_anyway(iut: Iut, session: Session) -> bool:
    """Whether a plain session ends by itself within the time that this one took."""
    async with opened(iut) as plain:
        return await plain.until_closed(session.now)


def _why(session: Session) -> str:
    reasons = [m.value["reason"] for m in session.received if m.name == "EndOfTransmission"]
    return f", saying {reasons[0][:200]!r}" if reasons and reasons[0] else ""


# Whether it has come to harm


async def unharmed(session: Session, after: str) -> None:
    """Raise Violation if the IUT has died, by a signal or an error that nobody handled."""
    if not (session.ended and await _lives(session)):
        await session.unharmed(after)


async def _lives(session: Session) -> bool:
    """Whether it seems, without waiting, that the IUT has not died of the end of this session.

    A dying server's port may still accept for a moment: its next client then sees that it is dead.
    """
    if any(message.name == "EndOfTransmission" for message in session.received):
        return True
    if session.role.serves:
        return await _accepts(session.instance)
    by_line = session.instance.configuration.upper_tester == "stdio"
    if by_line and "state" in session.role.hooks:
        with contextlib.suppress(Inconclusive):
            return (await session.instance.upper("state")).ok
    return False


async def _accepts(instance: Instance) -> bool:
    """Whether a server still listens."""
    with contextlib.suppress(TimeoutError, Unreachable):
        async with asyncio.timeout(LAST_WORDS):
            await (await instance.link()).close()
            return True
    return False


async def lives_on(iut: Iut, session: Session, after: str) -> None:
    """Raise Violation unless the IUT serves on or has closed the connection of its own accord.

    A server must also serve its next client.
    """
    if not session.ended and (await habits(iut)).serves and not await shows_service(session):
        check(session.ended, f"the session to go on or to end after {after}", "it hangs")
    await unharmed(session, after)
    if session.role.name == "server":
        await serves_the_next(iut, session, after)


async def serves_the_next(iut: Iut, session: Session, after: str) -> None:
    """Raise Violation unless the server of this session serves another client as well."""
    await session.close()
    try:
        async with following(iut, session.instance, after) as another:
            await serves(iut, another, f"{after} in an earlier connection")
    except (Violation, Unreachable):
        await session.unharmed(after)
        raise


@contextlib.asynccontextmanager
async def following(
    iut: Iut, instance: Instance, after: str, requirement: str | None = None
) -> AsyncIterator[Session]:
    """A session with a server that has had another client just before.

    One that serves a single client at a time may turn away the next one until it has noticed that
    the last one is gone; that is tried again for a while.
    ``requirement`` is what it violates by serving none, if not the one that the test decides.
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
                    raise Violation(expected, none.came, requirement) from none
            else:
                yield session
                return
        await asyncio.sleep(_AGAIN)
