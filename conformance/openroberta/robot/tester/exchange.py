"""A request of the robot under test, as a test case answers it."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

from wsproto.utilities import generate_accept_token

from conformance.openroberta import naming
from conformance.openroberta.codec import UPGRADE, Decoder, encode, response
from conformance.segmentation import Segmentation, whole
from conformance.session import Session
from conformance.verdicts import Conclusion, Inconclusive, Violation
from conformance.wire import Message

if TYPE_CHECKING:
    from conformance.openroberta.robot.tester import LabTester

POLLING = ("Register", "Push", "DownloadRequest")
"""The requests that a test answers; all others are answered as any lab would."""

_CALLED_AWAY = {"Register": ("Repeat",), "Push": naming.CALLS}
"""By request: the answers behind which it does not come once more."""
_MOST_UNREAD = 2  # answers in a row that are given again

_TURNS = 5  # of the event loop, in which what has come by now is read
_FINISHES = 0.3  # seconds in which whoever ends its direction with its request, and reads, has so
BYTES = bytes(range(256))
NAME = "NEPOprog.py"


class Exchange:
    """A request of the robot, which is to be answered."""

    def __init__(self, tester: "LabTester", session: Session, message: Message) -> None:
        self.tester = tester
        self.session = session
        self.message = message
        self.at = asyncio.get_running_loop().time()
        self.again: Callable[[Exchange], Awaitable[None]] | None = None
        """Answers another request as this one was answered, where that was no refusal."""
        self.answered = False
        self.unread = 0
        """How many answers in a row the robot seems not to have read before it asked once more."""
        self._given = ""
        self._in_vain = False

    @property
    def name(self) -> str:
        return self.message.name

    @property
    def data(self) -> Mapping[str, Any]:
        """The robot's data object; empty where it is not one."""
        found: Mapping[str, Any] = self.message.value.get("json", {})
        return found

    @property
    def waits_still(self) -> bool:
        """Whether the robot waits for its answer on a connection that is open."""
        gone = self.session.ended or self.session in self.tester.ended
        return not (self.answered or gone)

    @property
    def closing(self) -> bool:
        """Whether the robot wants the connection closed after the answer."""
        asked = self.message.value
        said = asked["headers"].get("connection", "").lower()
        return "close" in said or (asked["version"] == "1.0" and "keep" not in said)

    def strays_to(self, *parts: str) -> bool:
        """Whether it is asked at a wrong path, and not to look only.

        It is where the path has one of these parts, or what comes there is a robot's data object.
        """
        asked = self.message.value
        if self.name != "Request" or asked["method"] in naming.LOOKING:
            return False
        return "cmd" in self.data or any(part in asked["path"].lower() for part in parts)

    def follows(self, before: "Exchange") -> bool:
        """Whether it is asked as the answer before was lost; then that is given again.

        The robot had closed its connection by then, or has reset it and may not have read it.
        """
        lost = before._in_vain or before.session.reset
        if lost and before._given in _CALLED_AWAY.get(self.name, ()):
            self.unread = before.unread + 1
        return 0 < self.unread <= _MOST_UNREAD

    async def answer(self, value: Any, segmentation: Segmentation = whole) -> None:
        """Send a response; the connection goes on or ends as the robot asked for."""
        early = self._answering()
        if value["status"] == 200:
            self.again = lambda other: other.answer(value, segmentation)
        if self.closing and value["status"] != 101:
            value = {**value, "headers": {**value["headers"], "connection": "close"}}
        await self._send(encode(value), segmentation)
        if self.closing and value["status"] != 101:
            await self.end()
        for push in early:
            await push.command("repeat")

    def _answering(self) -> "list[Exchange]":
        """The pushes that are answered behind this one, as a lab does."""
        self.answered = True
        return self.tester.early(self) if self.name == "DownloadRequest" else []

    async def _send(self, data: bytes, segmentation: Segmentation | None = None) -> None:
        decoder, told = Decoder(), len(self.session.told)
        self._given = next((f.name for f in [*decoder.feed(data), *decoder.end()] if f.name), "")
        await self.session.send_bytes(data, segmentation=segmentation)
        self._in_vain = len(self.session.told) == told

    async def end(self) -> None:
        """End the connection behind what was sent."""
        self.tester.ended.add(self.session)
        await self.session.finish()

    async def command(self, word: str) -> None:
        """Send a command; to a robot that has given this push up, upon the one that came since."""
        asked = self
        while asked.name == "Push" and await asked._given_up():
            later = await self.tester.watch("Push", within=self.tester.seconds("quiet"))
            if later is None:
                break
            asked = later
        await asked.answer(response(200, {}, {"cmd": word}))

    async def _given_up(self) -> bool:
        """Whether its connection was closed, by what has come by now."""
        for _ in range(_TURNS):
            await asyncio.sleep(0)
        return self.session.ended

    async def file(self, data: bytes = BYTES, name: str = NAME) -> None:
        names = {"Content-Disposition": f"attachment; filename={name}", "Filename": name}
        kind = {"Content-Type": "application/octet-stream"}
        await self.answer(response(200, {**kind, **names}, data))

    async def accept(self) -> None:
        """Accept a websocket."""
        key = self.message.value["headers"].get("sec-websocket-key", "")
        accept = generate_accept_token(key.encode()).decode()
        await self.answer(response(101, {**UPGRADE, "sec-websocket-accept": accept}))

    async def refuse(self, status: int) -> None:
        await self.answer(response(status, {}, b""))

    async def raw(self, data: bytes, *, ends: bool = False) -> None:
        """Send any bytes as the answer, and end the connection if that is what ends it."""
        early = self._answering()
        self.again = lambda other: other.raw(data, ends=ends)
        await self._send(data)
        if ends or self.closing:
            await self.end()
        for push in early:
            await push.command("repeat")

    async def waits(self, seconds: float, expected: str) -> None:
        """Raise Violation unless the robot waits for its answer for that many seconds."""
        other = await self.tester.watch(*POLLING, within=seconds)
        if other is not None:
            raise other._wrong(expected, f"{other.name} came after {other.at - self.at:.2f} s")
        ended = next((each.at for each in self.session.theirs if each.event == "closed"), 0.0)
        if ended - self.message.at > _FINISHES:
            raise self._wrong(expected, "it closed the connection")

    def violation(self, expected: str, came: str, requirement: str | None = None) -> Conclusion:
        """What is wrong is this request; of a robot that does not wait for answers, nothing is."""
        violation = self._wrong(expected, came, requirement)
        if not self.tester.hasty:
            return violation
        hasty = "; it had pushed beside a push that was held, so it need not follow from this"
        return Inconclusive(f"{violation}{hasty}").shown_in(self.session)

    def _wrong(self, expected: str, came: str, requirement: str | None = None) -> Violation:
        if self.unread:
            came += f"; upon {self.unread} such answers in a row it closed its connection"
        return Violation(expected, came, requirement, self.message.event).shown_in(self.session)


def head(value: Any) -> bytes:
    """The bytes of a response without those of its body."""
    return encode(value).partition(b"\r\n\r\n")[0] + b"\r\n\r\n"
