"""What every codec of the suite offers: bytes in, frames out, no input or output of its own."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable


@dataclass(frozen=True, slots=True)
class Frame:
    """One unit of the wire: a message, or bytes that are not a message.

    A message has its `name` and its decoded `value`. Bytes that are not a message have `name` None,
    `error` says what is wrong with them, and `requirement` names the statement they violate. A
    message whose value is clear, although its form on the wire was wrong, has both as well. What
    only the end of the stream completes may have `requirement` alone, which it violates wherever
    the stream goes on: a message whose own end is missing, or bytes that begin none.
    `earlier`: the message before it is wrong, which only this one shows.
    """

    raw: bytes
    name: str | None = None
    value: Any = None
    error: str | None = None
    requirement: str | None = None
    earlier: bool = False


class Decoder(Protocol):
    """Cuts one direction of one stream into frames; never raises, whatever the peer sends.

    One that may come to where nothing can be decoded any more says as `lost` why, which is empty
    until then.
    """

    def feed(self, data: bytes) -> list[Frame]:
        """Take the next bytes of the stream; return the frames that they complete."""
        ...

    def end(self) -> list[Frame]:
        """The stream has ended: return what is left of it, if anything is."""
        ...


@runtime_checkable
class Prompting(Protocol):
    """A decoder of a protocol whose senders may pause inside a message until told to go on."""

    def prompt(self) -> bytes:
        """The bytes that the peer must send for the message to go on, given once, mostly none."""
        ...


class Datagrams:
    """A decoder of datagrams: each is exactly one message."""

    def __init__(self, decoder: Callable[[], Decoder]) -> None:
        """`decoder` makes one that reads the contents of a datagram."""
        self._decoder = decoder

    def feed(self, data: bytes) -> list[Frame]:
        """Take one datagram, which may be empty; return what it is."""
        decoder = self._decoder()
        frames = [*decoder.feed(data), *decoder.end()]
        if len(frames) == 1:
            return frames
        broken = next((frame.error for frame in frames if frame.name is None), "")
        also = f", which ends in this: {broken}" if broken else ""
        what = f"{len(frames)} messages{also}" if frames else "nothing"
        return [Frame(data, error=f"a datagram of one message was expected, one of {what} came")]

    def end(self) -> list[Frame]:
        return []
