"""Variants of the handshake, as sent and as accepted."""

import asyncio
from functools import partial

from conformance.codec import Frame
from mocks.deltarobot.client import Client
from mocks.deltarobot.server import Server
from mocks.deltarobot.session import MAGIC, VERSION, Session
from mocks.deviations import Table, Variant, variant
from mocks.steps import Change, always, before, instead, look, skip, then
from mocks.streams import Stream


def _version_first(session: Session) -> None:
    session.send_version()
    session.send_magic()


def _refuse_order(session: Session, frame: Frame) -> None:
    session.refuse("the version came before the magic")


def _is_version_before_magic(session: Session, frame: Frame) -> bool:
    return frame.name == VERSION and MAGIC in session.missing


def accepts_any(accepted: str) -> Change:
    """Accept a message of the handshake with any value."""
    return instead("acceptable", always, lambda _, name, value: name == accepted)


EITHER = Table(Session)

EITHER["handshake.first"] = {
    "version-first": Variant(
        "Sends its version before its magic.", instead("greet", _version_first)
    ),
}

EITHER["handshake.either-order"] = {
    "insists-on-the-order": Variant(
        "Closes the connection if the version comes before the magic.",
        instead("handshake", _refuse_order, _is_version_before_magic),
    ),
}

EITHER["handshake.closes-wrong-magic"] = {
    "any-magic": Variant("Accepts a magic of any value.", accepts_any(MAGIC)),
}

EITHER["handshake.closes-wrong-version"] = {
    "any-version": Variant("Accepts any version.", accepts_any(VERSION)),
}

EITHER["handshake.closes-different"] = {
    "refuses-without-a-word": Variant(
        "Closes the connection without a reason after a wrong handshake.",
        instead("refuse", "close"),
    ),
}

OF_CLIENT = Table(Client)

OF_CLIENT["handshake.magic-sent"] = {
    "looks-first": Variant(
        "Tests if a server listens, by a connection that it closes, before it connects.",
        before("connect", look),
    ),
}

OF_CLIENT["roles.connection"] = {
    "connects-once": Variant("Does not connect again after its first connection.", skip("pause")),
}

OF_SERVER = Table(Server)

OF_SERVER["handshake.before-service"] = {
    "serves-at-once": Variant(
        "Sends pings and the exercise without waiting for the client's handshake.",
        then("opened", Server.welcome),
        skip("welcome"),
    ),
}


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
