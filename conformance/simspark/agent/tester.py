"""The server that the suite plays against an agent: it sends perceptors, and sees the agent act."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from itertools import count
from math import ceil
from typing import Any

from conformance.cases import compared
from conformance.iut import Iut
from conformance.segmentation import Segmentation, whole
from conformance.session import Session
from conformance.simspark import messages
from conformance.simspark.codec import LENGTH, encode, frame
from conformance.simspark.tester import asked, expressions, kept
from conformance.verdicts import Inconclusive, NotExercised, Violation
from conformance.wire import Message

ACTS = ("Effectors", "Expressions", "Init", "Scene")
ONE_BY_ONE = 25  # groups, of which one that now and then loses some has lost one
CUT = 3  # of the groups that come before an agent is initialised
MISREADS = ("frame.length-prefix", "frame.segmentation")
"""What it violates that knows an angle of the longest group so far, or once another has come."""
_ANGLES = count(11)


class Tester:
    """Serves one agent: a cycle at a time, each with the next time of the simulation."""

    def __init__(self, session: Session, iut: Iut) -> None:
        self.session = session
        self.iut = iut
        self.now = 10.0
        self.mode = "BeforeKickOff"
        self.hinge = iut.configuration.value("hinge").split(" ")[-1]

    async def tell(
        self,
        more: str = "",
        *,
        angle: float = 0.0,
        segmentation: Segmentation | None = None,
    ) -> None:
        """One group of perceptors."""
        await self.session.send(self.group(more, angle), segmentation=segmentation)

    def later(self) -> str:
        """The next time of the simulation, as it is written: an agent may go by it."""
        self.now += 0.02
        return f"{self.now:.2f}"

    def group(self, more: str = "", angle: float = 0.0, own: str = "") -> list[Any]:
        """One group in its decoded form; `own` is the agent's number and side, as GS tells it."""
        now = self.later()
        time = 0.0 if self.mode == "BeforeKickOff" else self.now - 10
        game = f"{own}(sl 0) (sr 0) (t {time:.2f}) (pm {self.mode})"
        return expressions(messages.perceptors(now, self.hinge, angle, more, game))

    def long(self, size: int, angle: float = 1.0) -> bytes:
        """One group in a message whose text has so many bytes, few of which are blanks."""
        group = bytes_of(self.group(angle=angle))
        more = b"(hear Reference 0.00 self x)"
        text = group[LENGTH.size :] + more * (max(size - len(group), 0) // len(more))
        return frame(text.ljust(size))

    async def acts(self, cycles: int = 5) -> Message | None:
        """What it does within some cycles; None if that is nothing."""
        while await self.session.watch(*ACTS, within=0):
            pass
        for _ in range(cycles):
            await self.tell()
            within = self.session.seconds("quiet") / 2
            if message := await self.session.watch(*ACTS, within=within):
                return message
            if self.session.ended:
                break
        return None

    async def welcome(self, init: list[Any]) -> None:
        """Answer an init as a server does: the next game state tells number and side, once."""
        given = {item[0]: item[1] for item in init[1:] if isinstance(item, list) and len(item) == 2}
        asked_for = str(given.get("unum", "0"))
        number = asked_for if asked_for.isdecimal() and int(asked_for) else "1"
        await self.session.send(self.group(own=f"(unum {number}) (team left) "))

    async def is_told(self, effectors: str, within: str) -> bool:
        """Let it send these effectors; whether they have come within a declared time."""
        wanted = expressions(effectors)
        await self.session.operate("act", effectors=effectors)
        await self.tell()
        left = self.session.left(within)
        while message := await self.session.watch(*ACTS, within=left):
            if all(item in message.value for item in wanted):
                return True
            await self.tell()
        return False

    async def takes(self, angle: float, after: str, how: Segmentation) -> None:
        """Send it an angle in pieces, which it must know if it knows angles; and it must go on."""
        await self.tell(angle=angle, segmentation=how)
        await self.knows_if_it_can(angle, after)
        await self.goes_on(after)

    async def goes_on(
        self,
        after: str,
        requirement: str | None = None,
        *,
        may_close: bool = False,
        upon: bytes = b"",
    ) -> None:
        """Raise Violation unless it still takes part, as it does in a plain session.

        It must know the angle that it is sent now, in one write with the bytes `upon` which that
        is, and act, as far as it does there. Raises Inconclusive where that shows neither. With
        `may_close` it may close the connection instead.
        """
        usual = await habit(self.iut)
        wrong: Violation | Inconclusive | None = None
        acts: Message | None = None
        try:
            if usual.knows:
                await self.knows(after, requirement, upon)
            elif upon:
                await self.session.send_bytes(upon)
            if usual.acts:
                acts = await self.acts(20)
            if not (usual.knows or usual.acts):
                await self.session.until_closed(self.session.seconds("quiet"))
        except (Violation, Inconclusive) as raised:
            # It may have ended with its connection, and the upper tester with it.
            wrong = raised
        await self.session.unharmed(after)
        if self.session.ended and may_close:
            return
        if self.session.ended:
            raise Violation(
                f"the agent to go on after {after}",
                "it closed the connection",
                requirement,
                explains=True,
            )
        if wrong:
            raise wrong
        if usual.acts and acts is None:
            raise Violation(f"the agent to act on after {after}", "it sends nothing", requirement)
        if not usual.knows and (acts is None or usual.alone):
            how = "sends nothing" if acts is None else "acts whether it is sent anything or not"
            raise Inconclusive(
                f"an agent that {how} does not show that it follows; give --hook state=COMMAND "
                f"({self.session.role.hooks['state'].description})"
            )

    async def knows(self, after: str, requirement: str | None = None, upon: bytes = b"") -> None:
        """Raise Violation unless it gets to know the angle of a hinge that it is sent now."""
        angle = float(next(_ANGLES) % 90)
        await self.session.send_bytes(upon + bytes_of(self.group(angle=angle)))
        await self.knows_angle(angle, after, requirement)

    async def knows_if_it_can(self, angle: float, after: str) -> None:
        """The same of an angle that it was sent before, if it knows angles in a plain session."""
        if (await habit(self.iut)).knows:
            await self.knows_angle(angle, after)

    async def knows_angle(
        self, angle: float, after: str, requirement: str | None = None, *, hinge: str = ""
    ) -> None:
        """Raise Violation unless it gets to know an angle that it was sent before.

        It is that of the declared hinge unless another is given. Raises NotExercised where its
        states leave this hinge out: it need not keep what it has no use for.
        """
        hinge = hinge or self.hinge
        seen: Any = None

        def right() -> bool:
            return isinstance(seen, int | float) and abs(seen - angle) < 0.01

        async def told() -> bool:
            nonlocal seen
            seen = (await self.hinges()).get(hinge)
            return right() or self.session.ended

        await self.session.shows(told, f"{hinge} known", "response", requirement)
        if right():
            return
        if hinge not in kept(self.session):
            raise NotExercised(f"the agent keeps no angle of {hinge}: its state leaves it out")
        raise Violation(
            f"the agent to know that {hinge} is at {angle:g} degrees, sent after {after}",
            f"it knows {seen!r:.60}",
            requirement,
            explains=True,
        )

    async def hinges(self) -> dict[str, Any]:
        """What it knows of its hinges."""
        answer = await asked(self.session, "state")
        hinges = answer.result.get("hinges", {}) if isinstance(answer.result, dict) else None
        if not answer.ok or not isinstance(hinges, dict):
            raise Inconclusive(
                f"the operation 'state' failed: {answer.error or answer.result}"[:300]
            )
        kept(self.session).update(hinges)
        return hinges


@contextlib.asynccontextmanager
async def established(
    iut: Iut, *, segmentation: Segmentation | None = None
) -> AsyncIterator[Tester]:
    """An agent that has created itself and is initialised.

    Perceptors come after its first message; after its init it is sent its number and side, as a
    server does. Raises Violation where one of the two does not come.
    """
    async with iut.session(segmentation=segmentation) as session:
        tester = Tester(session, iut)
        await session.expect("Scene", to="as the first message", requirement="agents.create-first")
        if segmentation is None:
            await tester.welcome(await _init(tester, "agents.init-second"))
        try:
            if segmentation is not None:
                # Where what we send comes in pieces, these are what it does not understand.
                await tester.welcome(await _init(tester, iut.deciding))
            yield tester
        except (Violation, Inconclusive) as lost:
            if session.ended and await _ends(iut, ceil(session.now)):
                raise Inconclusive(f"{lost}: it ends a plain session by then, too") from None
            if isinstance(lost, Violation):
                await iut.lay(lost, MISREADS)
            raise


async def _ends(iut: Iut, seconds: int) -> bool:
    """Whether it ends a plain session by itself within so many seconds, and does not die of it."""

    async def observe() -> bool:
        with contextlib.suppress(Violation, Inconclusive):
            async with established(iut) as tester, _going_on(tester):
                if await tester.session.until_closed(seconds):
                    await tester.session.unharmed("a plain session")
                    return True
        return False

    return await iut.once(f"ends in {seconds} s", observe)


async def _init(tester: Tester, requirement: str) -> list[Any]:
    """The init that it has sent, or sends now. Raises Violation where there is none."""
    if not (found := _inits(tester.session)):
        async with _going_on(tester):
            await tester.session.expect(
                "Init", to="as the message that follows", requirement=requirement
            )
        found = _inits(tester.session)
    return found[0]


@contextlib.asynccontextmanager
async def _going_on(tester: Tester) -> AsyncIterator[None]:
    """A group of perceptors comes every cycle meanwhile, as a server sends them.

    Where the session is cut into pieces, only the first few are: these take longer than a cycle.
    """
    over, told = asyncio.Event(), count()

    async def tell() -> None:
        while not (over.is_set() or tester.session.ended):
            await tester.tell(segmentation=None if next(told) < CUT else whole)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(tester.session.seconds("cycle")):
                    await over.wait()

    telling = asyncio.create_task(tell())
    try:
        yield
    finally:
        over.set()
        await telling


def _inits(session: Session) -> list[list[Any]]:
    items = [item for message in session.received for item in message.value]
    return [item for item in items if isinstance(item, list) and item[:1] == ["init"]]


@dataclass(frozen=True)
class Habit:
    """What an agent shows in a plain session.

    `acts`: it sends effectors; `alone`: also while it is sent nothing; `knows`: it tells the angle
    of the hinge; `misreads`: what it violates that does so only once another group has come, or of
    the longest group so far.
    """

    acts: bool
    alone: bool
    knows: bool
    misreads: str = ""


async def habit(iut: Iut) -> Habit:
    """What the agent shows in a plain session, which is held once in a run."""
    return await iut.once("habit", lambda: _observe(iut))


async def _observe(iut: Iut) -> Habit:
    async with established(iut) as tester:
        acts = await tester.acts(20) is not None
        quiet = tester.session.seconds("quiet")
        await tester.session.watch(*ACTS, within=quiet)  # what it does upon the last group
        while await tester.session.watch(*ACTS, within=0):
            pass
        alone = acts and await tester.session.watch(*ACTS, within=quiet) is not None
        plain = -6.5
        with contextlib.suppress(NotExercised, Inconclusive):
            try:
                await tester.knows("a plain group of perceptors")
                # It may keep angles in a form of its own, such as whole degrees.
                for plain in (-3.25, 62.5):
                    await tester.tell(angle=plain)
                    await tester.knows_angle(plain, "a plain group of perceptors")
            except Violation:
                # It may take too much or too little of what comes for a group, unless that is long:
                # then it knows an angle like that.
                await tester.tell("(hear Reference 0.00 self hello)" * 9, angle=2 * plain)
                for about in MISREADS:
                    with contextlib.suppress(Violation):
                        await tester.knows_angle(2 * plain, "a long group of perceptors")
                        return Habit(acts, alone, knows=True, misreads=about)
                    await tester.tell(angle=7.0)
            else:
                return Habit(acts, alone, knows=True)
        return Habit(acts, alone, knows=False)


async def one_by_one(iut: Iut) -> None:
    """Send it groups one by one, each of which it must know if it knows angles."""
    async with established(iut) as tester:
        for number in range(ONE_BY_ONE):
            angle = float(number % 30 + 30)
            await tester.tell(angle=angle)
            await tester.knows_if_it_can(angle, f"{number} others, in a message of its own")
        await tester.goes_on("groups in messages of their own")


async def if_none_is_lost(iut: Iut, play: Callable[[], Awaitable[None]]) -> None:
    """Play a session; what fails in it says nothing where groups are lost that come one by one."""

    async def either(plain: bool) -> None:
        await (one_by_one(iut) if plain else play())

    await compared(iut, either, False, True, "frame.segmentation")


def bytes_of(*groups: list[Any]) -> bytes:
    """Several messages together."""
    return b"".join(map(encode, groups))
