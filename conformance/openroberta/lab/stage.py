"""How test cases play robots towards a lab, and its user by the upper tester."""

import asyncio
import contextlib
import secrets
from collections.abc import AsyncIterator, Mapping
from typing import Any, NamedTuple

from conformance.harness.instance import Instance
from conformance.iut import Iut
from conformance.openroberta import naming
from conformance.openroberta.codec import request
from conformance.openroberta.lab.held import Held
from conformance.segmentation import Segmentation, whole
from conformance.session import Message, Session
from conformance.verdicts import Inconclusive, NotExercised, Unreachable, Violation

_REFUSED = 3  # times that a token was refused, when it is no accident
_AGAIN = 0.02  # seconds between two looks at a robot's state, or two tries of its user

DATA = {
    "firmwarename": "ev3dev",
    "robot": "ev3",
    "macaddr": "02:fc:00:00:00:01",
    "cmd": "register",
    "firmwareversion": "4.14.80\n",
    "token": "",
    "brickname": "ev3",
    "battery": "8.4",
    "menuversion": "1.3.0",
    "nepoexitvalue": 0,
}
"""What a robot tells about itself: all that the example of the specification has."""


def new_token() -> str:
    """A token that no earlier robot has had."""
    return "".join(secrets.choice("23456789ABCDEFGHJKLMNPQRSTUVWXYZ") for _ in range(8))


class Told(NamedTuple):
    """What came of a user's operation: its result, the command that came, and the held request.

    `after`: seconds from the operation's end to the command; negative where that came before.
    """

    result: Any
    message: Message
    held: Held
    after: float


class Robot:
    """A robot that the suite plays: what it tells about itself, and its requests."""

    def __init__(self, stage: "Stage", **told: Any) -> None:
        self.stage = stage
        self.data: dict[str, Any] = {**DATA, "token": new_token(), **told}
        self.headers: dict[str, str] = {}
        self.keeps = False
        """Whether it keeps to one connection, as long as the lab does."""
        self._session: Session | None = None

    @property
    def token(self) -> str:
        return str(self.data["token"])

    def object(self, cmd: str, without: str = "") -> dict[str, Any]:
        """The data object with this command."""
        told = {**self.data, "cmd": cmd}
        if told["nepoexitvalue"] is None:
            del told["nepoexitvalue"]
        return {name: value for name, value in told.items() if name != without}

    async def register(self, **how: Any) -> Held:
        return await self.ask(naming.PUSHCMD, self.object("register"), **how)

    async def push(self, **how: Any) -> Held:
        return await self.ask(naming.PUSHCMD, self.object("push"), **how)

    async def download(self, **how: Any) -> Held:
        return await self.ask(naming.DOWNLOAD, self.object("push"), **how)

    async def ask(
        self, path: str, body: Any, *, method: str = "POST", segmentation: Segmentation = whole
    ) -> Held:
        """A request, on a connection of its own unless the robot keeps to one."""
        value = request(method, path, self.headers, body)
        session = self._session
        if session is None or not self.keeps or _ends(session):
            session = self._session = await self.stage.connection()
        held = Held(session, naming.name_of(value))
        await session.send(value, segmentation=segmentation)
        return held

    async def link(self) -> None:
        """Register, and have the token entered."""
        held = await self.register()
        await self.linked_by(held)

    async def linked_by(self, held: Held, requirement: str | None = "register.repeat") -> None:
        """Have the token entered while this registration is held."""
        loop, refused = asyncio.get_running_loop(), 0
        deadline = loop.time() + self.stage.seconds("response")
        while not (entered := await self.stage.upper("pair", token=self.token)).ok:
            # The lab may not have read yet what was sent; but then it takes the token later.
            refused += 1
            expected = "the token of a registration to be taken"
            message = await held.session.watch(within=0)
            if message is not None and refused < _REFUSED:
                raise held.wrong(expected, message, requirement)
            if message is not None or loop.time() > deadline:
                why = f"'pair' failed {refused} times: {entered.error}"
                raise Violation(expected, why, requirement)
            await asyncio.sleep(_AGAIN)
        message = await held.answer(requirement=requirement)
        if message.name != "Repeat":
            # Be its time over or not: its token was taken.
            raise held.violation("Repeat upon its token", message, requirement)

    async def told(
        self, operation: str, command: str, requirement: str | None, held: Held | None = None
    ) -> Told:
        """A user's operation while a push is held, and the command that the robot gets.

        Should the push be answered before, or the user have to wait, the robot goes on pushing.
        `held` is a push that waits already.
        """
        held = held or await self.push()
        loop = asyncio.get_running_loop()
        response = held.session.seconds("response")
        doing = asyncio.create_task(self._done(operation))
        done = loop.time()
        try:
            message = await held.answer(within=self._period, requirement=requirement)
            while message.name == "Repeat" and loop.time() < done + response:
                if not doing.done():
                    done = loop.time()
                held = await self.push()
                message = await held.answer(within=self._period, requirement=requirement)
            if message.name != command:
                raise held.wrong(command, message, requirement)
            came = loop.time() - held.session.now + message.at
            answered, done = await doing
        finally:
            doing.cancel()
        if not answered.ok:
            raise Inconclusive(f"the operation '{operation}' failed: {answered.error}")
        return Told(answered.result, message, held, came - done)

    async def _done(self, operation: str) -> tuple[Any, float]:
        """What the stage answers to an operation that is insisted on, and when it was done."""
        answered = await self.stage.insists(operation, token=self.token)
        return answered, asyncio.get_running_loop().time()

    @property
    def _period(self) -> float:
        """Seconds after which a push is answered, whatever the user does."""
        seconds = self.stage.seconds
        return min(seconds("push_hold"), self.stage.iut.configuration.max_wait) + seconds(
            "response"
        )

    async def fetch(
        self, *, command: str | None = "run.command", held: Held | None = None
    ) -> tuple[Any, Message]:
        """Have a program run, and get it: what the user's operation told of it, and the file.

        `command` is what it violates where the robot is not told of it.
        """
        told = await self.told("run", "Download", command, held)
        held = await self.download()
        message = await held.answer(requirement="run.bytes")
        if message.name != "File":
            refused = message.name == "Refusal"
            raise held.wrong("File", message, "run.bytes" if refused else "run.filename")
        return told.result, message


