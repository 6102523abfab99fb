"""The server that the suite plays against a monitor: it sends states, and asks what it knows."""

import asyncio
import contextlib
import itertools
from collections.abc import AsyncIterator, Sequence
from typing import Any

from conformance.iut import Iut
from conformance.segmentation import Segmentation, whole
from conformance.session import Session
from conformance.simspark import messages
from conformance.simspark.codec import encode
from conformance.simspark.tester import asked, expressions
from conformance.verdicts import Inconclusive, Violation

COMMANDS = ("Commands", "Expressions")
_POLL = 0.02  # seconds between two looks at what it knows
_goals = itertools.count(1)


class Tester:
    """One monitor and the simulation that it is tester: a ball that rolls, and the time.

    `rooted` says whether scene graphs have their root as a node.
    """

    def __init__(self, session: Session, rooted: bool) -> None:
        self.session = session
        self.rooted = rooted
        self.time = 0.0

    async def say(self, text: str, *, segmentation: Segmentation | None = None) -> None:
        """One message, given as on the wire."""
        await self.session.send(self.decoded(text), segmentation=segmentation)

    def decoded(self, text: str) -> list[Any]:
        message = expressions(text)
        return messages.rooted(message) if self.rooted else message

    def bytes_of(self, *texts: str) -> bytes:
        """Several messages together, given in the same way."""
        return b"".join(encode(self.decoded(text)) for text in texts)

    async def introduce(self, merged: bool = False, graph: str = "") -> None:
        """What comes first: environment and state, in one message or in two."""
        graph = graph or messages.scene(0, 0)
        if merged:
            await self.say(messages.full(messages.ENVIRONMENT + messages.state(0), graph))
        else:
            await self.say(messages.full(messages.ENVIRONMENT, graph))
            await self.say(messages.full(messages.state(0), graph))

    async def tick(self, times: int = 1, graph: str = messages.STILL, more: str = "") -> None:
        """Partial states with the time alone, and whatever else is given."""
        for _ in range(times):
            await self.say(self.partial(graph, more))

    def partial(self, graph: str = messages.STILL, more: str = "") -> str:
        self.time = round(self.time + 0.04, 2)
        return messages.partial(f"(time {self.time:g}){more}", graph)

    async def knows(self, requirement: str | None = None, **wanted: Any) -> None:
        """Raise Violation unless the monitor gets to know these values; numbers nearly.

        `requirement` is what that violates, if not what the test decides. Raises NotExercised where
        there is no operation `state`.
        """
        deadline = self.session.now + self.session.seconds("response")
        while True:
            state = await self._state()
            wrong = {
                name: state.get(name)
                for name, value in wanted.items()
                if not _same(state.get(name), value)
            }
            if not wrong:
                return
            if self.session.now > deadline or self.session.ended:
                break
            await asyncio.sleep(_POLL)
        name, came = next(iter(wrong.items()))
        await self.session.unharmed("what it was sent")
        raise Violation(
            f"the monitor to know that {name} is {wanted[name]}",
            f"it says {came!r:.80}",
            requirement,
        )

    async def _state(self) -> dict[str, Any]:
        answer = await asked(self.session, "state")
        if not answer.ok or not isinstance(answer.result, dict):
            raise Inconclusive(f"the operation 'state' failed: {answer}"[:300])
        return answer.result

    async def follows(self, after: str, requirement: str | None = None) -> None:
        """Raise Violation unless it still takes part, and knows what it is sent from now on.

        What it knows is seen by the operation `state` only; without it Inconclusive is raised where
        nothing else was wrong.
        """
        goals = next(_goals)
        await self.tick(2, more=f"(score_left {goals})")
        upper = self.session.instance.upper.offers("state")
        if not upper:
            await self.session.until_closed(self.session.seconds("quiet"))
        await self.session.unharmed(after)
        if self.session.ended:
            raise Violation(
                f"the monitor to follow on after {after}", "it closed the connection", requirement
            )
        if not upper:
            raise Inconclusive(
                "a monitor shows nothing of what it knows; give --hook state=COMMAND "
                f"({self.session.role.hooks['state'].description})"
            )
        try:
            await self.knows(score_left=goals)
        except Violation as none:
            raise Violation(
                f"{none.expected}, sent after {after}", none.came, requirement
            ) from none


def _same(one: Any, other: Any) -> bool:
    if isinstance(other, Sequence) and not isinstance(other, str):
        same = isinstance(one, list) and len(one) == len(other)
        return same and all(map(_same, one, other))
    if isinstance(other, dict):
        return isinstance(one, dict) and all(_same(one.get(key), other[key]) for key in other)
    if isinstance(other, int | float):
        number = isinstance(one, int | float) and not isinstance(one, bool)
        return number and abs(one - other) < 0.005
    return bool(one == other)


@contextlib.asynccontextmanager
async def connected(iut: Iut, *, segmentation: Segmentation = whole) -> AsyncIterator[Tester]:
    """A monitor that has been sent nothing yet."""
    rooted = await _understands_roots(iut)
    async with iut.session(segmentation=segmentation) as session:
        yield Tester(session, rooted)


async def _understands_roots(iut: Iut) -> bool:
    """Whether a monitor knows the ball where the root of the scene is a node, as the text has it.

    False if only where it is left out, as in the published server. This is asked once in a run.
    """
    if "rooted" not in iut.memory:
        ways = {True: False, False: False}
        for rooted in ways:
            async with iut.session() as session:
                if not session.instance.upper.offers("state"):
                    break
                tester = Tester(session, rooted)
                await tester.introduce(graph=messages.scene(3, -2))
                with contextlib.suppress(Violation, Inconclusive):
                    await tester.knows(ball=[3, -2, 0.042])
                    ways[rooted] = True
                    break
        iut.memory["rooted"] = ways[True] or not ways[False]
    return bool(iut.memory["rooted"])


@contextlib.asynccontextmanager
async def introduced(iut: Iut, *, segmentation: Segmentation = whole) -> AsyncIterator[Tester]:
    """A monitor that has been introduced to a simulation, as the specification says."""
    async with connected(iut, segmentation=segmentation) as tester:
        await tester.introduce()
        await tester.tick()
        yield tester
