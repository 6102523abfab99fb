"""Decode and encode websocket messages after an HTTP upgrade (RFC 6455), with wsproto."""

import base64
from collections.abc import Iterator, Mapping
from typing import Any

from wsproto.frame_protocol import CloseReason, FrameProtocol, Opcode, ParseFailed

from conformance.codec import Frame
from conformance.openroberta import message_names
from conformance.openroberta.bodies import json_object

_REQUIREMENT = "http.messages"
_OPCODES = {
    Opcode.TEXT: "text",
    Opcode.BINARY: "binary",
    Opcode.CLOSE: "close",
    Opcode.PING: "ping",
    Opcode.PONG: "pong",
}

OTHER = "WebsocketMessage"


def encode(value: Mapping[str, Any], content: bytes) -> bytes:
    """Return the bytes of one message; `masked` is true for messages of a client."""
    writer = FrameProtocol(client=bool(value["masked"]), extensions=[])
    match value["opcode"]:
        case "text":
            return bytes(writer.send_data(content.decode()))
        case "binary":
            return bytes(writer.send_data(content))
        case "ping":
            return bytes(writer.ping(content))
        case "pong":
            return bytes(writer.pong(content))
        case "close":
            return bytes(writer.close(CloseReason.NORMAL_CLOSURE))
    raise ValueError(f"expected an opcode; received {value['opcode']!r}")


class Decoder:
    """Decoder for one direction of a websocket."""

    def __init__(self, *, from_client: bool, limit: int) -> None:
        self._from_client = from_client
        self._limit = limit
        self._reader = FrameProtocol(client=not from_client, extensions=[])
        self._pending = b""  # the bytes of an incomplete frame
        self._raw = b""  # the bytes of the current message, which can consist of several frames
        self._body = b""
        self.lost = ""

    def feed(self, data: bytes) -> list[Frame]:
        return list(self._frames(data))

    def _frames(self, data: bytes) -> Iterator[Frame]:
        self._pending += data
        while not self.lost and (size := _size(self._pending)) is not None:
            if max(size, len(self._raw)) > self._limit:
                self.lost = "a message too large to decode"
                yield Frame(self._pending[:200], message_names.OVERSIZED, {"bytes": size})
            if self.lost or len(self._pending) < size:
                return
            frame, self._pending = self._pending[:size], self._pending[size:]
            yield from self._message(frame)

    def _message(self, data: bytes) -> Iterator[Frame]:
        try:
            self._reader.receive_bytes(data)
            for part in self._reader.received_frames():
                if part.opcode is Opcode.CLOSE:
                    yield self._frame("close", data, b"")
                    continue
                payload: Any = part.payload
                body = payload.encode() if isinstance(payload, str) else bytes(payload)
                if part.opcode.iscontrol():
                    # A control frame can come between the frames of a message.
                    yield self._frame(_OPCODES[part.opcode], data, body)
                    continue
                self._raw += data
                self._body += body
                if part.message_finished:
                    yield self._frame(_OPCODES[part.opcode], self._raw, self._body)
                    self._raw = self._body = b""
        except ParseFailed as error:
            self.lost = f"expected a websocket frame; {error}"
            yield Frame(self._raw + data, error=self.lost, requirement=_REQUIREMENT)

    def _frame(self, opcode: str, raw: bytes, body: bytes) -> Frame:
        value: dict[str, Any] = {"opcode": opcode, "masked": self._from_client}
        data = json_object(body) if opcode == "text" else None
        if data is not None:
            value["json"] = data
        elif body:
            value["base64"] = base64.b64encode(body).decode()
        name = "SensorFrame" if opcode == "text" and self._from_client else OTHER
        return Frame(raw, name, value)

    def end(self) -> list[Frame]:
        # A peer can end a websocket without a close frame.
        return []


def _size(data: bytes) -> int | None:
    """Return the size in bytes of the frame that begins here; None if its head is incomplete."""
    if len(data) < 2:
        return None
    length, masked = data[1] & 0x7F, bool(data[1] & 0x80)
    extended = {126: 2, 127: 8}.get(length, 0)
    if len(data) < 2 + extended:
        return None
    if extended:
        length = int.from_bytes(data[2 : 2 + extended], "big")
    return 2 + extended + (4 if masked else 0) + length
