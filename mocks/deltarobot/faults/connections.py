"""Faults that only a later connection or another client reveals."""

import os
from typing import Any, ClassVar

from conformance.codec import Decoder, Frame
from conformance.deltarobot.codec import UNKNOWN, message
from mocks.deltarobot.client import Client
from mocks.deltarobot.exercise import State, Vector
from mocks.deltarobot.faults.frames import LosesHalfIdentifiers
from mocks.deltarobot.server import Server
from mocks.deltarobot.session import MAGIC, VERSION, Session
from mocks.deviations import fault
from mocks.streams import Stream


@fault("magic-of-another", violates="handshake.closes-partial", subtle=True)
class MagicOfAnother(Server):
    """Serves a client without a magic if another client has sent one."""

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


@fault("three-clients-ever", violates="robustness.next-client", subtle=True)
class ThreeClientsEver(Server):
    """Closes every connection but the first three at once, because it never frees places."""

    async def run(self, stream: Stream) -> None:
        if self.number > 3:
            await stream.closed()
        else:
            await super().run(stream)


@fault("busy-for-ever", violates="robustness.next-client", subtle=True)
class BusyForEver(Server):
    """Ends the transmission to every client but the first after its handshake."""

    def opened(self) -> None:
        super().opened()
        if self.number > 1:
            self.end("busy")


@fault("fourth-client-unserved", violates="robustness.next-client", subtle=True)
class FourthClientUnserved(Server):
    """Sends the handshake to its fourth client, and then does not serve it."""

    def welcome(self) -> None:
        if self.number != 4:
            super().welcome()


class _OneBuffer(Session):
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


@fault("shared-buffer", violates="robustness.next-client", subtle=True)
class SharedBuffer(_OneBuffer, Server):
    """Puts an incomplete message of one client before the bytes of the next client."""


@fault("half-of-before", violates="frame.segmentation", subtle=True)
class HalfOfBefore(_OneBuffer, Client):
    """Puts an incomplete message of a broken connection before the bytes of the next connection."""


@fault("later-magic-reversed", violates="handshake.magic-value", subtle=True)
class LaterMagicReversed(Server):
    """Sends the magic reversed, from the second connection on."""

    def send_magic(self) -> None:
        if self.number == 1:
            super().send_magic()
        else:
            self.send(message("ProtocolMagic", magic="rVRatleD"))


@fault("later-version-big-endian", violates="frame.byte-order", subtle=True)
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
    """Exits in an orderly way after a client has ended the transmission."""

    def peer_ends(self, value: Any) -> None:
        super().peer_ends(value)
        os._exit(0)


@fault("ends-with-a-reset", violates="robustness.next-client", subtle=True)
class EndsWithAReset(Server):
    """Exits in an orderly way after a client has reset its connection."""

    def input_ended(self) -> None:
        if self.stream.broken:
            os._exit(0)
        super().input_ended()


@fault("later-no-magic", violates="handshake.magic-sent", subtle=True)
class LaterNoMagic(Client):
    """Sends no magic in its second connection."""

    def send_magic(self) -> None:
        if self.number == 1:
            super().send_magic()


@fault("later-pings-unanswered", violates="pong.each", subtle=True)
class LaterPingsUnanswered(Client):
    """Answers no pings in its second connection."""

    def send_pong(self, number: int) -> None:
        if self.number == 1:
            super().send_pong(number)


@fault("later-peer-trusted", violates="handshake.closes-different", subtle=True)
class LaterPeerTrusted(Session):
    """Skips all messages before the handshake, from the second connection on."""

    def unexpected(self, frame: Frame) -> None:
        if self.number == 1:
            super().unexpected(frame)


@fault("later-any-magic", violates="handshake.closes-wrong-magic", subtle=True)
class LaterAnyMagic(Session):
    """Accepts any magic, from the second connection on."""

    def acceptable(self, name: str, value: Any) -> bool:
        return (name == MAGIC and self.number > 1) or super().acceptable(name, value)


@fault("later-any-version", violates="handshake.closes-wrong-version", subtle=True)
class LaterAnyVersion(Session):
    """Accepts any version, from the second connection on."""

    def acceptable(self, name: str, value: Any) -> bool:
        return (name == VERSION and self.number > 1) or super().acceptable(name, value)


