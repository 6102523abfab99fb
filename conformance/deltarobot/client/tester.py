"""The tester of a client: asks by pings what it understands, and its application what it shows."""

import asyncio
import contextlib
import functools
import itertools
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, ClassVar

from conformance.definitions.keywords import shown
from conformance.deltarobot.codec import encode, layouts
from conformance.deltarobot.floats import same, turned
from conformance.deltarobot.handshake import opened
from conformance.deltarobot.messages import (
    CURRENT,
    DESIRED,
    HANDSHAKE,
    OF_EACH_SIZE,
    POSITION,
    PROGRESS,
    curve,
    end,
    ping,
    vector,
)
from conformance.deltarobot.tester import Form, Tester
from conformance.harness.upper import Answer
from conformance.iut import Iut
from conformance.segmentation import Segmentation
from conformance.session import Session
from conformance.verdicts import Inconclusive, NotExercised, Unreachable, Violation

NUMBERS = (0x0012_3456_789A_BCDE, 0x1A2B_3C4D, 0x7FED_CBA9)
"""Of the pings of the script: a client that loses bits of large ones answers these."""

_VECTORS = {
    "position": (1.0, 2.0, -3.0),
    "current": (3.0, -1.0, 2.0),
    "desired": (-2.0, 3.0, 1.0),
}
_PLAIN = ((0.0, 0.0, 0.0), (1.0, 2.0, -3.0))

_UNKNOWN = b"\x21\xf3"  # an identifier of no message, of variable length
_STAYS_AWAY = "it connects once only"

_numbers = itertools.count(0x0EED_0001, 0x0001_0001)


def _script() -> list[Any]:
    vectors = [vector(name, 1.0, -2.5, 0.125, 7.0) for name in PROGRESS]
    asked, strange = map(ping, NUMBERS), OF_EACH_SIZE
    return [
        *(next(asked), strange["64-bit"], curve((0.0, 0.0, 0.0), (1.0, 2.0, -3.0))),
        *(strange["variable"], *vectors, next(asked), strange["8-bit"], strange["128-bit"]),
        *(strange["variable-empty"], strange["16-bit"], strange["32-bit"], next(asked)),
    ]


class ClientTester(Tester):
    """Plays the server."""

    signs = ("Pong",)
    unseen = "a ping is not answered"
    silent = "answers no ping"
    foreign: ClassVar = ping(1)
    script: ClassVar = _script()
    asks = True

    async def prompt(self, session: Session) -> None:
        await session.send(ping(fresh_number()))

    async def served(self, session: Session) -> bool:
        number = fresh_number()
        await session.send(ping(number))
        left = session.left("response", "response")
        while message := await session.watch("Pong", within=left):
            if message.value["number"] == number:
                return True
        return False

    async def served_in_form(self, session: Session, form: Form) -> bool:
        number = fresh_number()
        await session.send_bytes(form(ping(number)))
        await session.until_closed()
        said = b"".join(event.data or b"" for event in session.theirs)
        return any(number.to_bytes(8, order) in said for order in ("little", "big"))

    async def show_more(self, session: Session) -> None:
        vectors = [vector(name, 1.0, -2.5, 0.125) for name in PROGRESS]
        await session.send(curve((0.0, 0.0, 0.0), (1.0, 2.0, -3.0)), *vectors)
        for _ in range(3):
            if not session.ended:
                await self.served(session)

    async def occupy(self, session: Session) -> None:
        await session.send(curve((0.0, 0.0, 0.0)), ping(1))
        await session.watch("Pong", within="response")

    async def ask(self, session: Session) -> None:
        await session.send(ping(2), ping(3))

    async def all_understood(self, session: Session, after: str, times: int = 1) -> None:
        await all_answered(session, list(NUMBERS) * times, f" in {after}")

    @contextlib.asynccontextmanager
    async def later(
        self, iut: Iut, segmentation: Segmentation | None = None
    ) -> AsyncIterator[Session]:
        if iut.memory.get(_STAYS_AWAY):
            raise NotExercised(_STAYS_AWAY)
        async with contextlib.AsyncExitStack() as stack:
            instance = await stack.enter_async_context(iut.instance())
            async with iut.connect(instance) as session:
                await session.send(*HANDSHAKE)
                await session.send(curve((0.0, 0.0, 0.0)), ping(1))
                await session.watch("Pong", within="response")
                await session.send(end("back soon"))
                await session.finish()
                await session.until_closed()
            try:
                async with asyncio.timeout(2 * iut.configuration.seconds("response")):
                    again = iut.connect(instance, segmentation=segmentation)
                    session = await stack.enter_async_context(again)
            except (TimeoutError, Unreachable):
                iut.memory[_STAYS_AWAY] = True
                raise NotExercised(_STAYS_AWAY) from None
            yield session

    async def lives(self, session: Session) -> bool:
        by_line = session.instance.configuration.upper_tester == "stdio"
        if by_line and "state" in session.role.hooks:
            with contextlib.suppress(Inconclusive):
                return (await session.instance.upper("state")).ok
        return False


TESTER = ClientTester()


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
        if not await session.watch("Pong", within=session.left("response", "response")):
            break
    none = +missing
    text = ", ".join(f"{number:#x}" for number in list(none)[:4])
    raise Violation(
        f"a pong for each of {len(numbers)} pings{after}",
        f"none came for {sum(none.values())} of them: {text}",
    )


# What its application shows

STATE_OF = {"position": POSITION, "current": CURRENT, "desired": DESIRED}

