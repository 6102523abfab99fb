"""Reads and writes the messages of the runtime's sockets: MessagePack objects back to back.

The decoded form is plain JSON. An object with one member, whose name begins with a dollar sign,
represents each MessagePack value that JSON cannot express:

- `{"$bin": "00ff"}`: bytes, in hex
- `{"$ext": [5, "00ff"]}`: an extension type, with its number and its bytes in hex
- `{"$float": "nan"}`: nan, inf or -inf
- `{"$raw": "ff"}`: a str that is not UTF-8, in hex
- `{"$map": [[1, "one"]]}`: a map with a repeated key, a key that is not a string, or a key that
  begins with a dollar sign

All encodings of one value have the same decoded form. The module `shapes` recognises a message by
its shape.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import msgpack

from conformance.codec import Frame
from conformance.runtime import dialects, objects
from conformance.runtime.objects import Ending, Malformed
from conformance.runtime.shapes import mark, name

IDS = 2**32
"""Number of different ids: an id is an unsigned integer of 32 bits."""

_ESCAPED = "surrogateescape"
_PLAIN = {int, bool, type(None)}


class Decoder:
    """Decodes one direction of one stream, or of one datagram.

    The function `read` can change each frame before it is returned. `lost` is the reason why
    decoding has stopped, or empty.
    """

    def __init__(self, read: Callable[[Frame], Frame] = lambda frame: frame) -> None:
        self._standard = read
        self._held = bytearray()
        self._ending = Ending()
        self.lost = ""

    def feed(self, data: bytes) -> list[Frame]:
        """Decode the next bytes. After an unreadable object, all further bytes are errors."""
        if self.lost:
            return [Frame(data, error="bytes after data that is not MessagePack")]
        self._held += data
        frames = []
        try:
            while self._held and (end := self._ending.find(self._held)) is not None:
                frames.append(self._standard(_frame(bytes(self._held[:end]))))
                del self._held[:end]
                self._ending = Ending()
        except Malformed as error:
            self.lost = str(error)
            frames.append(Frame(bytes(self._held), error=self.lost))
            self._held.clear()
        return frames

    def end(self) -> list[Frame]:
        rest = bytes(self._held)
        self._held.clear()
        return [Frame(rest, error="the stream ended within an object")] if rest else []


def decoder(party: str) -> Decoder:
    """Return the decoder for the messages of one side, with its known dialects."""
    read = dialects.READERS.get(party)
    return Decoder(read) if read else Decoder()


def encode(value: Any) -> bytes:
    """Return the shortest encoding of a decoded form, with floats of double precision."""
    packer = msgpack.Packer(autoreset=False, unicode_errors=_ESCAPED)
    _pack(packer, value)
    packed: bytes = packer.bytes()
    return packed


def place(data: bytes, path: Sequence[str | int]) -> tuple[int, int] | None:
    """Return the byte range of a member, given its path in the decoded form."""
    return objects.place(data, path)


def is_request(value: Any) -> bool:
    """Return True for a request that a server has to answer."""
    return (
        isinstance(value, list)
        and len(value) == 4
        and type(value[1]) is int
        and 0 <= value[1] < IDS
        and isinstance(value[2], str)
        and isinstance(value[3], list)
    )


def is_notification(value: Any) -> bool:
    """Return True for a notification in the form that MessagePack-RPC defines."""
    return len(value) == 3 and isinstance(value[1], str) and isinstance(value[2], list)


def label(message: str, value: Any) -> str:
    """Return the kind of a message for the report.

    The kind of a call is its method with the types of its arguments. The kind of a response says
    if it has an error. `message` is the name of the message.
    """
    match message:
        case "Request" if is_request(value):
            return f"Request {value[2]}({_types(value[3])})"
        case "Notification" if is_notification(value):
            return f"Notification {value[1]}({_types(value[2])})"
        case "Response" if len(value) == 4 and value[2] is not None:
            return "Response with an error"
        case "Object":
            return f"Object of type {type(value).__name__}"
    return message


def _types(arguments: Sequence[Any]) -> str:
    """Return the types of arguments in words; a long list is cut."""
    names = [mark(each) or type(each).__name__ for each in arguments[:4]]
    return ", ".join([*names, *(["…"] if len(arguments) > 4 else [])])


def _frame(raw: bytes) -> Frame:
    try:
        value = _decode(
            msgpack.unpackb(
                raw, strict_map_key=False, object_pairs_hook=_Pairs, unicode_errors=_ESCAPED
            )
        )
    except ValueError as error:
        return Frame(raw, error=f"an object that cannot be decoded: {error}")
    return Frame(raw, name(value), value)


class _Pairs(list[Any]):
    """A map as a list of its pairs, in the order of the bytes."""


def _decode(value: Any) -> Any:
    if isinstance(value, _Pairs):
        pairs = [[_decode(key), _decode(entry)] for key, entry in value]
        keys = [key for key, _ in pairs]
        plain = all(isinstance(key, str) and not key.startswith("$") for key in keys)
        return dict(pairs) if plain and len(set(keys)) == len(keys) else {"$map": pairs}
    if isinstance(value, list):
        return value[:] if _is_plain(value) else [_decode(entry) for entry in value]
    if isinstance(value, bytes):
        return {"$bin": value.hex()}
    if isinstance(value, str):
        return value if value.isascii() else _text(value)
    if isinstance(value, float) and not math.isfinite(value):
        return {"$float": str(value)}
    if isinstance(value, msgpack.Timestamp):
        return {"$ext": [-1, value.to_bytes().hex()]}
    if isinstance(value, msgpack.ExtType):
        return {"$ext": [value.code, value.data.hex()]}
    return value


def _is_plain(values: list[Any]) -> bool:
    """Return True if every value has the same decoded form as msgpack's, as in long lists."""
    return {*map(type, values)} <= _PLAIN


def _text(value: str) -> Any:
    try:
        value.encode()
    except UnicodeEncodeError:
        return {"$raw": value.encode(errors=_ESCAPED).hex()}
    return value


def _pack(packer: msgpack.Packer, value: Any) -> None:
    if isinstance(value, list) and _is_plain(value):
        packer.pack(value)
    elif isinstance(value, list):
        packer.pack_array_header(len(value))
        for entry in value:
            _pack(packer, entry)
    elif marked := mark(value):
        _pack_marked(packer, marked, value[marked])
    elif isinstance(value, dict):
        _pack_pairs(packer, list(value.items()))
    else:
        packer.pack(value)


def _pack_pairs(packer: msgpack.Packer, pairs: Any) -> None:
    packer.pack_map_header(len(pairs))
    for pair in pairs:
        for part in pair:
            _pack(packer, part)


def _pack_marked(packer: msgpack.Packer, marked: str, content: Any) -> None:
    match marked:
        case "$map":
            _pack_pairs(packer, content)
        case "$ext":
            code, data = content
            packer.pack_ext_type(code, bytes.fromhex(data))
        case "$float":
            packer.pack(float(content))
        case "$raw":
            packer.pack(bytes.fromhex(content).decode(errors=_ESCAPED))
        case _:
            packer.pack(bytes.fromhex(content))
