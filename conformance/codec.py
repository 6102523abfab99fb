"""What every codec of the suite offers: bytes in, frames out, no input or output of its own."""

from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class Frame:
    """One unit of the wire: a message, or bytes that are none.

    A message has its `name` and its decoded `value`. Bytes that are not a message have `name` None,
    say in `error` what is wrong with them, and name in `requirement` the statement they violate.
    """

    raw: bytes
    name: str | None = None
    value: Any = None
    error: str | None = None
    requirement: str | None = None


class Decoder(Protocol):
    """Cuts one direction of one stream into frames; never raises, whatever the peer sends."""

    def feed(self, data: bytes) -> list[Frame]:
        """Take the next bytes of the stream; return the frames that they complete."""
        ...

    def end(self) -> list[Frame]:
        """The stream has ended: return what is left of it, if anything is."""
        ...
