"""The server that the suite plays against an agent: it sends perceptors, and sees the agent act."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from itertools import count
from typing import Any

from conformance.iut import Iut
from conformance.segmentation import Segmentation, whole
from conformance.session import Message, Session
from conformance.simspark import messages
from conformance.simspark.codec import encode
from conformance.simspark.tester import asked, expressions
from conformance.verdicts import Inconclusive, Violation

ACTS = ("Effectors", "Expressions", "Init", "Scene")
_ANGLES = count(11)


class Tester:
    """One agent that is tester: a cycle at a time, each with the next time of the simulation."""

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

    def group(self, more: str = "", angle: float = 0.0) -> list[Any]:
        self.now += 0.02
        time = 0.0 if self.mode == "BeforeKickOff" else self.now - 10
        game = f"(t {time:.2f}) (pm {self.mode})"
        return expressions(messages.perceptors(self.now, self.hinge, angle, more, game))

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

    async def is_told(self, effectors: str) -> None:
        """Let it send these effectors, and wait until they have come, if they do in time."""
        wanted = expressions(effectors)
        await self.session.instance.upper("act", effectors=effectors)
        await self.tell()
        deadline = self.session.now + self.session.seconds("response")
        while message := await self.session.watch(*ACTS, within=deadline - self.session.now):
            if all(item in message.value for item in wanted):
                break
            await self.tell()

    async def takes(self, angle: float, after: str, how: Segmentation) -> None:
        """Tell it an angle in pieces, and the same as `goes_on`; with `state` it must know it."""
        await self.tell(angle=angle, segmentation=how)
        if self.session.instance.upper.offers("state"):
            await self.knows_angle(angle, after)
        await self.goes_on(after)

    async def goes_on(self, after: str, requirement: str | None = None) -> None:
        """Raise Violation unless it still acts, if it does in a plain session, and takes part.

        With the operation `state` it must also know what it is sent from now on.
        """
        acts = await self.acts(20)
        await self.session.unharmed(after)
        if self.session.ended:
            raise Violation(
                f"the agent to go on after {after}", "it closed the connection", requirement
            )
        if acts is None and await habit(self.iut):
            raise Violation(f"the agent to act on after {after}", "it sends nothing", requirement)
        if self.session.instance.upper.offers("state"):
            await self.knows(after, requirement)
        elif acts is None:
            raise Inconclusive(
                "an agent that sends nothing shows nothing; give --hook state=COMMAND "
                f"({self.session.role.hooks['state'].description})"
            )

    async def knows(self, after: str, requirement: str | None = None) -> None:
        """Raise Violation unless it gets to know the angle of a hinge that it is sent now."""
        angle = float(next(_ANGLES) % 90)
        await self.tell(angle=angle)
        await self.knows_angle(angle, after, requirement)

    async def knows_angle(self, angle: float, after: str, requirement: str | None = None) -> None:
        """The same of an angle that it was sent before."""
        deadline = self.session.now + self.session.seconds("response")
        while True:
            seen = await self.angle()
            if isinstance(seen, int | float) and abs(seen - angle) < 0.01:
                return
            if self.session.now > deadline:
                break
            await asyncio.sleep(0.02)
        raise Violation(
            f"the agent to know that {self.hinge} is at {angle:g} degrees, sent after {after}",
            f"it knows {seen!r:.60}",
            requirement,
        )

    async def angle(self) -> Any:
        """What it knows of the hinge."""
        answer = await asked(self.session, "state")
        hinges = answer.result.get("hinges") if isinstance(answer.result, dict) else None
        if not answer.ok or not isinstance(hinges, dict):
            raise Inconclusive(f"the operation 'state' does not tell hinges: {answer}"[:300])
        return hinges.get(self.hinge)


@contextlib.asynccontextmanager
async def established(iut: Iut, *, segmentation: Segmentation = whole) -> AsyncIterator[Tester]:
    """An agent that has created itself and is initialised.

    Perceptors come after its first message. Raises Violation where one of the two does not come.
    """
    async with iut.session(segmentation=segmentation) as session:
        tester = Tester(session, iut)
        await session.expect("Scene", to="as the first message", requirement="agents.create-first")
        if not any(message.name == "Init" for message in session.received):
            for _ in range(3):
                await tester.tell()
        # Where what we say comes in pieces, these are what it does not understand.
        await _init(session, "agents.init-second" if segmentation is whole else iut.deciding)
        yield tester


async def _init(session: Session, requirement: str) -> None:
    for message in session.received:
        if any(item[:1] == ["init"] for item in message.value if isinstance(item, list)):
            return
    await session.expect("Init", to="as the message that follows", requirement=requirement)


async def habit(iut: Iut) -> bool:
    """Whether the agent acts in a plain session, which is held once in a run."""
    if "acts" not in iut.memory:
        async with established(iut) as tester:
            iut.memory["acts"] = await tester.acts(20) is not None
    return bool(iut.memory["acts"])


def bytes_of(*groups: list[Any]) -> bytes:
    """Several messages together."""
    return b"".join(map(encode, groups))
