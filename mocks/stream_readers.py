"""Decoders that lose part of a read: mistakes that any stream reader can make.

A fault returns such a decoder from `make_decoder`, wrapped around the mock's own decoder.
"""

import time
from collections.abc import Callable

from conformance.codec import Decoder, Frame
from mocks.steps import Change, instead

_PAUSE = 0.1  # seconds; a usual timeout of programs that do other work between two reads


def reads(make: Callable[[], Decoder]) -> Change:
    """Read messages with another decoder."""
    return instead("make_decoder", lambda _: make())


class PerRead(Decoder):
    """Treats each read as whole messages."""

    def __init__(self, make_decoder: Callable[[], Decoder]) -> None:
        self._make_decoder = make_decoder

    def feed(self, data: bytes) -> list[Frame]:
        return self._make_decoder().feed(data)

    def end(self) -> list[Frame]:
        return []


class FirstOfARead(Decoder):
    """Takes only the first message of each read."""

    def __init__(self, decoder: Decoder) -> None:
        self._decoder = decoder

    def feed(self, data: bytes) -> list[Frame]:
        return self._decoder.feed(data)[:1]

    def end(self) -> list[Frame]:
        return self._decoder.end()


class LastOfARead(FirstOfARead):
    """Takes only the last message of each read."""

    def feed(self, data: bytes) -> list[Frame]:
        return self._decoder.feed(data)[-1:]


class ForgetsInPauses(Decoder):
    """Loses an incomplete message during a pause, like a reader whose read has timed out."""

    def __init__(self, make_decoder: Callable[[], Decoder]) -> None:
        self._make_decoder = make_decoder
        self._decoder = make_decoder()
        self._latest = 0.0

    def feed(self, data: bytes) -> list[Frame]:
        if time.monotonic() - self._latest > _PAUSE:
            self._decoder = self._make_decoder()
        self._latest = time.monotonic()
        return self._decoder.feed(data)

    def end(self) -> list[Frame]:
        return self._decoder.end()
