"""The common part of both vexide mocks: read lines and dispatch messages in a session.

A mock declares the messages that it reads (`INCOMING`) and its method for each message
(`HANDLERS`). It reports and ignores unusable input; each kind has a method of its own.
"""

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

from conformance import codec
from conformance.codec import Frame
from conformance.vexide.codec import Decoder, encode
from mocks import session
from mocks.shapes import OneOf, Unfit, read


class Session(session.Session):
    """A side of a session; `run` plays the session on a stream."""

    INCOMING: ClassVar[OneOf]
    HANDLERS: ClassVar[Mapping[str, str]]

    def __init__(self) -> None:
        super().__init__()
        self.handshaken = False

    def make_decoder(self) -> codec.Decoder:
        return Decoder()

    def take(self, frame: Frame) -> None:
        if frame.name == "Handshake":
            self.handshake(frame.value)
        elif not self.handshaken:
            self.stream.tell("ignored", f"a message before the handshake: {frame.raw[:80]!r}")
        elif frame.name is None:
            self.malformed(frame)
        elif frame.name not in self.HANDLERS:
            self.unknown(frame.name)
        else:
            self.message(frame.name, frame.value)

    def message(self, name: str, value: Any) -> None:
        strange: list[str] = []
        try:
            _, content = read(self.INCOMING, value, strange)
        except Unfit as error:
            self.unusable(name, error)
            return
        if strange:
            self.report_unknown_fields(name, strange)
        self.handle(name, content)

    def handle(self, name: str, content: Any) -> None:
        getattr(self, self.HANDLERS[name])(content)

    def handshake(self, value: Any) -> None:
        if self.handshaken:
            self.second_handshake()
            return
        strange: list[str] = []
        try:
            _, content = read(self.INCOMING, value, strange)
        except Unfit as error:
            self.unusable_handshake(error)
            return
        self.handle_handshake(content, strange)

    @abstractmethod
    def handle_handshake(self, content: dict[str, Any], strange: list[str]) -> None:
        """Handle the peer's Handshake; its unknown fields, `strange`, have no meaning."""

    @abstractmethod
    def unusable_handshake(self, error: Unfit) -> None:
        """Handle a Handshake of the peer that is not usable."""

    @abstractmethod
    def complain(self, text: str) -> None:
        """Report ignored input to the user or the peer."""

    def malformed(self, frame: Frame) -> None:
        self.complain(f"a line was ignored: {frame.error}")

    def unknown(self, name: str) -> None:
        self.complain(f"a message of the unknown name {name[:64]!r} was ignored")

    def unusable(self, name: str, error: Unfit) -> None:
        self.complain(f"{name} was ignored: {error}")

    def report_unknown_fields(self, name: str, fields: list[str]) -> None:
        self.complain(f"unknown fields of {name} were ignored: {', '.join(fields)[:200]}")

    def second_handshake(self) -> None:
        self.complain("a second Handshake was ignored")

    def send(self, message: Any) -> None:
        self.write(encode(message))
