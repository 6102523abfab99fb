"""Variants of the handshake, as sent and as accepted."""

import asyncio
from functools import partial
from typing import Any

from conformance.codec import Frame
from mocks.deltarobot.client import Client
from mocks.deltarobot.server import Server
from mocks.deltarobot.session import MAGIC, VERSION, Session
from mocks.deviations import variant
from mocks.streams import Stream


@variant("version-first", of="handshake.first")
class VersionFirst(Session):
    """Sends its version before its magic."""

    def greet(self) -> None:
        self.send_version()
        self.send_magic()


@variant("looks-first", of="handshake.magic-sent")
class LooksFirst(Client):
    """Tests if a server listens, by a connection that it closes, before it connects."""

    async def connect(self, address: str) -> Stream:
        await (await super().connect(address)).closed()
        return await super().connect(address)


@variant("in-pieces", of="frame.segmentation")
class InPieces(Session):
    """Writes each byte of its handshake separately."""

    def opened(self) -> None:
        self.unwritten, self.greeting = b"", True
        super().opened()
        self.next_byte(len(self.unwritten))

    def write(self, data: bytes) -> None:
        if self.greeting:
            self.unwritten += data
        else:
            super().write(data)

    def next_byte(self, of_handshake: int) -> None:
        if not of_handshake:
            self.write_rest()
            return
        self.stream.write(self.unwritten[:1])
        self.unwritten = self.unwritten[1:]
        self.call_later(0.001, partial(self.next_byte, of_handshake - 1))

    def write_rest(self) -> None:
        self.greeting = False
        if self.unwritten and not self.ended:
            self.stream.write(self.unwritten)

    def close(self, why: str = "") -> None:
        if self.greeting:
            self.write_rest()
        super().close(why)


@variant("listens-first", of="handshake.unasked")
class ListensFirst(Session):
    """Waits for the peer's first message before it sends its own handshake."""

    greeted = False

    def greet(self) -> None:
        pass

    def take(self, frame: Frame) -> None:
        if not self.greeted:
            self.greeted = True
            super().greet()
        super().take(frame)

    def refuse(self, why: str) -> None:
        # No message can precede the handshake, not even an end of transmission.
        if self.greeted:
            super().refuse(why)
        else:
            self.close()


@variant("insists-on-the-order", of="handshake.either-order")
class InsistsOnTheOrder(Session):
    """Closes the connection if the version comes before the magic."""

    def handshake(self, frame: Frame) -> None:
        if frame.name == VERSION and MAGIC in self.missing:
            self.refuse("the version came before the magic")
        else:
            super().handshake(frame)


@variant("any-magic", of="handshake.closes-wrong-magic")
class AnyMagic(Session):
    """Accepts a magic of any value."""

    def acceptable(self, name: str, value: Any) -> bool:
        return name == MAGIC or super().acceptable(name, value)


@variant("any-version", of="handshake.closes-wrong-version")
class AnyVersion(Session):
    """Accepts any version."""

    def acceptable(self, name: str, value: Any) -> bool:
        return name == VERSION or super().acceptable(name, value)


@variant("refuses-without-a-word", of="handshake.closes-different")
class RefusesWithoutAWord(Session):
    """Closes the connection without a reason after a wrong handshake."""

    def refuse(self, why: str) -> None:
        self.close()


@variant("serves-at-once", of="handshake.before-service")
class ServesAtOnce(Server):
    """Sends pings and the exercise without waiting for the client's handshake."""

    def opened(self) -> None:
        super().opened()
        super().welcome()

    def welcome(self) -> None:
        pass


@variant("one-client-at-a-time", of="robustness.simultaneous-clients")
class OneClientAtATime(Server):
    """Closes a connection at once while there is another client."""

    busy = False

    async def run(self, stream: Stream) -> None:
        if OneClientAtATime.busy:
            await stream.closed()
            return
        OneClientAtATime.busy = True
        try:
            await super().run(stream)
        finally:
            OneClientAtATime.busy = False


@variant("busy-for-a-moment", of="robustness.simultaneous-clients")
class BusyForAMoment(Server):
    """Ends the transmission to the next client until it notices the disconnect of the last."""

    busy = False

    async def run(self, stream: Stream) -> None:
        self.refused = BusyForAMoment.busy
        BusyForAMoment.busy = True
        try:
            await super().run(stream)
        finally:
            if not self.refused:
                asyncio.get_running_loop().call_later(0.1, self.notice)

    def opened(self) -> None:
        super().opened()
        if self.refused:
            self.end("busy")

    def notice(self) -> None:
        BusyForAMoment.busy = False


@variant("connects-once", of="roles.connection")
class ConnectsOnce(Client):
    """Does not connect again after its first connection."""

    def pause(self, again: float | None) -> float | None:
        return None