def _ends(session: Session) -> bool:
    """Whether the lab ends the connection with its last answer, as it may."""
    if session.ended or not session.received:
        return session.ended
    latest = session.received[-1].value
    said = latest["headers"].get("connection", "").lower()
    framed = {"content-length", "transfer-encoding"} & latest["headers"].keys()
    return "close" in said or latest["version"] == "1.0" or not framed


class Stage:
    """One lab, its user, and the connections of the robots that the suite plays."""

    def __init__(
        self, iut: Iut, instance: Instance, connections: contextlib.AsyncExitStack
    ) -> None:
        self.iut = iut
        self.instance = instance
        self._connections = connections
        self._reached = False

    def robot(self, **told: Any) -> Robot:
        return Robot(self, **told)

    async def linked(self, **told: Any) -> Robot:
        """A robot that is registered."""
        robot = self.robot(**told)
        await robot.link()
        return robot

    async def connection(self, segmentation: Segmentation = whole) -> Session:
        """A further connection. Raises Violation where the lab takes no more than the first."""
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
        return self.iut.configuration.seconds(timing)

    def worth(self, seconds: float, *timings: str) -> None:
        """Raise NotExercised where waiting so long is more than a test may."""
        limit = self.iut.configuration.max_wait
        if seconds > limit:
            words = " or ".join(f"--timing {name}=SECONDS" for name in timings)
            raise NotExercised(
                f"takes {seconds:g} s, longer than --max-wait {limit:g}: build the lab with "
                f"shorter times and declare {words}, or raise --max-wait"
            )

    async def awake(self) -> None:
        """Wait until the lab answers, so that it reads what comes next when it comes."""
        robot = self.robot()
        held = await robot.ask(naming.PUSHCMD, robot.object("register", "token"))
        await held.answer(requirement="refuses.token")

    # The user

    def offers(self, operation: str) -> bool:
        return self.instance.upper.offers(operation)

    async def upper(self, operation: str, **arguments: Any) -> Any:
        """An operation, whether it succeeds or not. Raises NotExercised where it is not offered."""
        return await self.instance.upper(operation, **arguments)

    async def insists(self, operation: str, **arguments: Any) -> Any:
        """The same, tried again while it fails: the lab may not have read yet what was sent."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self.seconds("response")
        while True:
            await asyncio.sleep(_AGAIN)
            answered = await self.upper(operation, **arguments)
            if answered.ok or loop.time() > deadline:
                return answered

    async def user(self, operation: str, **arguments: Any) -> Any:
        """The result of an operation. Raises Inconclusive where it fails, again and again."""
        answered = await self.insists(operation, **arguments)
        if not answered.ok:
            raise Inconclusive(f"the operation '{operation}' failed: {answered.error}")
        return answered.result

    async def state(self, robot: Robot) -> Mapping[str, Any]:
        """What the user sees of a robot. Raises Inconclusive where that cannot be read."""
        answered = await self.upper("state", token=robot.token)
        seen = answered.result if answered.ok else answered.error
        if not isinstance(seen, Mapping) or not isinstance(seen.get("state"), str):
            raise Inconclusive(f"the operation 'state' answered {str(seen)[:200]}, and no state")
        return seen

    async def becomes(self, robot: Robot, key: str, wanted: Any, within: float) -> Any:
        """Wait until the user sees this of a robot; what is seen in the end."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + within
        while True:
            seen = (await self.state(robot)).get(key)
            if seen == wanted or loop.time() > deadline:
                return seen
            await asyncio.sleep(_AGAIN)


@contextlib.asynccontextmanager
async def staged(iut: Iut) -> AsyncIterator[Stage]:
    """A lab of its own, and whatever connections a test opens to it."""
    async with iut.instance() as instance, contextlib.AsyncExitStack() as connections:
        yield Stage(iut, instance, connections)
