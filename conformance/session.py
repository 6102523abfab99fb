"""One session with the IUT: sends, awaits, records and has everything judged as it passes."""

import asyncio
import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from conformance.captures import Event
from conformance.codec import Frame
from conformance.harness.instance import SLOW, Instance
from conformance.harness.links import Link
from conformance.harness.upper import Answer
from conformance.judge import Judge
from conformance.patience import CLOSED, Names, Patience
from conformance.segmentation import Segmentation, whole
from conformance.verdicts import Inconclusive, Violation

SAID = 4000  # characters of a program's last output that a transcript keeps
NOISE = "bytes that are no message"
PART = "a part of a message"
LAST_WORDS = 0.5  # seconds in which a process that has closed its stream may end


@dataclass(frozen=True, slots=True)
class Message:
    """One message that the IUT sent; ``event`` is its index in the transcript."""

    name: str
    value: Any
    at: float
    event: int


def _any(_: Message) -> bool:
    return True


class Session:
    """One connection to the IUT. Times are in seconds since it was opened.

    The suite plays the peer of the role under test. Every message of either side goes through the
    judge; ``findings`` and ``exercised`` are its.
    """

    def __init__(
        self,
        instance: Instance,
        link: Link,
        segmentation: Segmentation | None = None,
        peer: str = "",
        memory: Mapping[str, Any] | None = None,
        patience: Patience | None = None,
        deciding: str = "",
    ) -> None:
        """``segmentation`` and ``peer`` (the role that the suite plays) where not the usual.

        ``memory`` is what tests have found out about the IUT in this run, ``patience`` what has
        not come in it before, and ``deciding`` the requirement that the test decides.
        """
        self.instance = instance
        self.memory = {} if memory is None else memory
        self._patience = patience or Patience()
        self._deciding = deciding
        self.role = instance.role
        self.peer = peer or self.role.peer
        self.protocol = instance.configuration.protocol
        self.events: list[Event] = []
        self.received: list[Message] = []
        self.judge = Judge(
            self.protocol,
            [self.role.name],
            transport=instance.kind,
            conversation=instance.conversation,
        )
        self.offending: int | None = None
        self._link = link
        self._segmentation = segmentation or self.protocol.segmentation
        self._loop = asyncio.get_running_loop()
        self.began = self._loop.time()
        """When it was opened, on the clock of the event loop."""
        self.missed: list[Names] = []
        """The names of messages that were awaited without success while the stream was open."""
        self.sought: list[Names] = []
        """The same of those that had to be certain ones of their names: others may have come."""
        self.hurried = False
        """Some of them were not waited for in full, as the run had no hope for them."""
        self.told: list[str] = []
        """The kinds of what was sent to the IUT until it closed its side: names, or NOISE."""
        self._cursor = 0
        self._size = 0
        self._news = asyncio.Event()
        self._ended = False
        self._flooded = ""
        self._leaving = False
        self._finished = False
        self._deserted = False
        self._writing = asyncio.Lock()
        self._answering: list[asyncio.Task[None]] = []
        self._record(Event(0.0, None, event="connected", details={"transport": instance.kind}))
        self._reader = asyncio.create_task(self._read())

    @property
    def now(self) -> float:
        return self._loop.time() - self.began

    @property
    def ended(self) -> bool:
        """The IUT has closed its side of the stream."""
        return self._ended

    @property
    def flooded(self) -> bool:
        """The IUT has written more than is read of one session."""
        return bool(self._flooded)

    @property
    def size(self) -> int:
        """How many bytes the IUT has written so far."""
        return self._size

    @property
    def theirs(self) -> Iterator[Event]:
        """What the IUT did."""
        return (event for event in self.events if event.sender == self.role.name)

    def seconds(self, timing: str) -> float:
        """A declared timing of the IUT's configuration; longer on a busy machine."""
        return self._patience.seconds(timing, self.instance.configuration.seconds(timing))

    # Sending

    async def send(self, *values: Any, segmentation: Segmentation | None = None) -> None:
        """Send messages, cut into writes as the session's segmentation says."""
        encoded = [self.protocol.codec.encode(value) for value in values]
        for data in encoded if self._link.datagrams else [b"".join(encoded)]:
            await self.send_bytes(data, segmentation=segmentation)

    async def send_bytes(self, data: bytes, *, segmentation: Segmentation | None = None) -> None:
        """Send bytes that need not be a message. A peer that has gone is not an error here."""
        # One write at a time: what is written in pieces must not be torn by an answer.
        async with self._writing:
            await self._send_pieces(data, (segmentation or self._segmentation)(data))

    async def _send_pieces(self, data: bytes, pieces: Sequence[bytes]) -> None:
        pieces = [data] if self._link.datagrams else pieces
        frames = self.judge.decode(self.peer, data)
        if not self._ended:
            self.told += [frame.name or NOISE for frame in frames] or [PART]
        # Judged ahead of its pieces: a peer may act on a message whose newline is still to come.
        for frame in frames:
            self.judge.frame(None, self.peer, frame)
        # Where the protocol sends its messages one by one, this call waits until the last was read.
        apart = self.protocol.segmentation is not whole
        for number, piece in enumerate(pieces):
            if number or apart:
                await self._link.taken()
            whole_message = next((frame for frame in frames if frame.raw == piece), None)
            self._record(
                Event(
                    self.now,
                    self.peer,
                    piece,
                    whole_message.name if whole_message else None,
                    whole_message.value if whole_message else None,
                )
            )
            await self._write(piece)

    async def taken(self) -> None:
        """Wait until the IUT has probably read what was sent, so that what follows is apart."""
        await self._link.taken()

    async def _write(self, data: bytes) -> None:
        limit = self.instance.configuration.max_wait
        try:
            async with asyncio.timeout(limit):
                await self._link.write(data)
        except TimeoutError:
            raise Violation(
                "the IUT to read what is sent to it",
                f"{len(data)} bytes were still not read after {limit:g} s",
            ) from None

    def answer(self, name: str, make: Callable[[Message], Any]) -> None:
        """From now on answer every message of a name at once with the message that `make` makes.

        For what a peer has to do throughout every test, such as keeping a connection alive.
        """
        self._answering.append(asyncio.create_task(self._answer(name, make, len(self.received))))

    async def _answer(self, name: str, make: Callable[[Message], Any], index: int) -> None:
        while not (self._ended or self._flooded):
            self._news.clear()
            while index < len(self.received):
                message = self.received[index]
                index += 1
                if message.name == name:
                    await self.send(make(message), segmentation=whole)
            await self._news.wait()

    async def operate(self, operation: str, **arguments: Any) -> Answer:
        """Run an operation of the upper tester; the transcript keeps it and its result.

        Raises NotExercised where nothing provides it.
        """
        self.note(operation, self.peer, **({"arguments": arguments} if arguments else {}))
        answer = await self.instance.upper(operation, **arguments)
        self.note(f"{operation} answered", self.role.name, **answer.told)
        return answer

    def note(self, event: str, sender: str | None = None, **details: Any) -> int:
        """Put into the transcript what happened beside the wire; returns the event's index."""
        return self._record(Event(self.now, sender, event=event, details=details))

    async def finish(self) -> None:
        """Close our side of the stream; the IUT may still write."""
        await self._stop_answering()
        self._finished = True
        self._record(Event(self.now, self.peer, event="closed"))
        for frame in self.judge.rest(self.peer):
            self.judge.frame(None, self.peer, frame)
        self.judge.closed(None, self.peer)
        self._link.finish()

    async def close(self) -> None:
        """Close the stream altogether, as a peer does that goes away."""
        self._leaving = True
        await self.finish()
        await self._link.close()

    # Receiving

    async def expect(
        self,
        *names: str,
        where: Callable[[Message], bool] = _any,
        within: float | None = None,
        to: str = "",
        requirement: str | None = None,
    ) -> Message:
        """The next message with one of these names (any, if none), passing over others.

        Raises Violation where the stream ends first or nothing comes in time, Inconclusive where it
        comes late. ``to`` completes "expected NAME …" in the text of the verdict; ``requirement``
        is what its absence violates, if not the one that the test decides.
        """
        seconds = self.seconds("response") if within is None else within
        if not self.received and within is None:
            # A fresh process may still be starting.
            seconds += self._patience.startup(names, self.seconds("startup"))
        seconds *= self._patience.share(self._deciding, names) if where is _any else 1
        asked = self.now
        start = self._cursor

        def found() -> bool:
            while self._cursor < len(self.received):
                message = self.received[self._cursor]
                self._cursor += 1
                if (not names or message.name in names) and where(message):
                    return True
            return False

        expected = f"{' or '.join(names) or 'a message'} {to}".strip()
        late = self._patience.late(names) * min(seconds, self.seconds("response"))
        if not await self._until(found, asked + seconds + late):
            await self._settled()
            in_time = "" if self._ended else f" within {seconds:g} s"
            if where is _any:
                self._miss(names)
            elif not self._ended:
                self.sought.append(names)
            raise Violation(f"{expected}{in_time}", self._instead(start), requirement)
        message = self.received[self._cursor - 1]
        if message.at > asked + seconds and within is None:
            raise Inconclusive(
                f"expected {expected} within {seconds:g} s; "
                f"it came after {message.at - asked:.1f} s"
            )
        return message

    async def watch(self, *names: str, within: float | None = None) -> Message | None:
        """The first message with one of these names (any, if none) that comes within a window.

        The window is the declared ``quiet`` time. None is an answer here, not a violation.
        """
        seconds = self.seconds("quiet") if within is None else within
        # What is to be absent is looked for no less than before.
        seconds *= 1 if within is None else self._patience.share(self._deciding, names)
        index = self._cursor

        def found() -> bool:
            nonlocal index
            while index < len(self.received):
                index += 1
                if not names or self.received[index - 1].name in names:
                    return True
            return False

        if not await self._until(found, self.now + seconds):
            self._miss(names)
            return None
        self._cursor = index
        return self.received[index - 1]

    async def until_closed(self, within: float | None = None) -> bool:
        """Wait for the IUT to close its side; False where it has not done so in time."""
        seconds = self.seconds("response") if within is None else within
        seconds *= self._patience.share(self._deciding, (CLOSED,))
        await self._until(lambda: self._ended, self.now + seconds)
        self._miss((CLOSED,))
        return self._ended

    def _miss(self, names: Names) -> None:
        """Remember that these messages have not come to the deadline, unless the stream ended."""
        if names and not self._ended:
            self.missed.append(names)
            self.hurried = self.hurried or self._patience.hopeless(self._deciding, names)

    async def _until(self, found: Callable[[], bool], deadline: float) -> bool:
        """Wait until something was found, or the stream has ended, or the deadline has passed."""
        while not found():
            if self._flooded:
                raise Inconclusive(self._flooded)
            left = deadline - self.now
            if self._ended or left <= 0:
                return False
            self._news.clear()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(left):
                    await self._news.wait()
        return True

    @property
    def death(self) -> str:
        """How the IUT died in this session, once its instance was stopped; empty where it did not.

        One that goes on behind a connection which it has lost by an error has died for that.
        """
        process = self.instance.process
        if process and process.death:
            return process.death
        if self._deserted and process and process.unhandled:
            return "closed the connection by an error that it did not handle"
        return "reset the connection" if self._deserted and self._link.broken else ""

    async def _settled(self) -> None:
        """Where the stream has ended, give the process a moment to end: how it ends says why."""
        if self._ended and self.instance.process:
            await self.instance.process.wait(LAST_WORDS)

    async def unharmed(self, after: str) -> None:
        """Raise Violation if the IUT has died, by a signal or an unhandled error."""
        await self._settled()
        if self.instance.process and self.instance.process.crashed:
            raise Violation(
                f"the {self.role.name} to survive {after}",
                f"it died{self.instance.describe_end()}",
            )

    def _instead(self, start: int) -> str:
        names = [message.name for message in self.received[start:]]
        shown = ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
        came = f"came {shown}, then" if names else "came"
        if self.judge.spoiled:
            came += f" bytes that are not a message ({self._noise()!r}), then"
        if not self._ended and (left := self.judge.rest(self.role.name)):
            came += f" {left[0].raw[:60]!r}, whose end has not come, then"
        ending = "the end of the stream" if self._ended else "nothing"
        process = self.instance.process
        silent = not (self._size or self._ended) and process and not process.exit
        return f"{came} {ending}{self.instance.describe_end()}" + (f"; {SLOW}" if silent else "")

    def _noise(self) -> bytes:
        """The beginning of the first bytes that are not a message."""
        data = (event.data for event in self.theirs if event.message is None)
        return next((some[:60] for some in data if some), b"")

    async def _stop_answering(self) -> None:
        for task in self._answering:
            task.cancel()
        await asyncio.gather(*self._answering, return_exceptions=True)
        self._answering.clear()

    # Recording

    def _record(self, event: Event) -> int:
        self.events.append(event)
        return len(self.events) - 1

    async def _read(self) -> None:
        sender = self.role.name
        # A datagram may be empty; they have no end.
        while (data := await self._link.read()) or self._link.datagrams:
            self._size += len(data)
            size, events = self._patience.most
            if self._size > size or len(self.events) > events:
                self._patience.floods += 1
                self._flooded = (
                    f"the IUT wrote {self._size} bytes in {len(self.received)} messages within "
                    f"{self.now:.1f} s: more than is read of one session"
                )
                self._news.set()
                return
            for frame in self.judge.decode(sender, data):
                self._take(frame)
            self._news.set()
            if (prompt := self.judge.prompt(sender)) and not self._finished:
                await self.send_bytes(prompt, segmentation=whole)
        if not self._leaving:
            for frame in self.judge.rest(sender):
                self._take(frame)
        index = self._record(Event(self.now, sender, event="closed"))
        if not self._leaving:
            self.judge.closed(index, sender)
            self._patience.came(CLOSED)
            self._deserted = not self._finished
        self._ended = True
        self._news.set()

    def _take(self, frame: Frame) -> None:
        sender = self.role.name
        index = self._record(Event(self.now, sender, frame.raw, frame.name, frame.value))
        self.judge.frame(index, sender, frame)
        if frame.name is not None:
            if not self.received:
                self._patience.began(self.now)
            self._patience.came(frame.name)
            self.received.append(Message(frame.name, frame.value, self.now, index))

    async def leave(self) -> None:
        """End the session: whatever still comes is not read any more."""
        self._leaving = True
        await self._stop_answering()
        self._reader.cancel()
        await asyncio.gather(self._reader, return_exceptions=True)
        if self._link is not getattr(self.instance.process, "standard", None):
            await self._link.close()
        if self.instance.process and self.instance.process.exit:
            said = self.instance.process.stderr.text[-SAID:]
            self._record(
                Event(
                    self.now,
                    self.role.name,
                    event="exited",
                    details={"how": self.instance.process.exit, **({"said": said} if said else {})},
                )
            )
