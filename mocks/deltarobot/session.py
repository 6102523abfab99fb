"""The common part of both deltarobot mocks: handshake, dispatch of messages, end.

A mock names its method for each message that it understands (`HANDLERS`), and skips all other
messages. Each behaviour that a fault can change is a method of its own.
"""

import asyncio
from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from conformance import codec
from conformance.codec import Frame
from conformance.deltarobot.codec import Decoder, encode, message
from mocks import session

MAGIC, VERSION, END = "ProtocolMagic", "ProtocolVersion", "EndOfTransmission"

HANDSHAKE: dict[str, Any] = {
    MAGIC: message(MAGIC, magic="DeltaRVr"),
    VERSION: message(VERSION, version=1),
}


class Session(session.Session):
    """A side of a connection; `run` plays it on a stream. `number` counts from 1."""

    HANDLERS: ClassVar[Mapping[str, str]]

    def __init__(self, patience: float, number: int = 1) -> None:
        """`patience` is the time in seconds that the peer has for its handshake."""
        super().__init__()
        self.patience = patience
        self.number = number
        self.missing = {MAGIC, VERSION}  # messages of the peer's handshake that have not arrived
        self._timers: list[asyncio.TimerHandle] = []

    def make_decoder(self) -> codec.Decoder:
        return Decoder()

    def call_later(self, seconds: float, action: Callable[[], None]) -> None:
        """Run this action after a delay, unless the session has ended by then."""
        loop = asyncio.get_running_loop()
        self._timers = [timer for timer in self._timers if timer.when() > loop.time()]
        self._timers.append(loop.call_later(seconds, action))

    # Sending

    def send(self, value: Any) -> None:
        self.write(encode(value))

    # The handshake

    @property
    def shaken(self) -> bool:
        return not self.missing

    def opened(self) -> None:
        self.greet()
        self.call_later(self.patience, self.out_of_patience)

    def greet(self) -> None:
        self.send_magic()
        self.send_version()

    def send_magic(self) -> None:
        self.send(HANDSHAKE[MAGIC])

    def send_version(self) -> None:
        self.send(HANDSHAKE[VERSION])

    def out_of_patience(self) -> None:
        if not self.shaken:
            self.refuse(f"no handshake within {self.patience:g} s")

    def handshake(self, frame: Frame) -> None:
        name = frame.name or ""
        if name not in self.missing:
            self.unexpected(frame)
        elif not self.acceptable(name, frame.value):
            self.refuse(f"{name} is {frame.value}")
        else:
            self.missing.discard(name)
            if self.shaken:
                self.stream.tell("agreed", "the handshake is complete")
                self.welcome()

    def acceptable(self, name: str, value: Any) -> bool:
        return bool(value == HANDSHAKE[name])

    def unexpected(self, frame: Frame) -> None:
        """Handle another message that arrives before the handshake is complete."""
        self.refuse(f"{frame.name} came before the handshake was complete")

    def refuse(self, why: str) -> None:
        self.end(f"handshake failed: {why}")

    @abstractmethod
    def welcome(self) -> None:
        """Start the service; the peer's handshake is complete."""

    # Receiving

    def take(self, frame: Frame) -> None:
        if frame.name is None:
            self.undecodable(frame)
        elif not self.shaken:
            self.handshake(frame)
        elif frame.name in self.HANDLERS:
            self.handle(frame.name, frame.value)
        else:
            self.skip(frame)

    def handle(self, name: str, value: Any) -> None:
        getattr(self, self.HANDLERS[name])(value)

    def skip(self, frame: Frame) -> None:
        """Ignore a message that has no handler."""

    def undecodable(self, frame: Frame) -> None:
        self.end(frame.error or "bytes that are not a message")

    # The end

    def end(self, reason: str) -> None:
        """End the connection in an orderly way."""
        if not self.ended:
            self.announce_end(reason)
            self.close(reason)

    def announce_end(self, reason: str) -> None:
        printable = reason.encode("ascii", "replace").decode("ascii")
        self.send(message(END, reason=printable))

    def peer_ends(self, value: Any) -> None:
        self.close(f"the peer ends: {value['reason'][:200]!r}")

    def input_ended(self) -> None:
        self.close("the peer has gone without its end of transmission")

    def close(self, why: str = "") -> None:
        """Close the connection; bytes already sent are still delivered."""
        if not self.ended:
            self.ended = True
            self.closed()
        for timer in self._timers:
            timer.cancel()
        self.stream.close(why)

    async def leave(self) -> None:
        self.close()
        await super().leave()

    def closed(self) -> None:
        """Release the resources of the session, which has just ended."""
