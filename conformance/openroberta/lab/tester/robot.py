"""A robot that the suite plays: its data object and its requests."""

import asyncio
import secrets
from typing import TYPE_CHECKING, Any, NamedTuple

from conformance.openroberta import message_names
from conformance.openroberta.lab.tester.exchange import Exchange, has_unknown_command
from conformance.segmentation import Segmentation, whole
from conformance.session import Session
from conformance.verdicts import Inconclusive, Violation
from conformance.wire import Message

if TYPE_CHECKING:
    from conformance.openroberta.lab.tester import RobotsTester

_REFUSED = 3  # successive refusals of a token that are not a coincidence
QUERY_INTERVAL = 0.02  # seconds between two queries of a robot's state, or two tries of the user

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
"""Data object of a robot with all fields of the specification's example.

Each robot replaces the empty values by its own, and its version by that of the lab's menu, if it
is declared.
"""
OUTDATED = "0.0.0"  # version of a menu that is older than the menu of any lab


def new_token() -> str:
    """Return a token that no earlier robot has used."""
    return "".join(secrets.choice("23456789ABCDEFGHJKLMNPQRSTUVWXYZ") for _ in range(8))


class Operation:
    """An operation of the user, retried until it succeeds or the time is over."""

    def __init__(self, tester: "RobotsTester", name: str, token: str) -> None:
        self.name = name
        self.ended = asyncio.get_running_loop().time()
        """Time of the end of the operation; until then the time of its start."""
        self._task = asyncio.create_task(self._run(tester, token))
        tester.operations.append(self._task)

    async def _run(self, tester: "RobotsTester", token: str) -> Any:
        answered = await tester.retry(self.name, token=token)
        self.ended = asyncio.get_running_loop().time()
        return answered

    @property
    def is_running(self) -> bool:
        return not self._task.done()

    async def result(self) -> Any:
        """Return the result of the operation. Raises Inconclusive if the operation has failed."""
        return (await self._task).require_result(self.name)


class Commanded(NamedTuple):
    """Command that a user's operation has caused, and the answered request.

    - `operation`: the operation; a lab can end it later, for example when the program was fetched
    - `after`: seconds from the end of the operation to the command; 0 or less if the command came
      first
    """

    operation: Operation
    message: Message
    exchange: Exchange
    after: float


