"""A robot that the suite plays: what it tells about itself, and its requests."""

import asyncio
import secrets
from typing import TYPE_CHECKING, Any, NamedTuple

from conformance.openroberta import naming
from conformance.openroberta.lab.tester.exchange import Exchange
from conformance.segmentation import Segmentation, whole
from conformance.session import Session
from conformance.verdicts import Inconclusive
from conformance.wire import Message

if TYPE_CHECKING:
    from conformance.openroberta.lab.tester import RobotsTester

_REFUSED = 3  # times that a token was refused, when it is not chance
AGAIN = 0.02  # seconds between two looks at a robot's state, or two tries of its user

DATA = {
    "firmwarename": "ev3dev",
    "robot": "ev3",
    "macaddr": "",
    "cmd": "register",
    "firmwareversion": "4.14.80\n",
    "token": "",
    "brickname": "",
    "battery": "8.4",
    "menuversion": "1.3.0",
    "nepoexitvalue": 0,
}
"""What a robot tells about itself, but for what is its own: all that the text's example has."""


def new_token() -> str:
    """A token that no earlier robot has had."""
    return "".join(secrets.choice("23456789ABCDEFGHJKLMNPQRSTUVWXYZ") for _ in range(8))


class Commanded(NamedTuple):
    """The outcome of a user's operation: its result, the command that came, and the held request.

    `after`: seconds from the operation's end to the command; negative where that came before.
    """

    result: Any
    message: Message
    exchange: Exchange
    after: float


TOLD, HELD, LINKED = "run.command", "push.held", "token.links"
"""What a lab violates that does not tell its only robot to run a program; that has a command for it
when it comes back, as nobody gave one; that serves it no more once another one is linked."""


