"""Decoders that lose what one read has brought: mistakes that any reader of a stream can make.

A fault gives one of them to its mock, in `make_decoder`, around the decoder that the mock has.
"""

from collections.abc import Callable

from conformance.codec import Decoder, Frame


class PerRead(Decoder):
    """Takes each read for whole messages."""

    def __init__(self, make_decoder: Callable[[], Decoder]) -> None:
        self._make_decoder = make_decoder

    def feed(self, data: bytes) -> list[Frame]:
        return self._make_decoder().feed(data)

    def end(self) -> list[Frame]:
        return []


class FirstOfARead(Decoder):
    """Takes the first message of a read only."""

    def __init__(self, decoder: Decoder) -> None:
        self._decoder = decoder

    def feed(self, data: bytes) -> list[Frame]:
        return self._decoder.feed(data)[:1]

    def end(self) -> list[Frame]:
        return self._decoder.end()


class LastOfARead(FirstOfARead):
    """Takes the last message of a read only."""

    def feed(self, data: bytes) -> list[Frame]:
        return self._decoder.feed(data)[-1:]
