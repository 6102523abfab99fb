"""Read and write frames of the toy protocol: a length byte, then big-endian fields.

The schema of a message lists its fields and their formats (`x-wire`).
"""

import struct
from typing import Any

from conformance.codec import Frame
from conformance.definitions import protocols

_FORMATS = {"u8": "B", "u16": "H"}


class _Layout:
    """The fields of one message on the wire."""

    def __init__(self, name: str, schema: Any) -> None:
        self.name = name
        self.kind: int = schema["properties"]["kind"]["const"]
        self.fields = [field for field, _ in schema["x-wire"]]
        self.form = struct.Struct(">" + "".join(_FORMATS[form] for _, form in schema["x-wire"]))


def _layouts() -> dict[int, _Layout]:
    protocol = protocols.load("toy")
    layouts = [
        _Layout(message.name, protocol.schemas.schema(message.schema).contents)
        for message in protocol.messages.values()
    ]
    return {layout.kind: layout for layout in layouts}


_LAYOUTS = _layouts()


class Decoder:
    """Decodes one direction of one stream. Stores at most one frame of 256 bytes."""

    def __init__(self) -> None:
        self._held = b""

    def feed(self, data: bytes) -> list[Frame]:
        self._held += data
        frames = []
        while self._held and len(self._held) > self._held[0]:
            size = 1 + self._held[0]
            frames.append(_frame(self._held[:size]))
            self._held = self._held[size:]
        return frames

    def end(self) -> list[Frame]:
        rest, self._held = self._held, b""
        return [Frame(rest, error="the stream ended inside a frame")] if rest else []


def encode(value: Any) -> bytes:
    """Return the frame of a message."""
    layout = _LAYOUTS[value["kind"]]
    return bytes([layout.form.size]) + layout.form.pack(*(value[field] for field in layout.fields))


def _frame(raw: bytes) -> Frame:
    layout = _LAYOUTS.get(raw[1]) if len(raw) > 1 else None
    if layout is None:
        return Frame(raw, error="a frame of no known kind")
    size = layout.form.size
    if len(raw) != 1 + size:
        return Frame(raw, error=f"{size} bytes were expected in a {layout.name}, {raw[0]} came")
    fields = layout.form.unpack(raw[1:])
    return Frame(raw, layout.name, dict(zip(layout.fields, fields, strict=True)))
