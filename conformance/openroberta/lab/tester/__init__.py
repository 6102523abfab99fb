"""Tester of a lab: the robots and, by the upper tester, the user."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any

from conformance.harness.deadlines import countdown_from
from conformance.harness.instance import Instance
from conformance.iut import Iut
from conformance.openroberta import message_names
from conformance.openroberta.codec import request
from conformance.openroberta.lab.tester.robot import QUERY_INTERVAL, Robot, new_token
from conformance.openroberta.values import same
from conformance.segmentation import Segmentation, whole
from conformance.session import Session, Timeout
from conformance.verdicts import Inconclusive, NotExercised, Unreachable, Violation

GONE = ("offline", "unknown")
"""States of a robot that is not connected; a lab can forget such a robot."""


class RobotsTester:
    """A lab, its user, and the connections of the robots that the suite plays."""

    def __init__(
        self, iut: Iut, instance: Instance, connections: contextlib.AsyncExitStack
    ) -> None:
        self.iut = iut
        self.instance = instance
        self.links = 0
        """Number of robots that were linked."""
        self.operations: list[asyncio.Task[Any]] = []
        """Operations of the user that can still run when the test ends."""
        self._connections = connections
        self._reached = False

    def robot(self, **fields: Any) -> Robot:
        return Robot(self, **fields)

    async def open_linked(self, **fields: Any) -> Robot:
        """Return a robot that is registered and linked."""
        robot = self.robot(**fields)
        await robot.link()
        return robot

    def request(self, method: str, path: str, headers: Mapping[str, str], body: Any = None) -> Any:
        """Return a request with the lab's address in Host.

        The request accepts no coding, because a lab could otherwise compress any answer.
        """
        host = self.instance.address.rpartition("/")[2]
        return request(method, path, {"host": host, "accept-encoding": "identity", **headers}, body)

    async def connection(self, segmentation: Segmentation = whole) -> Session:
        """Open another connection. Raises Violation if the lab accepts only the first one."""
        opened = self.iut.connect(self.instance, segmentation=segmentation)
        try:
            session = await self._connections.enter_async_context(opened)
        except Unreachable as gone:
            if not self._reached:
                raise
            raise Violation("the lab to accept another connection", str(gone)) from gone
        self._reached = True
        return session

    def seconds(self, timing: str) -> float:
        return self.iut.seconds(timing)

    async def wait_until_awake(self) -> None:
        """Wait until the lab answers, so that it reads later requests without delay."""
        robot = self.robot()
        exchange = await robot.ask(message_names.PUSHCMD, robot.object("register", "token"))
        await exchange.check_refused("refuses.token")

    async def _found_out(self, what: str, find: Callable[[], Awaitable[bool]]) -> bool:
        """Return a fact about the lab, which is observed once in a run."""
        memory = self.iut.facts
        if what not in memory:
            memory[what] = await find()
        return bool(memory[what])

    # The user

    async def offers(self, operation: str) -> bool:
        """Return True if the lab offers this operation. The operation is tried once in a run."""

        async def ask() -> bool:
            try:
                # An unknown token tests the operation without any effect.
                answered = await self.run_operation(operation, token=new_token())
            except NotExercised:
                return False
            if answered.ok:
                self.iut.facts[f"{operation} takes any token"] = True
            return True

        hooks = self.iut.configuration.hooks
        if operation in hooks or not self.instance.upper.offers(operation):
            return operation in hooks
        return await self._found_out(f"offers {operation}", ask)

    async def require_operation(self, operation: str) -> None:
        """Raise NotExercised if the lab does not offer this operation."""
        if not await self.offers(operation):
            await self.run_operation(operation, token=new_token())

    async def can_pair(self) -> bool:
        """Return True if 'pair' succeeds for the only robot of a fresh lab.

        The operation is tried once in a run.
        """

        async def pairs_only_robot() -> bool:
            async with playing(self.iut) as other:
                robot = other.robot()
                await robot.register()
                entered = await other.retry("pair", token=robot.token)
                return bool(entered.ok)

        return await self._found_out("pair succeeds", pairs_only_robot)

    async def can_link(self) -> bool:
        """Return True if the only robot of a fresh lab can be linked.

        The link is tried once in a run.
        """

        async def links_only_robot() -> bool:
            async with playing(self.iut) as other:
                try:
                    await other.robot().link()
                except Violation:
                    return False
                return True

        return await self._found_out("links", links_only_robot)

    async def run_operation(self, operation: str, **arguments: Any) -> Any:
        """Return the answer of an operation. Raises NotExercised if it is not offered."""
        return await self.instance.upper(operation, **arguments)

    async def retry(self, operation: str, **arguments: Any) -> Any:
        """Retry an operation until it succeeds, because the lab can be slow to read requests.

        Returns the last answer if the operation still fails after the response time.
        """
        left = self.iut.countdown("response")
        while True:
            await asyncio.sleep(QUERY_INTERVAL)
            answered = await self.run_operation(operation, **arguments)
            if answered.ok or left() < 0:
                return answered

    async def require_result(self, operation: str, **arguments: Any) -> Any:
        """Return the result of an operation. Raises Inconclusive if it fails in all retries."""
        return (await self.retry(operation, **arguments)).require_result(operation)

    async def state(self, robot: Robot) -> Mapping[str, Any]:
        """Return the state of a robot as the user sees it.

        Raises Inconclusive if the operation 'state' returns no state.
        """
        answered = await self.run_operation("state", token=robot.token)
        seen = answered.result if answered.ok else answered.error
        if not isinstance(seen, Mapping) or not isinstance(seen.get("state"), str):
            raise Inconclusive(
                f"expected a state from the operation 'state'; received {str(seen)[:200]}"
            )
        return seen

    async def wait_for_state(self, robot: Robot, key: str, wanted: Any, within: Timeout) -> Any:
        """Wait until the user sees this value of a robot; return the last value.

        ``wanted`` is a value, or a tuple of values.

        ``within`` is the name of a timing, seconds, or the rest of a timeout. Seconds are not
        extended on a busy machine: during them the value must not appear.
        """
        left = countdown_from(self.iut.countdown(within) if isinstance(within, str) else within)
        choice = wanted if isinstance(wanted, tuple) else (wanted,)
        while True:
            seen = (await self.state(robot)).get(key)
            if any(same(seen, value) for value in choice) or left() < 0:
                return seen
            await asyncio.sleep(QUERY_INTERVAL)


@contextlib.asynccontextmanager
async def playing(iut: Iut) -> AsyncIterator[RobotsTester]:
    """Start a lab, with a tester that opens connections to it."""
    async with iut.instance() as instance, contextlib.AsyncExitStack() as connections:
        tester = RobotsTester(iut, instance, connections)
        try:
            yield tester
        finally:
            for operation in tester.operations:
                operation.cancel()
            await asyncio.gather(*tester.operations, return_exceptions=True)
