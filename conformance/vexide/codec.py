"""Read and write the lines of the vexide protocol.

Each line contains one externally tagged JSON value. The decoder is strict. It accepts the same
lines as a Serde reader:

- A line is UTF-8 without a byte order mark and contains one JSON value. Blank lines are errors.
- White space around the value is JSON and is accepted, including a carriage return at the end.
- NaN and infinity are errors, also infinity by overflow (`1e999`).
- A member name must not occur twice in one object.
- An escaped lone surrogate is an error: JSON's grammar allows it, but UTF-8 cannot encode it.
- A value has at most `MAX_DEPTH` levels of nesting, the limit of Serde's JSON reader.
"""

import contextlib
import json
from dataclasses import replace
from math import isinf
from typing import Any, Never

from conformance.codec import Frame

LINES = "framing.json-lines"
TAGGED = "encoding.externally-tagged"

LIMIT = 64 * 1024 * 1024
MAX_DEPTH = 128
SEARCHED = 64 * 1024  # bytes of an unfinished line in which the decoder looks for a first message
KEPT_BYTES = 4096  # bytes of a too long or unreadable line that its frame keeps


class Decoder:
    """Decode one direction of one session.

    A line over `limit` bytes is reported once and skipped.
    """

    def __init__(self, limit: int = LIMIT) -> None:
        self._limit = limit
        self._line = bytearray()  # bytes of the current line, whose newline has not arrived yet
        self._skipping = False

    def feed(self, data: bytes) -> list[Frame]:
        *ends, rest = data.split(b"\n")
        frames: list[Frame] = []
        for end in ends:
            self._take(end, frames)
            if not self._skipping:
                frames.append(_frame(bytes(self._line) + b"\n"))
            self._line.clear()
            self._skipping = False
        self._take(rest, frames)
        return frames

    def end(self) -> list[Frame]:
        line = bytes(self._line)
        self._line.clear()
        if not line:
            return []
        return _frames_of_rest(line)

    def _take(self, data: bytes, frames: list[Frame]) -> None:
        if self._skipping:
            return
        self._line += data
        if len(self._line) > self._limit:
            shown = bytes(self._line[:KEPT_BYTES])
            frames.append(_broken(shown, f"a line of more than {self._limit} bytes", LINES))
            self._line.clear()
            self._skipping = True


def encode(value: Any) -> bytes:
    """Encode a message as a compact line, such as `{"VCodeSig": "…"}`."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.encode() + b"\n"


def name_of(value: Any) -> str | None:
    """Return the tag of a decoded message; None if the value is not externally tagged."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict) and len(value) == 1:
        name: str = next(iter(value))
        return name
    return None


_USUAL = {
    "Handshake": ["version", "extensions"],
    "ConfigureDevice": ["port", "device"],
    "DeviceUpdate": ["port", "status"],
}
"""The fields of messages whose other forms have requirements of their own, in their usual order."""


def label(message: str, value: Any) -> str:
    """Return the label of a message: its name, its variant, and unusual forms.

    A fault with an unusual form is not a fault with the message itself.
    """
    content = value.get(message) if isinstance(value, dict) else None
    if message == "ControllerUpdate" and isinstance(content, dict) and len(content) == 1:
        return f"{message} {next(iter(content))}"[:80]
    if message not in _USUAL:
        return message
    if not isinstance(content, dict) or [*content] != _USUAL[message]:
        return f"{message} with unusual fields"
    inner = content.get("device") or content.get("status")
    if isinstance(value, Escaped):
        return f"{message} with escapes"
    if message == "Handshake":
        return message
    if not (isinstance(inner, dict) and [*inner] == ["Motor"]):
        return f"{message} of an unknown kind"
    if message == "DeviceUpdate" and isinstance(inner["Motor"], dict):
        target = inner["Motor"].get("target_position", "absent")
        return message if isinstance(target, int | float) else f"{message} without a target"
    return message


