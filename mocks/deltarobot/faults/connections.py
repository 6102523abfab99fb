"""Faults that show in a later connection only: of another client, or of one that connects again."""

import os
from typing import Any, ClassVar

from conformance.codec import Frame
from conformance.deltarobot.codec import message
from mocks.deltarobot.client import Client
from mocks.deltarobot.server import Server
from mocks.deviations import fault
from mocks.streams import Stream

_SOON = 0.05  # seconds until a client connects again


@fault("magic-of-another", violates="handshake.closes-partial", subtle=True)
class MagicOfAnother(Server):
    """Serves a client that sends no magic once another client has sent one."""

    def handshake(self, frame: Any) -> None:
        if self.number > 1 and frame.name == "ProtocolVersion":
            self.missing.discard("ProtocolMagic")
        super().handshake(frame)


@fault("one-client-ever", violates="robustness.next-client")
class OneClientEver(Server):
    """Closes every connection but the first at once."""

    async def run(self, stream: Stream) -> None:
        if self.number > 1:
            await stream.closed()
        else:
            await super().run(stream)


@fault("fourth-client-unserved", violates="robustness.next-client", subtle=True)
class FourthClientUnserved(Server):
    """Greets its fourth client, and does no more for it."""

    def welcome(self) -> None:
        if self.number != 4:
            super().welcome()


@fault("shared-buffer", violates="robustness.next-client", subtle=True)
class SharedBuffer(Server):
    """Puts what a client left half said before what the next one says."""

    left: ClassVar[list[bytes]] = []

    def opened(self) -> None:
        self.heard = b""
        super().opened()
        for data in list(self.left):
            self.left.clear()
            self.decoder.feed(data)

    def receive(self, data: bytes) -> None:
        self.heard += data
        super().receive(data)

    def input_ended(self) -> None:
        rest = self.decoder.end()
        if rest and rest[0].raw:
            self.left.append(rest[0].raw)
        super().input_ended()


@fault("later-magic-reversed", violates="handshake.magic-value", subtle=True)
class LaterMagicReversed(Server):
    """Sends the magic reversed, from the second connection on."""

    def send_magic(self) -> None:
        if self.number == 1:
            super().send_magic()
        else:
            self.send(message("ProtocolMagic", magic="rVRatleD"))


@fault("later-version-big-endian", violates="handshake.version-value", subtle=True)
class LaterVersionBigEndian(Server):
    """Sends its version in big-endian, from the second connection on."""

    def send_version(self) -> None:
        self.send(message("ProtocolVersion", version=1 if self.number == 1 else 1 << 24))


@fault("later-no-version", violates="handshake.version-sent", subtle=True)
class LaterNoVersion(Server):
    """Sends no version, from the second connection on."""

    def send_version(self) -> None:
        if self.number == 1:
            super().send_version()


@fault("ends-with-its-client", violates="robustness.next-client", subtle=True)
class EndsWithItsClient(Server):
    """Ends altogether, and in order, once a client has ended the transmission."""

    def peer_ends(self, value: Any) -> None:
        super().peer_ends(value)
        os._exit(0)


class Returning(Client):
    """Connects again soon after its first connection; not a fault."""

    def pause(self, again: float | None) -> float | None:
        return _SOON if self.number == 1 else again


@fault("later-no-magic", violates="handshake.magic-sent", subtle=True)
class LaterNoMagic(Returning):
    """Sends no magic in its second connection."""

    def send_magic(self) -> None:
        if self.number == 1:
            super().send_magic()


@fault("later-pings-unanswered", violates="pong.each", subtle=True)
class LaterPingsUnanswered(Returning):
    """Answers no pings in its second connection."""

    def send_pong(self, number: int) -> None:
        if self.number == 1:
            super().send_pong(number)


@fault("later-server-trusted", violates="handshake.closes-different", subtle=True)
class LaterServerTrusted(Returning):
    """Skips whatever comes before the handshake in its second connection."""

    def unexpected(self, frame: Frame) -> None:
        if self.number == 1:
            super().unexpected(frame)
