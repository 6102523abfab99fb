"""Defects that a peer of either role can have: in reading lines, and in what it cannot use.

They become faults of a role by inheriting from one of these and from the mock of that role.
"""

import asyncio
import os
import re
import signal
from collections.abc import Mapping
from typing import Any

from conformance.codec import Frame
from conformance.vexide.codec import Decoder, encode
from mocks.shapes import Unfit
from mocks.vexide.session import Session


def die() -> None:
    """End this process as an operating system ends a program that has gone wrong."""
    os.kill(os.getpid(), signal.SIGKILL)


class Hanging(Session):
    """Can stop serving while its stream stays open."""

    stuck = False

    def receive(self, data: bytes) -> None:
        if not self.stuck:
            super().receive(data)

    def write(self, data: bytes) -> None:
        if not self.stuck:
            super().write(data)


# Cutting the stream into lines


class OneMessageARead(Session):
    def receive(self, data: bytes) -> None:
        for frame in Decoder().feed(data.replace(b"\n", b" ") + b"\n"):
            self.take(frame)


class FirstLineOfARead(Session):
    def receive(self, data: bytes) -> None:
        for frame in self.decoder.feed(data)[:1]:
            self.take(frame)


class OneLineARead(Session):
    """What else has arrived waits until more arrives."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.waiting: list[Frame] = []

    def receive(self, data: bytes) -> None:
        self.waiting += self.decoder.feed(data)
        if self.waiting:
            self.take(self.waiting.pop(0))


class TextReads(Session):
    def receive(self, data: bytes) -> None:
        try:
            data.decode()
        except UnicodeDecodeError:
            return
        super().receive(data)


class ReadsDecodedApart(Session):
    def receive(self, data: bytes) -> None:
        super().receive(data.decode(errors="replace").encode())


class TwoPieces(Session):
    pieces = 0

    def receive(self, data: bytes) -> None:
        self.pieces = 0 if b"\n" in data else self.pieces + 1
        if self.pieces < 3:
            super().receive(data)


class SplitsText(Session):
    def receive(self, data: bytes) -> None:
        super().receive(data.replace("\u2028".encode(), b"\n"))


class SmallBuffer(Session):
    """A line that overflows the buffer ends the session."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.decoder = Decoder(limit=65536)

    def take(self, frame: Frame) -> None:
        if "a line of more than" in (frame.error or ""):
            self.close()
        else:
            super().take(frame)


class FullBuffer(Hanging):
    """A line of more than 1 MiB fills the buffer, and nothing is read from then on."""

    held = 0

    def receive(self, data: bytes) -> None:
        _, newline, rest = data.rpartition(b"\n")
        self.held = len(rest) if newline else self.held + len(data)
        if self.held > 1024 * 1024:
            self.stuck = True
        super().receive(data)


# Reading what stands in a line


class OwnSpellingOnly(Session):
    def take(self, frame: Frame) -> None:
        if frame.name is None or frame.raw.strip() == encode(frame.value).strip():
            super().take(frame)


class NoEscapes(Session):
    def take(self, frame: Frame) -> None:
        if b"\\u" not in frame.raw:
            super().take(frame)


class NoExponents(Session):
    def take(self, frame: Frame) -> None:
        if re.search(rb"\d[eE][-+]?\d+\s*[],}]", frame.raw):
            self.exponent()
        else:
            super().take(frame)

    def exponent(self) -> None:
        """A message with a number in this spelling has come; it is not taken."""


class OrderedFields(Session):
    def take(self, frame: Frame) -> None:
        shape = self.INCOMING.variants.get(frame.name or "")
        if isinstance(shape, Mapping) and isinstance(frame.value, dict):
            content = frame.value[frame.name]
            if [name for name in content if name in shape] != [n for n in shape if n in content]:
                return
        super().take(frame)


# What nobody should trip over


class UnknownNameDies(Session):
    def unknown(self, name: str) -> None:
        die()


class UnknownWordHangs(Hanging):
    def take(self, frame: Frame) -> None:
        known = frame.name is None or frame.name in self.INCOMING.variants
        if self.handshaken and not known and isinstance(frame.value, str):
            self.stuck = True
        super().take(frame)


class MalformedDies(Session):
    def malformed(self, frame: Frame) -> None:
        die()


class BadTextDies(Session):
    def malformed(self, frame: Frame) -> None:
        if "not UTF-8" in (frame.error or ""):
            die()
        super().malformed(frame)


class UnfitHangs(Hanging):
    def unusable(self, name: str, error: Unfit) -> None:
        super().unusable(name, error)
        self.stuck = "unknown variant" not in str(error)


class StrangeFieldDies(Session):
    def strange(self, name: str, fields: list[str]) -> None:
        die()


class StrangeInnerFieldHangs(Hanging):
    def strange(self, name: str, fields: list[str]) -> None:
        super().strange(name, fields)
        self.stuck = any("." in field for field in fields)


class SecondHandshakeDies(Session):
    def second_handshake(self) -> None:
        die()


class SecondHandshakeHangs(Hanging):
    def second_handshake(self) -> None:
        self.stuck = True


class OutlivesInput(Session):
    """Stays when its peer has gone; `lingers` says whether it does so now."""

    left = False

    def lingers(self) -> bool:
        return True

    def input_ended(self) -> None:
        self.left = self.lingers()
        if not self.left:
            super().input_ended()

    async def finish(self) -> None:
        if self.left:
            await asyncio.Event().wait()
        await super().finish()