class Robot:
    """A robot that the suite plays: its data object and its requests."""

    def __init__(self, tester: "RobotsTester", **fields: Any) -> None:
        self.tester = tester
        own = {
            "token": new_token(),
            "macaddr": f"02:fc:{secrets.token_bytes(4).hex(':')}",
            "brickname": f"ev3 {secrets.token_hex(2)}",
            "menuversion": self.current_version,
        }
        self.data: dict[str, Any] = {**DATA, **own, **fields}
        self.headers: dict[str, str] = {}
        self.keeps = False
        """True if the robot uses a single connection while the lab keeps it open."""
        self._session: Session | None = None
        self._ran = False

    @property
    def current_version(self) -> str:
        """Version of the lab's menu if it is declared; otherwise the example's."""
        return self.tester.iut.configuration.value("menu_version") or str(DATA["menuversion"])

    @property
    def token(self) -> str:
        return str(self.data["token"])

    def object(self, cmd: str, without: str = "") -> dict[str, Any]:
        """Return the data object with this command."""
        data = {**self.data, "cmd": cmd}
        if data["nepoexitvalue"] is None:
            del data["nepoexitvalue"]
        return {name: value for name, value in data.items() if name != without}

    async def register(self, **how: Any) -> Exchange:
        return await self.ask(message_names.PUSHCMD, self.object("register"), **how)

    async def push(self, **how: Any) -> Exchange:
        return await self.ask(message_names.PUSHCMD, self.object("push"), **how)

    async def download(self, **how: Any) -> Exchange:
        return await self.ask(message_names.DOWNLOAD, self.object("push"), **how)

    async def ask(
        self, path: str, body: Any, *, method: str = "POST", segmentation: Segmentation = whole
    ) -> Exchange:
        """Send a request, on a new connection unless the robot keeps its connection."""
        value = self.tester.request(method, path, self.headers, body)
        session = self._session
        if session is None or not self.keeps or _is_closed_after_answer(session):
            session = self._session = await self.tester.connection()
        exchange = Exchange(session, message_names.name_of(value))
        await session.send(value, segmentation=segmentation)
        return exchange

    async def link_again(self, requirement: str | None) -> None:
        """Register with a token that was entered before.

        The lab can link the robot immediately, or wait until the user enters the token again.
        """
        exchange = await self.register()
        message = await exchange.session.wait_for(within=self.tester.seconds("quiet"))
        if message is None:
            await self.linked_by(exchange, requirement)
        elif message.name != "Repeat":
            expected = "repeat, or no answer before the token is entered,"
            raise exchange.wrong(expected, message, requirement)

    async def link(self) -> None:
        """Register, and let the user enter the token."""
        exchange = await self.register()
        await self.linked_by(exchange)

    async def linked_by(
        self, exchange: Exchange, requirement: str | None = "register.repeat"
    ) -> None:
        """Let the user enter the token while this registration is held.

        A failure without `requirement` violates the requirement under test, if a usual robot can be
        linked.
        """
        try:
            await self._linked_by(exchange, requirement)
        except Violation as violation:
            if requirement is None and not await self.tester.can_link():
                violation.requirement = "register.repeat"
            raise

    async def _linked_by(self, exchange: Exchange, requirement: str | None) -> None:
        refused, left = 0, self.tester.iut.countdown("response")
        while not (entered := await self.tester.run_operation("pair", token=self.token)).ok:
            # The lab may not have read the registration yet; then it accepts the token later.
            refused += 1
            expected = "the token of a registration to be accepted"
            message = await exchange.session.wait_for(within=0)
            if message is not None and message.name == "Repeat":
                # The lab has refused the token before, and uses it now.
                raise exchange.wrong("no repeat after a refused token", message, "token.in-time")
            if message is not None and refused < _REFUSED:
                raise exchange.wrong(expected, message, requirement)
            if message is not None or left() < 0:
                why = f"the operation 'pair' failed: {entered.why}"
                if not await self.tester.can_pair():
                    raise Inconclusive(why)
                raise exchange.failed(expected, why, requirement)
            await asyncio.sleep(QUERY_INTERVAL)
        message = await exchange.answer(requirement=requirement)
        if message.name != "Repeat":
            # The lab has accepted the token, so even an abort at the end of the hold time is wrong.
            any_token = self.tester.iut.facts.get("pair takes any token")
            doubt = ", although 'pair' accepts any token" if any_token else ""
            raise exchange.violation(
                f"Repeat after its token was entered{doubt}", message, requirement
            )
        self.tester.links += 1

    async def run_and_receive(
        self,
        operation: str,
        command: str,
        requirement: str | None,
        exchange: Exchange | None = None,
    ) -> Commanded:
        """Run a user's operation during a push; return the command that the robot receives.

        If the push is answered before, or the user has to wait, the robot goes on pushing.
        `exchange` is a push that is already unanswered.
        """
        await self.tester.require_operation(operation)
        exchange = exchange or await self.push()
        loop = asyncio.get_running_loop()
        response = exchange.session.seconds("response")
        doing = Operation(self.tester, operation, self.token)
        message = await self._answer(exchange, doing, requirement)
        while message.name == "Repeat" and (
            doing.is_running or loop.time() < doing.ended + response
        ):
            exchange = await self.push()
            message = await self._answer(exchange, doing, requirement)
        if message.name == "Repeat":
            # If the operation has failed, the user knows that no command comes.
            await doing.result()
        if message.name != command:
            if doing.is_running and exchange.was_held(message, "Push"):
                # The user has not acted yet, so another answer than Repeat is wrong in itself.
                raise exchange.violation("Repeat", message, "push.answered")
            known = "commands.lab" if has_unknown_command(message) else None
            raise exchange.violation(command, message, requirement or known)
        came = loop.time() - exchange.session.now + message.at
        return Commanded(doing, message, exchange, 0.0 if doing.is_running else came - doing.ended)

    async def _answer(
        self, exchange: Exchange, doing: Operation, requirement: str | None
    ) -> Message:
        """Return the answer to a push during an operation.

        Raises Inconclusive if the operation has failed and the push is still unanswered.
        """
        try:
            return await exchange.answer(within=self._period, requirement=requirement)
        except Violation:
            if not (exchange.session.ended or doing.is_running):
                await doing.result()
            raise

    @property
    def _period(self) -> float:
        """Longest time in seconds until a push is answered without a user's action."""
        seconds = self.tester.seconds
        return min(seconds("push_hold"), self.tester.iut.configuration.max_wait) + seconds(
            "response"
        )

    async def fetch(
        self, *, command: str | None = "run.command", exchange: Exchange | None = None
    ) -> tuple[Any, Message]:
        """Let the user run a program, and fetch it. Returns the operation's result and the file.

        `command` is the requirement that a missing announcement violates.
        """
        announced = await self.run_and_receive("run", "Download", command, exchange)
        file = await self.file()
        return await announced.operation.result(), file

    async def file(self) -> Message:
        """Fetch the announced program."""
        exchange = await self.download()
        message = await exchange.answer(requirement="run.bytes")
        if message.name != "File":
            if message.name == "Refusal" or "json" in message.value:
                raise exchange.wrong("File", message, "run.bytes")
            if self.tester.iut.requirement_id == "run.filename":
                what = "the header field Filename in the answer to DownloadRequest"
                raise exchange.failed(what, "received none", None, message.event)
        self._ran = True
        return message


def _is_closed_after_answer(session: Session) -> bool:
    """Return True if the lab closes the connection after its last answer, as HTTP allows."""
    if session.ended or not session.received:
        return session.ended
    latest = session.received[-1].value
    connection = latest["headers"].get("connection", "").lower()
    framed = {"content-length", "transfer-encoding"} & latest["headers"].keys()
    return "close" in connection or latest["version"] == "1.0" or not framed
