"""The wire of a session with the IUT: sends, reads, records and judges bytes."""

import asyncio
import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import partial
from typing import Any

from conformance.codec import Frame
from conformance.evidence import BREAK
from conformance.harness.instance import Instance
from conformance.harness.links import Link
from conformance.judging import captures
from conformance.judging.captures import Event
from conformance.judging.judge import Judge
from conformance.judging.packed_values import PackedValue, unpack
from conformance.judging.space import FIRST, LATER, PARALLEL
from conformance.running.floods import SessionReading
from conformance.running.timeouts import Timeouts
from conformance.segmentation import Segmentation, whole

OUTPUT_TAIL = 4000  # characters of a program's last output that a transcript keeps
NOISE = "bytes that are no message"
ONE_READ = 1024  # bytes that any program can read in one call
MULTI_READ_SENDS = (AT_LENGTH, IN_PIECES, JOINED) = (
    "at length",
    "in pieces",
    "with several messages in one write",
)
"""Ways to send after which the receiver needs several reads, or reads several messages at once."""
PART = "a part of a message"
_LARGE = 512  # bytes from which a decoded message is worth packing
_UNPACKED = 64  # latest messages that are not packed, because tests mostly read these
_BEGINNING = 256  # bytes that are enough to recognise the protocol of a stream
_IN_PIECES = 0.2  # seconds for all pieces of a message: some peers do not wait longer for the rest
_EACH_PIECE = 0.001  # further seconds for each piece: a peer on an idle machine reads in this time


class Side(Enum):
    """The two sides of a stream."""

    IUT = "IUT"
    SUITE = "suite"


class StreamState(Enum):
    """The sides that have closed a stream, in order.

    A value is a list of names, because Python 3.11.2 replaces an empty tuple by another object.
    """

    OPEN = ""
    IUT_CLOSED = "IUT"
    SUITE_CLOSED = "suite"
    IUT_CLOSED_FIRST = "IUT suite"
    SUITE_CLOSED_FIRST = "suite IUT"

    def has(self, side: Side) -> bool:
        """True if this side has closed the stream."""
        return side.value in self.value.split()

    def after(self, side: Side) -> "StreamState":
        """The state after this side has closed too."""
        return self if self.has(side) else StreamState(f"{self.value} {side.value}".strip())


@dataclass(frozen=True, slots=True)
class Message:
    """A message that the IUT sent; ``event`` is its index in the transcript."""

    name: str
    decoded: Any
    """The decoded value, or a `PackedValue`."""
    at: float
    event: int

    @property
    def value(self) -> Any:
        return unpack(self.decoded)