ABOUT = {
    "position": "progress.position",
    "current": "progress.current-direction",
    "desired": "progress.desired-direction",
}
"""By what the application sees, which requirement says what that is to be."""


async def sees(
    session: Session, what: str, wanted: Sequence[Any], requirement: str | None = None
) -> None:
    """Raise Violation unless the application sees this in time.

    ``requirement`` is what it violates otherwise, if not the one that the test decides.
    """
    state = Answer(ok=False)
    facts: Mapping[str, Any] = {}
    right = False
    # Bytes in reverse order have arrived as well: nothing else is to be waited for.
    backwards = functools.cache(lambda: turned(wanted))

    async def decided() -> bool:
        nonlocal state, facts, right
        state = await session.instance.upper("state")
        facts = state.result if state.ok and isinstance(state.result, dict) else {}
        right = what in facts and same(wanted, facts[what])
        return right or (what in facts and same(backwards(), facts[what]))

    await session.shows(decided, f"the {what} shown", "response", requirement)
    if right:
        return
    if not state.ok or not isinstance(state.result, dict):
        raise Inconclusive(f"the operation 'state' tells nothing: {state.error or state.result}")
    if what not in facts:
        raise NotExercised(f"its application leaves {what} out of what it tells: it keeps none")
    seen = facts[what]
    reverse = same(backwards(), seen)
    expected = f"{what} to be {shown(list(wanted), 40 if reverse else 120)}"
    why = "its bytes are read in reverse order: " if reverse else ""
    raise Violation(expected, f"{why}it is {shown(seen, 120)}", requirement)


async def sees_vector(iut: Iut, session: Session, what: str, wanted: Sequence[Any]) -> None:
    """As `sees`, of a direction or the position; what the plainest one shows, too, is laid to it.

    A client that scales directions has understood the messages around them.
    """
    try:
        await sees(session, what, wanted)
    except Violation as wrong:
        wrong.shown_in(session)
        if what in await _changed(iut):
            wrong.requirement = ABOUT[what]
        raise


async def _changed(iut: Iut) -> set[str]:
    """Which vectors a client shows otherwise than they come, also in the plainest exercise.

    None where it does so with all that it shows: that is about floats as such.
    """

    async def found() -> set[str]:
        changed = set()
        async with opened(Iut(iut.testbed, "")) as session:
            await session.send(curve(*_PLAIN))
            await session.send(*(vector(STATE_OF[what], *at) for what, at in _VECTORS.items()))
            shown = await told(session) & STATE_OF.keys()
            for what in shown:
                try:
                    await sees(session, what, _VECTORS[what])
                except Violation as wrong:
                    changed |= {what} if wrong.came != "it is None" else set()
        return changed if changed < shown else set()

    return await iut.once("changed vectors", found)


async def misread(iut: Iut) -> str:
    """Which requirement a client violates that reads the plainest exercise wrong; else empty."""
    async with opened(iut) as session:
        await session.send(curve(*_PLAIN))
        if not await TESTER.served(session):
            return "frame.byte-order" if await lengths_turned(iut) else "frame.variable-length"
        await session.send(vector(POSITION, *_PLAIN[1]))
        seen = await told(session)
        for what, wanted in (("curve", _PLAIN), ("position", _PLAIN[1])):
            try:
                if what in seen:
                    await sees(session, what, wanted)
            except Violation as wrong:
                own = what in await _changed(iut)
                return "" if own or wrong.came == "it is None" else "frame.floats"
    return ""


async def lengths_turned(iut: Iut) -> bool:
    """Whether it reads lengths with the most significant byte first: found out once in a run.

    A ping stands inside of a long message, just where that would then end.
    """

    async def found() -> bool:
        length, turned_length = 0x10000, 0x100
        number = fresh_number()
        inner = encode(ping(number))
        contents = bytes(turned_length) + inner
        data = _UNKNOWN + length.to_bytes(4, "little") + contents.ljust(length, b"\0")
        async with opened(iut) as session:
            await session.send_bytes(data)
            pong = await session.watch("Pong", within="response")
            return pong is not None and pong.value["number"] == number

    return await iut.once("lengths turned", found)


async def told(session: Session) -> set[str]:
    """The values of the exercise that its application shows: it need not keep all of them."""
    if not session.instance.upper.offers("state"):
        return set()
    state = await session.instance.upper("state")
    return set(state.result) if state.ok and isinstance(state.result, dict) else set()


def _finite(value: Mapping[str, Any]) -> bool:
    """Whether all numbers of a message are finite; another is decoded as a text."""
    points = value.get("points") or [[value.get(axis) for axis in "xyz"]]
    return not any(isinstance(number, str) for point in points for number in point)


async def sees_the_latest(session: Session, sent: Sequence[Any]) -> None:
    """Raise Violation unless the application sees the last curve, and the last vectors behind it.

    With a new curve a new exercise begins, of which nothing is known yet; it is not the first. What
    a client makes of numbers that are not finite is its own affair.
    """
    seen = await told(session)
    curves = [number for number, entry in enumerate(sent) if "points" in entry]
    latest = sent[curves[-1] :] if curves else sent
    for value in {entry["identifier"]: entry for entry in latest}.values():
        if not _finite(value):
            continue
        if "points" in value and "curve" in seen:
            await sees(session, "curve", value["points"], "exercise.curve-replaced")
        elif "u" in value:
            name = layouts()[int(value["identifier"], 16)].name
            what = next(what for what, of in STATE_OF.items() if of == name)
            if what in seen:
                await sees(session, what, [value[axis] for axis in "xyz"], ABOUT[what])