class Escaped(dict[str, Any]):
    """A decoded message whose line contains escapes, which a faulty reader can misread."""


class _Bad(ValueError):
    """Raised for a line that is not a message, with the violated requirement."""

    def __init__(self, error: str, requirement: str = TAGGED) -> None:
        super().__init__(error)
        self.requirement = requirement


def _frame(raw: bytes) -> Frame:
    if not raw.strip(b" \t\r\n"):
        return _broken(raw, "a blank line", LINES)
    if raw.startswith(b"\xef\xbb\xbf"):
        return _broken(raw, "a line that begins with a byte order mark", LINES)
    try:
        value = _READER.decode(raw.decode())
        _check(raw, value)
        if b"\\" in raw and isinstance(value, dict):
            value = Escaped(value)
    except UnicodeDecodeError as error:
        return _broken(raw, f"not UTF-8: {error.reason} at byte {error.start}", LINES)
    except json.JSONDecodeError as error:
        return _broken(raw, f"not one JSON value: {error.msg} at character {error.pos}", LINES)
    except _Bad as error:
        return _broken(raw, str(error), error.requirement)
    except RecursionError:
        return _broken(raw, _TOO_DEEP, TAGGED)
    name = name_of(value)
    if name is None:
        return _broken(
            raw, f"expected a string or an object with one key; received {_kind(value)}", TAGGED
        )
    return Frame(raw, name, value)


def _frames_of_rest(line: bytes) -> list[Frame]:
    """Return the frames of a line without a newline.

    The first frame is a message if the line begins with one.
    """
    if line.lstrip(b" \t\r")[:1] not in (b"", b"{", b'"'):
        return [Frame(line[:KEPT_BYTES], requirement=LINES)]
    # JSON Lines does not say if the last line of a stream needs a newline.
    if (last := _frame(line)).name:
        return [replace(last, requirement=LINES)]
    with contextlib.suppress(ValueError, RecursionError):
        text = line[:SEARCHED].decode()
        _, end = _READER.raw_decode(text)
        first = _frame(text[:end].encode())
        if first.name:
            second = _broken(
                line[len(first.raw) :], "a message follows another message on the same line", LINES
            )
            return [replace(first, requirement=LINES), second]
    return [_broken(line, "the stream ended inside a line", LINES)]


def _broken(raw: bytes, error: str, requirement: str) -> Frame:
    return Frame(raw, error=error, requirement=requirement)


_TOO_DEEP = f"nested more than {MAX_DEPTH} levels deep"


def _check(raw: bytes, value: Any) -> None:
    """Raise _Bad if the value is nested too deeply or contains a lone surrogate."""
    if raw.count(b"{") + raw.count(b"[") > MAX_DEPTH and _depth(value) > MAX_DEPTH:
        raise _Bad(_TOO_DEEP)
    if b"\\ud" in raw or b"\\uD" in raw:
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise _Bad("a string with a lone surrogate") from None


def _depth(value: Any) -> int:
    depth = 0
    level = [value]
    while level := [item for item in level if isinstance(item, (dict, list))]:
        depth += 1
        level = [
            child for item in level for child in (item.values() if isinstance(item, dict) else item)
        ]
    return depth


def _kind(value: Any) -> str:
    if isinstance(value, dict):
        return f"an object of {len(value)} members"
    return {list: "an array", bool: "a boolean", type(None): "null"}.get(type(value), "a number")


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise _Bad(f"the member {twice[:64]!r} occurs twice in one object")
    return members


def _integer(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise _Bad(f"an integer of {len(text)} digits") from None


def _float(text: str) -> float:
    value = float(text)
    if isinf(value):
        raise _Bad(f"the number {text[:64]} does not fit a float")
    return value


def _constant(text: str) -> Never:
    raise _Bad(f"not one JSON value: JSON does not allow {text}", LINES)


_READER = json.JSONDecoder(
    object_pairs_hook=_members,
    parse_int=_integer,
    parse_float=_float,
    parse_constant=_constant,
)