class Wire:
    """A connection to the IUT. Times are in seconds since it was opened.

    The suite plays the peer of the role under test. Every message of either side goes through the
    judge.
    """

    def __init__(
        self,
        instance: Instance,
        link: Link,
        segmentation: Segmentation | None,
        peer: str,
        timeouts: Timeouts,
    ) -> None:
        """Begin to record a connection.

        - ``peer``: the role that the suite plays; empty for the peer of the role under test
        - ``segmentation``: how bytes are cut into writes. With None, every message is a write of
          its own, and the suite waits until the IUT has read it.
        """
        self.instance = instance
        self.role = instance.role
        self.peer = peer or self.role.peer
        self.protocol = instance.configuration.protocol
        self.number = instance.connections
        """The number of this connection among those with the instance, from 1."""
        self.events: list[Event] = []
        self.received: list[Message] = []
        self.beginning = b""
        """The first bytes that came."""
        self.judge = Judge(
            self.protocol,
            [self.role.name],
            transport=instance.kind,
            conversation=instance.conversation,
            shows=instance.tally.session(self._place_among_connections()),
        )
        self.sent: list[str] = []
        """The labels of all messages sent while the IUT was connected, or NOISE, PART, BREAK."""
        self.mask: frozenset[str] = frozenset()
        """The labels of messages that the suite leaves out."""
        self._sent_at_last_receive = 0  # length of `sent` when the IUT sent its latest message
        self.multi_read_sends: set[str] = set()
        """The ways of sending (`MULTI_READ_SENDS`) that this session has used."""
        self._link = link
        self._segmentation = segmentation
        self._timeouts = timeouts
        self._loop = asyncio.get_running_loop()
        self.began = self._loop.time()
        """The time when the connection was opened, by the clock of the event loop."""
        self.unread_bytes = 0
        """The number of bytes that the IUT had enough time to read, and had not read at the end."""
        self._reading = SessionReading(self, timeouts.floods)
        self._packed_count = 0  # the number of first messages that are packed if they are large
        self._news = asyncio.Event()
        self.state = StreamState.OPEN
        self.is_half_closed = False
        """The suite has ended its direction of the stream, and still reads."""
        self.left_at: float | None = None
        """When the suite closed both directions, by the clock of the event loop; None if open."""
        self._is_left = False  # the suite ignores everything that still comes
        self._writing = asyncio.Condition()
        self._unfinished_bytes = 0
        """The number of bytes sent of a message whose rest has not been sent yet."""
        self._answering: list[asyncio.Task[None]] = []
        self._record(Event(0.0, None, event="connected", details={"transport": instance.kind}))
        self._reader = asyncio.create_task(self._read())

    @property
    def now(self) -> float:
        return self._loop.time() - self.began

    @property
    def ended(self) -> bool:
        """The IUT has closed its side of the stream."""
        return self.state.has(Side.IUT)

    @property
    def closed_by_suite(self) -> bool:
        """The suite has closed its side of the stream."""
        return self.state.has(Side.SUITE)

    @property
    def closed_by_iut(self) -> bool:
        """The IUT has closed its side first, before the suite left the session."""
        return self.state in (StreamState.IUT_CLOSED, StreamState.IUT_CLOSED_FIRST)

    @property
    def reset(self) -> bool:
        """The IUT has reset the connection, so it may not have read the latest bytes."""
        return self.ended and self._link.reset

    @property
    def is_unreadable(self) -> bool:
        """The judge cannot read messages of the IUT any more."""
        return self.judge.is_unreadable(self.role.name)

    @property
    def is_over(self) -> bool:
        """The IUT has closed its side, or the suite has left the session."""
        return self.ended or self._is_left

    @property
    def is_flooded(self) -> bool:
        """The IUT has written more than the suite reads in one session."""
        return bool(self._reading.why_ended)

    @property
    def size(self) -> int:
        """The number of bytes that the IUT has written so far."""
        return self._reading.size

    @property
    def is_unserved(self) -> bool:
        """True for a connection after the first one, on which the IUT has sent nothing."""
        return self.number > 1 and not self.size

    @property
    def iut_events(self) -> Iterator[Event]:
        """The events that the IUT caused."""
        return (event for event in self.events if event.sender == self.role.name)

    async def send(self, *values: Any, segmentation: Segmentation | None = None) -> None:
        """Send messages one by one, or joined and cut into writes by the segmentation."""
        encoded = [self.protocol.codec.encode(value) for value in values]
        together = (segmentation or self._segmentation) and not self._link.datagrams
        for data in [b"".join(encoded)] if together else encoded:
            await self.send_bytes(data, segmentation=segmentation)

    async def send_bytes(self, data: bytes, *, segmentation: Segmentation | None = None) -> None:
        """Send bytes that need not be a message; ignore it if the IUT has gone."""
        # A lock, because an automatic answer must not come between the pieces of a message.
        async with self._writing:
            await self._send_bytes(data, segmentation or self._segmentation)
            self._writing.notify_all()

    async def _send_answer(self, value: Any) -> None:
        """Send an automatic answer, at the latest when a message begun earlier is complete."""
        async with self._writing:
            await self._writing.wait_for(lambda: not self._unfinished_bytes)
            data = self.protocol.codec.encode(value)
            await self._send_bytes(data, self._segmentation and whole)

    async def _send_bytes(self, data: bytes, segmentation: Segmentation | None) -> None:
        cut = whole if self._link.datagrams else segmentation
        if cut is None:
            await self._link.wait_until_taken()
        frames = self.judge.decode(self.peer, data)
        self._unfinished_bytes += len(data) - sum(len(frame.raw) for frame in frames)
        kept = [frame for frame in frames if not self._left_out(frame)]
        whole_frames = sum(len(frame.raw) for frame in frames) == len(data)
        if len(kept) < len(frames) and whole_frames:
            data = b"".join(frame.raw for frame in kept)
            if not data:
                return
        await self._send_pieces(data, (cut or whole)(data), kept)

    @property
    def sent_since_last_receive(self) -> list[str]:
        """The labels of the messages sent since the IUT's latest message."""
        return self.sent[self._sent_at_last_receive :]

    def label(self, frame: Frame) -> str:
        """The label of a frame that the suite sends (see `Protocol.label`)."""
        return NOISE if frame.name is None else self.protocol.label(frame.name, frame.value)

    def _left_out(self, frame: Frame) -> bool:
        """True for a masked message, and for a message of an unsupported feature."""
        if frame.name in self.instance.configuration.unsent_messages(self.peer):
            return True
        return bool(self.mask) and self.label(frame) in self.mask

    async def _send_pieces(
        self, data: bytes, pieces: Sequence[bytes], frames: Sequence[Frame]
    ) -> None:
        if not self.ended:
            self.sent += [self.label(frame) for frame in frames] or [PART]
        if len(data) > ONE_READ:
            self.multi_read_sends.add(AT_LENGTH)
        if len(pieces) > 1 or sum(len(frame.raw) for frame in frames) < len(data):
            self.multi_read_sends.add(IN_PIECES)
        elif len(frames) > 1:
            self.multi_read_sends.add(JOINED)
        self.judge.count_arrival(self.peer, [*map(len, pieces)], frames)
        # Judged before its last piece, because a peer can act on a message without its newline.
        for frame in frames:
            self.judge.frame(None, self.peer, frame)
        until = self.now + _IN_PIECES
        for number, piece in enumerate(pieces):
            if number:
                await self._link.wait_until_taken(
                    within=max(0.0, until + number * _EACH_PIECE - self.now)
                )
            self._record(
                captures.with_messages(
                    Event(self.now, self.peer, piece), _frames_of_piece(piece, frames)
                )
            )
            await self._write(piece)

    async def wait_until_taken(self) -> None:
        """Wait until the IUT has probably read everything that was sent."""
        await self._link.wait_until_taken()

    async def _write(self, data: bytes) -> None:
        await self._link.write(data)

    def answer(self, name: str, make: Callable[[Message], Any], since: int | None = None) -> None:
        """From now on, answer every message of a name with the result of ``make``.

        A peer uses this for its duties in every test, such as keeping a connection alive. If
        ``make`` returns None, nothing is sent. ``since`` is the index in `received` of the first
        message that is answered. The default is the next message.
        """
        index = len(self.received) if since is None else since
        self._answering.append(asyncio.create_task(self._answer(name, make, index)))

    async def _answer(self, name: str, make: Callable[[Message], Any], index: int) -> None:
        while not (self.ended or self.is_flooded):
            self._news.clear()
            while index < len(self.received):
                message = self.received[index]
                index += 1
                if message.name == name and (answer := make(message)) is not None:
                    await self._send_answer(answer)
            await self._news.wait()

    def note(self, event: str, sender: str | None = None, **details: Any) -> int:
        """Add an event to the transcript that is not traffic; return its index."""
        return self._record(Event(self.now, sender, event=event, details=details))

    async def finish(self) -> None:
        """Close our side of the stream; the IUT can still write."""
        self.is_half_closed = True
        await self._close_side()
        self._link.finish()

    async def close(self, *, reset: bool = False) -> None:
        """Close both directions of the stream; with ``reset``, like a peer that is killed."""
        self._is_left = True
        self.left_at = self.left_at or self._loop.time()
        await self._close_side(reset)
        if reset:
            self.sent.append(BREAK)
            self._link.break_off()
        else:
            self._link.finish()
        await self._link.close()

    async def _close_side(self, reset: bool = False) -> None:
        """Record and judge the end of our side."""
        await self.stop_answering()
        self.state = self.state.after(Side.SUITE)
        self._record(
            Event(self.now, self.peer, event="closed", details=captures.end_details(reset))
        )
        if reset:
            self.judge.reset(self.peer)
        for frame in self.judge.take_rest(self.peer):
            self.judge.frame(None, self.peer, frame)
        self.judge.closed(None, self.peer)

    def _place_among_connections(self) -> str:
        """Add this connection to those of its instance, and return its place among them."""
        has_open = any(not other.is_over for other in self.instance.open)
        self.instance.open.add(self)
        if has_open:
            return PARALLEL
        return FIRST if self.number <= 1 else LATER

    async def leave(self) -> None:
        """End the session, and read nothing more."""
        self._is_left = True
        self.instance.open.discard(self)
        await self.stop_answering()
        latest = next((each.at for each in reversed(self.events) if each.sender == self.peer), 0.0)
        if self.now - latest > self.instance.configuration.seconds("quiet"):
            self.unread_bytes = self._link.unread_bytes()
        self._reader.cancel()
        await asyncio.gather(self._reader, return_exceptions=True)
        # After the reader has ended, because its last bytes count for the session.
        self._timeouts.floods.close(self)
        if self._link is not getattr(self.instance.process, "standard", None):
            self.left_at = self.left_at or self._loop.time()
            await self._link.close()
        if self.instance.process and self.instance.process.exit:
            output = self.instance.process.stderr.text[-OUTPUT_TAIL:]
            details = {"how": self.instance.process.exit, **({"said": output} if output else {})}
            self._record(Event(self.now, self.role.name, event="exited", details=details))

    async def stop_answering(self) -> None:
        """End all automatic answers (see `answer`)."""
        for task in self._answering:
            task.cancel()
        await asyncio.gather(*self._answering, return_exceptions=True)
        self._answering.clear()

    def _record(self, event: Event) -> int:
        self.events.append(event)
        return len(self.events) - 1

    async def _read(self) -> None:
        sender = self.role.name
        # An empty read ends a stream, but can be an empty datagram.
        while (data := await self._link.read()) or self._link.datagrams:
            self.beginning += data[: _BEGINNING - len(self.beginning)]
            if self.instance.connections > 1:
                # The end of another connection can change the meaning of these bytes.
                await self._link.read_ahead()
            complete: list[Frame] = []
            chunks = [data] if self._link.datagrams else self._reading.chunks(data, self.events)
            for chunk in chunks:
                if not self._reading.accepts(chunk, self.events, len(self.received), self.now):
                    self._news.set()
                    return
                frames = self._reading.decode_chunk(chunk, partial(self.judge.decode, sender))
                complete += frames
                for frame in frames:
                    self._take(frame)
            self.judge.count_arrival(sender, [len(data)], complete)
            self._news.set()
            if (prompt := self.judge.prompt(sender)) and not self.closed_by_suite:
                await self.send_bytes(prompt, segmentation=whole)
        reset = self._link.reset
        if not self._is_left:
            if reset:
                self.judge.reset(sender)
            for frame in self.judge.take_rest(sender):
                self._take(frame)
        index = self._record(
            Event(self.now, sender, event="closed", details=captures.end_details(reset))
        )
        if not self._is_left:
            self.judge.closed(index, sender)
        # After the suite has left, the end of the IUT's side counts as one after ours.
        before = self.state.after(Side.SUITE) if self._is_left else self.state
        self.state = before.after(Side.IUT)
        self._news.set()

    def _take(self, frame: Frame) -> None:
        sender = self.role.name
        index = self._record(Event(self.now, sender, frame.raw, frame.name, frame.value))
        self.judge.frame(index, sender, frame)
        if frame.name is not None:
            self._timeouts.started = self.instance.has_spoken = True
            self._sent_at_last_receive = len(self.sent)
            self.received.append(Message(frame.name, frame.value, self.now, index))
            self._pack()

    def _pack(self) -> None:
        """Pack the value of the next old message if it is large, to save memory."""
        if len(self.received) - self._packed_count <= _UNPACKED:
            return
        message = self.received[self._packed_count]
        event = self.events[message.event]
        if event.data and len(event.data) >= _LARGE:
            # Values that are nested thousands of levels deep cannot be packed.
            with contextlib.suppress(ValueError):
                packed = PackedValue(message.decoded)
                self.received[self._packed_count] = replace(message, decoded=packed)
                self.events[message.event] = replace(event, value=packed)
        self._packed_count += 1


def _frames_of_piece(piece: bytes, frames: Sequence[Frame]) -> Sequence[Frame]:
    """The consecutive frames whose bytes are exactly this piece; empty if there are none."""
    for first in range(len(frames)):
        size, number = 0, first
        while number < len(frames) and size < len(piece):
            size += len(frames[number].raw)
            number += 1
        if size == len(piece) and b"".join(f.raw for f in frames[first:number]) == piece:
            return frames[first:number]
    return ()
