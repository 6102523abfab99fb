"""The tester of a lab: the robots that the suite plays, and the lab's user by the upper tester."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any

from conformance.harness.deadlines import counting
from conformance.harness.instance import Instance
from conformance.iut import Iut
from conformance.openroberta import naming
from conformance.openroberta.codec import request
from conformance.openroberta.lab.tester.robot import AGAIN, Robot, new_token
from conformance.openroberta.values import same
from conformance.segmentation import Segmentation, whole
from conformance.session import Session
from conformance.verdicts import Inconclusive, NotExercised, Unreachable, Violation
from conformance.waiting import Within


class RobotsTester:
    """One lab, its user, and the connections of the robots that the suite plays."""

    def __init__(
        self, iut: Iut, instance: Instance, connections: contextlib.AsyncExitStack
    ) -> None:
        self.iut = iut
        self.instance = instance
        self.links = 0
        """How many robots were linked."""
        self.rests: set[str] = set()
        """What the plainest exchange may violate, on which what was done since rests."""
        self._connections = connections
        self._reached = False

    def robot(self, **told: Any) -> Robot:
        return Robot(self, **told)

    async def linked(self, **told: Any) -> Robot:
        """A robot that is registered."""
        robot = self.robot(**told)
        await robot.link()
        return robot

    def request(self, method: str, path: str, headers: Mapping[str, str], body: Any = None) -> Any:
        """A request as a robot writes it, which knows the lab by its address."""
        host = self.instance.address.rpartition("/")[2]
        return request(method, path, {"host": host, **headers}, body)

    async def connection(self, segmentation: Segmentation = whole) -> Session:
        """A further connection. Raises Violation where the lab accepts only the first."""
        opened = self.iut.connect(self.instance, segmentation=segmentation)
        try:
            session = await self._connections.enter_async_context(opened)
        except Unreachable as gone:
            if not self._reached:
                raise
            raise Violation("the lab to take a further connection", str(gone)) from gone
        self._reached = True
        return session

    def seconds(self, timing: str) -> float:
        return self.iut.seconds(timing)

    async def awake(self) -> None:
        """Wait until the lab answers, so that it reads what comes next when it comes."""
        robot = self.robot()
        exchange = await robot.ask(naming.PUSHCMD, robot.object("register", "token"))
        await exchange.refused("refuses.token")

    async def _once(self, what: str, find: Callable[[], Awaitable[bool]]) -> bool:
        """What has been found out about the lab in this run, or is now."""
        memory = self.iut.memory
        if what not in memory:
            memory[what] = await find()
        return bool(memory[what])

    # The user

    async def offers(self, operation: str) -> bool:
        """Whether the lab has this operation, which is found out once in a run."""

        async def asked() -> bool:
            try:
                # An unknown token: it answers, but does nothing.
                answered = await self.upper(operation, token=new_token())
            except NotExercised:
                return False
            if answered.ok:
                self.iut.memory[f"{operation} takes any token"] = True
            return True

        hooks = self.iut.configuration.hooks
        if operation in hooks or not self.instance.upper.offers(operation):
            return operation in hooks
        return await self._once(f"offers {operation}", asked)

    async def needs(self, operation: str) -> None:
        """Raise NotExercised where the lab does not have this operation."""
        if not await self.offers(operation):
            await self.upper(operation, token=new_token())

    async def pairs(self) -> bool:
        """Whether 'pair' succeeds for the only robot of a fresh lab, found out once in a run."""

        async def alone() -> bool:
            async with playing(self.iut) as other:
                robot = other.robot()
                await robot.register()
                entered = await other.insists("pair", token=robot.token)
                return bool(entered.ok)

        return await self._once("pair succeeds", alone)

    async def upper(self, operation: str, **arguments: Any) -> Any:
        """An operation, whether it succeeds or not. Raises NotExercised where it is not offered."""
        return await self.instance.upper(operation, **arguments)

    async def insists(self, operation: str, **arguments: Any) -> Any:
        """The same, tried again while it fails: the lab may not have read yet what was sent."""
        left = self.iut.left("response")
        while True:
            await asyncio.sleep(AGAIN)
            answered = await self.upper(operation, **arguments)
            if answered.ok or left() < 0:
                return answered

    async def user(self, operation: str, **arguments: Any) -> Any:
        """The result of an operation. Raises Inconclusive where it fails, again and again."""
        return (await self.insists(operation, **arguments)).required(operation)

    async def state(self, robot: Robot) -> Mapping[str, Any]:
        """What the user sees of a robot. Raises Inconclusive where that cannot be read."""
        answered = await self.upper("state", token=robot.token)
        seen = answered.result if answered.ok else answered.error
        if not isinstance(seen, Mapping) or not isinstance(seen.get("state"), str):
            raise Inconclusive(f"the operation 'state' answered {str(seen)[:200]}, and no state")
        return seen

    async def becomes(self, robot: Robot, key: str, wanted: Any, within: Within) -> Any:
        """Wait until the user sees this of a robot; what is seen in the end.

        ``within`` is as of a session: seconds, in which it is not to be seen, are no more than so.
        """
        left = counting(self.iut.left(within) if isinstance(within, str) else within)
        while True:
            seen = (await self.state(robot)).get(key)
            if same(seen, wanted) or left() < 0:
                return seen
            await asyncio.sleep(AGAIN)


@contextlib.asynccontextmanager
async def playing(iut: Iut) -> AsyncIterator[RobotsTester]:
    """A lab of its own, and whatever connections a test opens to it."""
    async with iut.instance() as instance, contextlib.AsyncExitStack() as connections:
        tester = RobotsTester(iut, instance, connections)
        try:
            yield tester
        except Violation as lost:
            await iut.lay(lost, tester.rests)
            raise
