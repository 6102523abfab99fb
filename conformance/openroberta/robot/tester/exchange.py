"""A request of the robot under test, with the means to answer it."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

from wsproto.utilities import generate_accept_token

from conformance.openroberta import message_names
from conformance.openroberta.codec import UPGRADE, Decoder, encode, response
from conformance.segmentation import Segmentation, whole
from conformance.session import Session
from conformance.verdicts import Conclusion, Violation
from conformance.wire import Message

if TYPE_CHECKING:
    from conformance.openroberta.robot.tester import LabTester

POLLING = (*message_names.HELD, "DownloadRequest")
"""Requests that a test answers. The tester answers all other requests as a usual lab."""

_CALLED_AWAY = {"Register": ("Repeat",), "Push": message_names.CALLS}
"""By request: the answers after which a robot does not send this request again."""
_MAX_UNREAD = 2  # repeats of an unread answer; a robot can leave every answer unread

_TURNS = 5  # turns of the event loop, in which bytes that have already arrived are read
_FINISHES = 0.3  # seconds from a request to the half-close of its connection, on a busy machine
BYTES = bytes(range(256))
NAME = "NEPOprog.py"


class Exchange:
    """A request of the robot that needs an answer."""

    def __init__(self, tester: "LabTester", session: Session, message: Message) -> None:
        self.tester = tester
        self.session = session
        self.message = message
        self.at = asyncio.get_running_loop().time()
        self.again: Callable[[Exchange], Awaitable[None]] | None = None
        """A function that repeats the answer for another request, or None after a refusal."""
        self.answered = False
        self.unread = 0
        """Number of successive answers that the robot evidently did not read."""
        self._given = ""
        self._was_unsent = False

    @property
    def name(self) -> str:
        return self.message.name

    @property
    def data(self) -> Mapping[str, Any]:
        """The robot's data object; empty if the request has none."""
        found: Mapping[str, Any] = self.message.value.get("json", {})
        return found

    @property
    def is_waiting(self) -> bool:
        """True if the robot still waits for its answer on an open connection."""
        gone = self.session.ended or self.session in self.tester.ended
        return not (self.answered or gone)

    @property
    def closing(self) -> bool:
        """True if the robot wants the connection to be closed after the answer."""
        asked = self.message.value
        connection = asked["headers"].get("connection", "").lower()
        return "close" in connection or (asked["version"] == "1.0" and "keep" not in connection)

    def is_stray(self, *parts: str) -> bool:
        """True if this is a protocol request at a wrong path, and no mere query.

        The path contains one of `parts`, or the body is a robot's data object.
        """
        asked = self.message.value
        if self.name != "Request" or asked["method"] in message_names.LOOKING:
            return False
        return "cmd" in self.data or any(part in asked["path"].lower() for part in parts)

    def is_repeat(self, before: "Exchange") -> bool:
        """True if the robot sends this request because the last answer was lost.

        The tester then repeats that answer. An answer is lost if the robot had closed the
        connection before, or has reset it.
        """
        lost = before._was_unsent or before.session.reset
        if lost and before._given in _CALLED_AWAY.get(self.name, ()):
            self.unread = before.unread + 1
        return 0 < self.unread <= _MAX_UNREAD

    async def answer(
        self, value: Any, segmentation: Segmentation = whole, *, pause: float = 0.0
    ) -> None:
        """Send a response; then keep or close the connection as the robot requested.

        `pause` is the time in seconds between two pieces.
        """
        early = self._mark_answered()
        if value["status"] == 200:
            self.again = lambda other: other.answer(value, segmentation, pause=pause)
        if self.closing and value["status"] != 101:
            value = {**value, "headers": {**value["headers"], "connection": "close"}}
        await self._send(encode(value), segmentation, pause)
        if self.closing and value["status"] != 101:
            await self.end()
        for push in early:
            await push.command("repeat")

    def _mark_answered(self) -> "list[Exchange]":
        """Mark the request as answered; return the pushes that a lab answers after it."""
        self.answered = True
        return self.tester.unanswered_pushes(self) if self.name == "DownloadRequest" else []

    async def _send(
        self, data: bytes, segmentation: Segmentation | None = None, pause: float = 0.0
    ) -> None:
        decoder, before = Decoder(), len(self.session.sent)
        self._given = next((f.name for f in [*decoder.feed(data), *decoder.end()] if f.name), "")
        first, *others = segmentation(data) if segmentation and pause else [data]
        await self.session.send_bytes(first, segmentation=None if pause else segmentation)
        for piece in others:
            await self.session.until_closed(pause)
            await self.session.send_bytes(piece)
        self._was_unsent = len(self.session.sent) == before

    async def end(self) -> None:
        """Close the connection after the bytes that were sent."""
        self.tester.ended.add(self.session)
        await self.session.finish()

    async def command(self, word: str) -> None:
        """Send a command. If the robot has given up this request, answer its next one instead."""
        asked, left = self, self.tester.iut.countdown("response")
        while left() > 0 and asked.name in message_names.HELD and await asked._given_up():
            later = await self.tester.wait_for(asked.name, within=self.tester.seconds("quiet"))
            if later is None:
                break
            asked = later
        await asked.answer(response(200, {}, {"cmd": word}))

    async def _given_up(self) -> bool:
        """True if events that have already arrived show that the connection was closed."""
        for _ in range(_TURNS):
            await asyncio.sleep(0)
        return self.session.ended

    async def file(self, data: bytes = BYTES, name: str = NAME) -> None:
        names = {"Content-Disposition": f"attachment; filename={name}", "Filename": name}
        kind = {"Content-Type": "application/octet-stream"}
        await self.answer(response(200, {**kind, **names}, data))

    async def accept(self) -> None:
        """Accept the upgrade to a websocket."""
        key = self.message.value["headers"].get("sec-websocket-key", "")
        accept = generate_accept_token(key.encode()).decode()
        await self.answer(response(101, {**UPGRADE, "sec-websocket-accept": accept}))

    async def refuse(self, status: int) -> None:
        await self.answer(response(status, {}, b""))

    async def raw(self, data: bytes, *, ends: bool = False) -> None:
        """Send any bytes as the answer; close the connection if that ends the answer."""
        early = self._mark_answered()
        self.again = lambda other: other.raw(data, ends=ends)
        await self._send(data)
        if ends or self.closing:
            await self.end()
        for push in early:
            await push.command("repeat")

    async def check_waits(self, seconds: float, expected: str) -> None:
        """Raise Violation unless the robot waits these seconds for its answer."""
        other = await self.tester.wait_for(*POLLING, within=seconds)
        if other is not None:
            came = f"received {other.name} after {other.at - self.at:.2f} s"
            if other.name == self.name == "Push" and await self._follows_download():
                raise other._wrong("an answer before the next Push", came, "push.one-at-a-time")
            raise other._wrong(expected, came)
        ended = next((each.at for each in self.session.iut_events if each.event == "closed"), 0.0)
        if ended - self.message.at > _FINISHES:
            raise self._wrong(expected, "it closed the connection")

    async def _follows_download(self) -> bool:
        """Answer with download. True if the robot, which has pushed again, still follows it."""
        if await self._given_up() or not self.is_waiting:
            return False
        await self.answer(response(200, {}, {"cmd": "download"}))
        within = self.tester.iut.countdown("response")
        return await self.tester.wait_for("DownloadRequest", within=within) is not None

    def violation(self, expected: str, came: str, requirement: str | None = None) -> Conclusion:
        """Return the conclusion for this wrong request.

        The conclusion is Inconclusive if the robot pushed without waiting for an answer.
        """
        violation = self._wrong(expected, came, requirement)
        return self.tester.unless_hasty(violation).shown_in(self.session)

    def _wrong(self, expected: str, came: str, requirement: str | None = None) -> Violation:
        if self.unread:
            came += f"; it closed its connection after each of the last {self.unread} answers"
        return Violation(expected, came, requirement, self.message.event).shown_in(self.session)


def head(value: Any) -> bytes:
    """Return the bytes of a response without its body."""
    return encode(value).partition(b"\r\n\r\n")[0] + b"\r\n\r\n"
