"""The interface of all codecs: bytes in, frames out, without any input or output."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable


@dataclass(frozen=True, slots=True)
class Frame:
    """A unit on the wire: a message, or bytes that are not a message.

    - A message has its ``name`` and its decoded ``value``.
    - Bytes that are not a message have no ``name``. ``error`` says what is wrong with them, and
      ``requirement`` is the id of the violated requirement.
    - A message in a wrong form, whose value is clear nevertheless, has all four.
    - A frame that only the end of the stream completes can have ``requirement`` without
      ``error``. The requirement is violated if the stream continues. Examples are a message without
      its own end, and bytes that begin no message.

    ``earlier``: the fault is in the previous message, and only this frame shows it.
    """

    raw: bytes
    name: str | None = None
    value: Any = None
    error: str | None = None
    requirement: str | None = None
    earlier: bool = False


class Decoder(Protocol):
    """Cuts one direction of one stream into frames; never raises, whatever the peer sends.

    A decoder that cannot decode any later bytes has an attribute ``lost`` with the reason, which is
    empty until then.
    """

    def feed(self, data: bytes) -> list[Frame]:
        """Take the next bytes of the stream; return the frames that they complete."""
        ...

    def end(self) -> list[Frame]:
        """Report that the stream has ended; return the rest of it."""
        ...


@runtime_checkable
class Prompting(Protocol):
    """A decoder whose senders can pause inside a message until the peer allows the rest."""

    def prompt(self) -> bytes:
        """Return the bytes that the peer must send now; empty if none. Each is returned once."""
        ...


class Datagrams:
    """A decoder of datagrams; each datagram is exactly one message."""

    def __init__(self, decoder: Callable[[], Decoder]) -> None:
        """``decoder`` makes a decoder for the contents of one datagram."""
        self._decoder = decoder

    def feed(self, data: bytes) -> list[Frame]:
        """Take one datagram, which can be empty; return its frame."""
        decoder = self._decoder()
        frames = [*decoder.feed(data), *decoder.end()]
        if len(frames) == 1:
            return frames
        broken = next((frame.error for frame in frames if frame.name is None), "")
        also = f", the last of which is wrong: {broken}" if broken else ""
        what = f"{len(frames)} messages{also}" if frames else "nothing"
        return [Frame(data, error=f"expected one message in a datagram; received {what}")]

    def end(self) -> list[Frame]:
        return []