@fault("later-endless-patience", violates="handshake.closes-silent", subtle=True)
class LaterEndlessPatience(Session):
    """Never drops a peer because of a missing handshake, from the second connection on."""

    def out_of_patience(self) -> None:
        if self.number == 1:
            super().out_of_patience()


@fault("later-halves-lost", violates="frame.segmentation", subtle=True)
class LaterHalvesLost(Session):
    """Loses the first byte of an identifier that arrives alone, from the second connection on."""

    def opened(self) -> None:
        if self.number > 1:
            self.decoder = LosesHalfIdentifiers.Reader()
        super().opened()


@fault("later-closes-upon-unknown", violates="messages.unknown-skipped", subtle=True)
class LaterClosesUponUnknown(Session):
    """Closes the connection after an unknown message, from the second connection on."""

    def skip(self, frame: Frame) -> None:
        if self.number > 1 and frame.name == UNKNOWN:
            self.end("unknown")


@fault("later-no-word-at-the-end", violates="end.announced", subtle=True)
class LaterNoWordAtTheEnd(Session):
    """Closes without an end of transmission, from the second connection on."""

    def announce_end(self, reason: str) -> None:
        if self.number == 1:
            super().announce_end(reason)


@fault("later-no-curve", violates="exercise.curve-first", subtle=True)
class LaterNoCurve(Server):
    """Sends the curve of an exercise only to its first client."""

    def send_curve(self, curve: list[Vector]) -> None:
        if self.number == 1:
            super().send_curve(curve)


@fault("curve-for-one-client", violates="exercise.curve-first", subtle=True)
class CurveForOneClient(Server):
    """Sends the curve of an exercise to one connected client, but its progress to all."""

    there: ClassVar[list[Server]] = []

    def welcome(self) -> None:
        self.there.append(self)
        super().welcome()

    def closed(self) -> None:
        if self in self.there:
            self.there.remove(self)
        super().closed()

    def send_curve(self, curve: list[Vector]) -> None:
        if self.there[0] is self:
            super().send_curve(curve)


@fault("one-buffer-for-all", violates="frame.segmentation", subtle=True)
class OneBufferForAll(Server):
    """Joins the bytes of all clients that are connected at the same time."""

    there: ClassVar[set[Server]] = set()
    buffer: ClassVar[list[Decoder]] = []

    def make_decoder(self) -> Decoder:
        if not self.there:
            self.buffer[:] = [self.Reader()]
        self.there.add(self)
        return self.buffer[0]

    def closed(self) -> None:
        self.there.discard(self)
        super().closed()


@fault("later-no-progress", violates="progress.continuous", subtle=True)
class LaterNoProgress(Server):
    """Sends progress only to its first client."""

    def show(self, state: State) -> None:
        if self.number == 1:
            super().show(state)


@fault("later-curves-unseen", violates="exercise.curve-shown", subtle=True)
class LaterCurvesUnseen(Client):
    """Shows no curve in its second connection."""

    def curve(self, value: Any) -> None:
        if self.number == 1:
            super().curve(value)


@fault("first-curve-ever", violates="exercise.curve-shown", subtle=True)
class FirstCurveEver(Client):
    """Shows only the first curve of all its connections."""

    seen: ClassVar[list[Vector]] = []

    def curve(self, value: Any) -> None:
        if not self.seen:
            self.seen.extend(value["points"])
            super().curve(value)


@fault("one-ends-all", violates="end.received", subtle=True)
class OneEndsAll(Server):
    """Ends the sessions of all clients when one of them ends the transmission."""

    def peer_ends(self, value: Any) -> None:
        super().peer_ends(value)
        self.machine.shut_down("a client has gone")


@fault("stuck-by-one", violates="robustness.next-client", subtle=True)
class StuckByOne(Server):
    """Serves no new client after one client has not read its messages."""

    stuck: ClassVar[list[Server]] = []

    def send_curve(self, curve: list[Vector]) -> None:
        super().send_curve(curve)
        if self.stream.append_to:
            self.stuck.append(self)

    def welcome(self) -> None:
        if not self.stuck:
            super().welcome()