class Robot:
    """A robot that the suite plays: what it tells about itself, and its requests."""

    def __init__(self, tester: "RobotsTester", **told: Any) -> None:
        self.tester = tester
        own = {
            "token": new_token(),
            "macaddr": f"02:fc:{secrets.token_bytes(4).hex(':')}",
            "brickname": f"ev3 {secrets.token_hex(2)}",
        }
        self.data: dict[str, Any] = {**DATA, **own, **told}
        self.headers: dict[str, str] = {}
        self.keeps = False
        """Whether it keeps to one connection, as long as the lab does."""
        self._session: Session | None = None
        self._ran = False

    @property
    def token(self) -> str:
        return str(self.data["token"])

    def object(self, cmd: str, without: str = "") -> dict[str, Any]:
        """The data object with this command."""
        told = {**self.data, "cmd": cmd}
        if told["nepoexitvalue"] is None:
            del told["nepoexitvalue"]
        return {name: value for name, value in told.items() if name != without}

    async def register(self, **how: Any) -> Exchange:
        return await self.ask(naming.PUSHCMD, self.object("register"), **how)

    async def push(self, **how: Any) -> Exchange:
        if self._ran:
            self.tester.rests.add(HELD)
        return await self.ask(naming.PUSHCMD, self.object("push"), **how)

    async def download(self, **how: Any) -> Exchange:
        return await self.ask(naming.DOWNLOAD, self.object("push"), **how)

    async def ask(
        self, path: str, body: Any, *, method: str = "POST", segmentation: Segmentation = whole
    ) -> Exchange:
        """A request, on a connection of its own unless the robot keeps to one."""
        value = self.tester.request(method, path, self.headers, body)
        session = self._session
        if session is None or not self.keeps or _ends(session):
            session = self._session = await self.tester.connection()
        exchange = Exchange(session, naming.name_of(value))
        await session.send(value, segmentation=segmentation)
        return exchange

    async def link(self) -> None:
        """Register, and have the token entered."""
        exchange = await self.register()
        await self.linked_by(exchange)

    async def linked_by(
        self, exchange: Exchange, requirement: str | None = "register.repeat"
    ) -> None:
        """Have the token entered while this registration is held."""
        refused, left = 0, self.tester.iut.left("response")
        while not (entered := await self.tester.upper("pair", token=self.token)).ok:
            # The lab may not have read yet what was sent; but then it takes the token later.
            refused += 1
            expected = "the token of a registration to be taken"
            message = await exchange.session.watch(within=0)
            if message is not None and refused < _REFUSED:
                raise exchange.wrong(expected, message, requirement)
            if message is not None or left() < 0:
                why = f"the operation 'pair' failed: {entered.why}"
                if not await self.tester.pairs():
                    raise Inconclusive(why)
                raise exchange.failed(expected, why, requirement)
            await asyncio.sleep(AGAIN)
        message = await exchange.answer(requirement=requirement)
        if message.name != "Repeat":
            # Be its time over or not: its token was taken.
            any_token = self.tester.iut.memory.get("pair takes any token")
            doubt = ", which 'pair' takes as it does one of nobody" if any_token else ""
            raise exchange.violation(f"Repeat upon its token{doubt}", message, requirement)
        if self.tester.links:
            self.tester.rests.add(LINKED)
        self.tester.links += 1

    async def commanded(
        self,
        operation: str,
        command: str,
        requirement: str | None,
        exchange: Exchange | None = None,
    ) -> Commanded:
        """A user's operation while a push is held, and the command that the robot gets.

        Should the push be answered before, or the user have to wait, the robot goes on pushing.
        `exchange` is a push that waits already.
        """
        await self.tester.needs(operation)
        if operation == "run":
            self.tester.rests.add(TOLD)
        exchange = exchange or await self.push()
        loop = asyncio.get_running_loop()
        response = exchange.session.seconds("response")
        doing = asyncio.create_task(self._done(operation))
        done = loop.time()
        try:
            message = await exchange.answer(within=self._period, requirement=requirement)
            while message.name == "Repeat" and loop.time() < done + response:
                if not doing.done():
                    done = loop.time()
                exchange = await self.push()
                message = await exchange.answer(within=self._period, requirement=requirement)
            if message.name != command:
                raise exchange.violation(command, message, requirement)
            came = loop.time() - exchange.session.now + message.at
            answered, done = await doing
        finally:
            doing.cancel()
        return Commanded(answered.required(operation), message, exchange, came - done)

    async def _done(self, operation: str) -> tuple[Any, float]:
        """The answer to an operation that is tried again while it fails, and when it was done."""
        answered = await self.tester.insists(operation, token=self.token)
        return answered, asyncio.get_running_loop().time()

    @property
    def _period(self) -> float:
        """Seconds after which a push is answered, whatever the user does."""
        seconds = self.tester.seconds
        return min(seconds("push_hold"), self.tester.iut.configuration.max_wait) + seconds(
            "response"
        )

    async def fetch(
        self, *, command: str | None = "run.command", exchange: Exchange | None = None
    ) -> tuple[Any, Message]:
        """Have a program run, and get it: what the user's operation returned, and the file.

        `command` is what it violates where the robot is not told of it.
        """
        told = await self.commanded("run", "Download", command, exchange)
        return told.result, await self.file()

    async def file(self) -> Message:
        """The program that it has been told of."""
        exchange = await self.download()
        message = await exchange.answer(requirement="run.bytes")
        if message.name != "File":
            if message.name == "Refusal" or "json" in message.value:
                raise exchange.wrong("File", message, "run.bytes")
            if self.tester.iut.deciding == "run.filename":
                what = "the header field Filename in the answer to DownloadRequest"
                raise exchange.failed(what, "there is none", None, message.event)
        self._ran = True
        return message


def _ends(session: Session) -> bool:
    """Whether the lab ends the connection with its last answer, as it may."""
    if session.ended or not session.received:
        return session.ended
    latest = session.received[-1].value
    said = latest["headers"].get("connection", "").lower()
    framed = {"content-length", "transfer-encoding"} & latest["headers"].keys()
    return "close" in said or latest["version"] == "1.0" or not framed
