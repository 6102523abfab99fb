"""HTTP for both mocks: a connection of the lab and of the robot.

The mocks do not use `mocks.session.Session`, which passes on each message as it arrives. A lab
reads a request only after the answer to the last one, which can take minutes. A robot sends a
request and waits. Each class here is the queue or the reading task that this needs.
"""

import asyncio
import contextlib
from typing import Any

from conformance.codec import Frame
from conformance.openroberta.codec import Decoder, encode
from mocks import streams
from mocks.streams import Stream

# turns of the event loop, in which an answer is read that arrived just before the timeout
_TURNS = 5
MANY = 100  # unanswered requests of a connection; reading stops there


class Served:
    """A connection of a lab: its requests in order, and an event for its end."""

    def __init__(self, stream: Stream) -> None:
        self.stream = stream
        self.gone = asyncio.Event()
        self._decoder = Decoder()
        self._frames: asyncio.Queue[Frame | None] = asyncio.Queue(MANY)
        self._reader = asyncio.create_task(self._read())

    async def request(self) -> Frame | None:
        """Return the next request, or bytes that are not a request; None at the end of the
        connection.
        """
        return await self._frames.get()

    def send(self, value: Any) -> None:
        self.write(encode(value))

    def write(self, data: bytes) -> None:
        self.stream.write(data)

    async def closed(self) -> None:
        self._reader.cancel()
        await asyncio.gather(self._reader, return_exceptions=True)
        await self.stream.closed()

    def frames(self, data: bytes) -> list[Frame]:
        """Return the frames in these bytes."""
        frames = self._decoder.feed(data)
        self.prompt()
        return frames

    def prompt(self) -> None:
        """Ask for a body that a robot sends only if it is asked."""
        if prompt := self._decoder.prompt():
            self.write(prompt)

    async def _read(self) -> None:
        while data := await self.stream.read():
            for frame in self.frames(data):
                await self._frames.put(frame)
        self.gone.set()
        await self._frames.put(None)


class Caller:
    """A robot's connection to its lab, opened on demand and kept if possible."""

    def __init__(self, url: str) -> None:
        self._address = url.removeprefix("http://").rstrip("/")
        self._stream: Stream | None = None
        self._decoder = Decoder()

    @property
    def host(self) -> str:
        return self._address

    async def ask(self, value: Any, patience: float, keep: bool = False) -> Frame | None:
        """Send a request and return its answer, or None after `patience` seconds.

        With `keep` the connection stays open for every answer.
        """
        exchange = asyncio.ensure_future(self.exchange(encode(value)))
        try:
            await asyncio.wait({exchange}, timeout=patience)
            for _ in range(_TURNS):
                await asyncio.sleep(0)
            answer = exchange.result() if exchange.done() else None
        except OSError:
            answer = None
        finally:
            exchange.cancel()
            await asyncio.gather(exchange, return_exceptions=True)
        ends = answer is None or answer.name is None or not _kept(value, answer.value)
        if ends and not (keep and answer):
            await self.close()
        return answer

    async def exchange(self, data: bytes) -> Frame | None:
        reused = self._stream is not None
        stream = await self.open()
        stream.write(data)
        answer = await self.next()
        if answer is None and reused:
            # The lab has closed a kept connection instead of answering.
            await self.close()
            stream = await self.open()
            stream.write(data)
            answer = await self.next()
        return answer

    async def open(self) -> Stream:
        """Return the connection, and open it if necessary. Raises OSError."""
        if self._stream is None:
            self._stream = await streams.connect(self._address)
            self._decoder = Decoder()
        return self._stream

    async def next(self) -> Frame | None:
        """Return the lab's next message; None if the connection has ended."""
        assert self._stream is not None
        while True:
            data = await self._stream.read()
            frames = self._decoder.feed(data) if data else self._decoder.end()
            if frames or not data:
                return frames[0] if frames else None

    def reset(self) -> None:
        """Reset the connection if it is open."""
        stream, self._stream = self._stream, None
        if stream:
            stream.reset()

    async def close(self) -> None:
        stream, self._stream = self._stream, None
        if stream:
            with contextlib.suppress(OSError):
                await stream.closed()


def _kept(asked: Any, answered: Any) -> bool:
    """True if the connection stays open after this exchange."""
    return all(keeps_alive(value) for value in (asked, answered))


def keeps_alive(value: Any) -> bool:
    """True if the connection stays open after this message."""
    said = value["headers"].get("connection", "").lower()
    framed = "method" in value or {"content-length", "transfer-encoding"} & value["headers"].keys()
    return bool(framed) and "close" not in said and (value["version"] == "1.1" or "keep" in said)
