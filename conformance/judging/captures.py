"""Read and write captures: files with a header line and one event a line."""

import base64
import binascii
import contextlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from conformance.atomic_files import replacement_file
from conformance.codec import Frame
from conformance.exits import WrongUsage

VERSION = 1
ORIGINS = ("golden", "recorded", "counterexample")

LEFT_OUT = "left out"
"""The event that replaces omitted events; its details have their number and their bytes."""

LATEST = 1e12  # seconds that an event can be from the beginning: more than a computer lives
_MAX_HEX = 1024  # bytes: longer hex is not readable, so Base64 is used
_BLANKS = str.maketrans("\t\r\n", "   ")


class CaptureError(WrongUsage):
    """A capture file that cannot be read. The text names the file, the line and the error."""


@dataclass(frozen=True, slots=True)
class Event:
    """An event of a session.

    ``at`` is in seconds since the session began; ``sender`` is the role that caused the event.
    ``data`` holds the exact bytes of one write. If these bytes are exactly one message, ``message``
    and ``value`` describe it; if they are several whole messages, ``messages`` has each name and
    value. Without ``data``, ``event`` names the event: connected, closed, exited. ``connection``
    counts from 1; it is None if the session has a single connection.
    """

    at: float
    sender: str | None
    data: bytes | None = None
    message: str | None = None
    value: Any = None
    event: str | None = None
    details: Mapping[str, Any] = field(default_factory=dict)
    connection: int | None = None
    messages: tuple[tuple[str, Any], ...] = ()

    def to_json(self) -> dict[str, Any]:
        line: dict[str, Any] = {"at": round(self.at, 6)}
        if self.connection is not None:
            line["connection"] = self.connection
        if self.sender is not None:
            line["from"] = self.sender
        if self.event is not None:
            return {**line, "event": self.event, **self.details}
        if self.data is not None:
            line |= _bytes_to_json(self.data)
        if self.message is not None:
            line |= {"message": self.message, "value": self.value}
        if self.messages:
            line["messages"] = [{"message": name, "value": value} for name, value in self.messages]
        return {**line, **self.details}

    def is_gap_of(self, connection: int | None) -> bool:
        """Return whether this event replaces omitted events of that connection.

        An event that names no connections replaces events of all of them.
        """
        return self.event == LEFT_OUT and connection in self.details.get(
            "connections", [connection]
        )


@dataclass(frozen=True, slots=True)
class Capture:
    """A whole capture; header members other than the fixed ones are in ``extra``."""

    protocol: str
    title: str
    origin: str
    requirements: tuple[str, ...]
    events: tuple[Event, ...]
    extra: Mapping[str, Any] = field(default_factory=dict)

    @property
    def iut(self) -> str | None:
        """The role under test, or None if the header names no role."""
        return self.extra.get("iut")

    @property
    def connections(self) -> tuple[int | None, ...]:
        """The numbers of the connections, in the order of their first events."""
        events = (event for event in self.events if event.event != LEFT_OUT)
        return tuple(dict.fromkeys(event.connection for event in events)) or (None,)

    def only_connection(self, connection: int | None) -> "Capture":
        """Return a capture with the events of one connection.

        A violation is kept only if its offending event belongs to this connection.
        """
        places = [
            n
            for n, event in enumerate(self.events)
            if event.connection == connection or event.is_gap_of(connection)
        ]
        extra = dict(self.extra)
        if (wrong := extra.get("offending")) in places:
            extra["offending"] = places.index(wrong)
        elif wrong is not None:
            gone = ("offending", "expected", "concluded")
            extra = {key: extra[key] for key in extra if key not in gone}
        return replace(self, events=tuple(self.events[n] for n in places), extra=extra)

    def instance(self, connection: int | None) -> int:
        """The number of the IUT's instance that served a connection; 1 if there was only one."""
        events = (event for event in self.events if event.connection == connection)
        return next((int(e.details["instance"]) for e in events if "instance" in e.details), 1)

    @property
    def gaps(self) -> tuple[int, ...]:
        """The indices of the events that replace omitted events."""
        return tuple(n for n, event in enumerate(self.events) if event.event == LEFT_OUT)

    def cut(self, index: int) -> bool:
        """Return whether events of this event's connection were omitted before it."""
        connection = self.events[index].connection
        return any(gap < index and self.events[gap].is_gap_of(connection) for gap in self.gaps)

    @property
    def transport(self) -> str:
        """The transport of the session; empty if the first event does not name a transport."""
        begun = (event for event in self.events if event.event == "connected")
        return next((str(event.details.get("transport", "")) for event in begun), "")


def end_details(reset: bool) -> dict[str, Any]:
    """Return the details of the end of a side.

    After a reset, the side can have left the last bytes sent to it unread.
    """
    return {"reset": True} if reset else {}


def with_messages(event: Event, frames: Sequence[Frame]) -> Event:
    """Return the event with its message or messages, if its bytes are exactly these frames."""
    messages = tuple((frame.name, frame.value) for frame in frames if frame.name is not None)
    whole = len(messages) == len(frames) and b"".join(each.raw for each in frames) == event.data
    if not whole or not messages or event.message is not None:
        return event
    if len(messages) > 1:
        return replace(event, messages=messages)
    return replace(event, message=messages[0][0], value=messages[0][1])


def read(path: Path) -> Capture:
    """Read a capture file. Raises CaptureError."""
    try:
        # JSON strings can contain separators that splitlines would treat as line ends.
        lines = path.read_text(encoding="utf-8").split("\n")
    except OSError as error:
        raise CaptureError(f"{path}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        what = "neither a capture, nor packets (pcap, pcapng), nor a HAR"
        raise CaptureError(f"{path}: not UTF-8 at byte {error.start}: {what}") from error
    if not lines[0].strip():
        raise CaptureError(f"{path}: empty; the first line of a capture is its header")
    begun = header(path, lines[0])
    events = tuple(
        event(path, number, line) for number, line in enumerate(lines[1:], 2) if line.strip()
    )
    return replace(begun, events=events)


def header(path: Path, line: str) -> Capture:
    """Parse the first line of a file as a capture without events. Raises CaptureError."""
    members = _object(path, 1, line)
    if members.get("capture") != VERSION:
        raise CaptureError(f'{path}:1: no capture: the first line must have "capture": {VERSION}')
    for key, kind in (("protocol", str), ("title", str), ("origin", str)):
        if not isinstance(members.get(key), kind):
            raise CaptureError(f"{path}:1: the header needs {key!r}, a string")
    names = members.get("requirements", [])
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise CaptureError(f"{path}:1: 'requirements' must be a list of ids")
    if not isinstance(members.get("iut"), str | None):
        raise CaptureError(f"{path}:1: 'iut' must be a role")
    fixed = ("capture", "protocol", "title", "origin", "requirements")
    return Capture(
        protocol=members["protocol"],
        title=members["title"],
        origin=members["origin"],
        requirements=tuple(names),
        events=(),
        extra={key: value for key, value in members.items() if key not in fixed},
    )


class Writer:
    """Write a capture file event by event; create its folder if needed."""

    def __init__(
        self,
        path: Path,
        protocol: str,
        title: str,
        extra: Mapping[str, Any] | None = None,
        origin: str = "recorded",
        requirements: Sequence[str] = (),
    ) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._open(path, "w")
        self._file.write(_line(_header(protocol, title, origin, requirements, extra or {})))

    @classmethod
    def append_to(cls, path: Path) -> "Writer":
        """Continue a file that already has its header."""
        writer = cls.__new__(cls)
        writer._open(path, "a")
        return writer

    def _open(self, path: Path, mode: str) -> None:
        self.events = 0
        self._file = path.open(mode, encoding="utf-8")

    def add(self, event: Event) -> int:
        """Write an event; return its index."""
        self._file.write(_line(event.to_json()))
        self.events += 1
        return self.events - 1

    def flush(self) -> None:
        """Make everything written so far visible to readers of the file."""
        self._file.flush()

    def close(self) -> None:
        self._file.close()


def _header(
    protocol: str,
    title: str,
    origin: str,
    requirements: Sequence[str],
    extra: Mapping[str, Any],
) -> dict[str, Any]:
    """Return the first line of a capture file."""
    return {
        "capture": VERSION,
        "protocol": protocol,
        "title": title,
        "origin": origin,
        "requirements": list(requirements),
        **extra,
    }


def _line(line: Mapping[str, Any]) -> str:
    # Escape to ASCII: an IUT can send text that the file's encoding cannot hold.
    return json.dumps(line) + "\n"


def write(path: Path, capture: Capture) -> None:
    """Write a capture file as a whole; create its folder if needed. Raises OSError."""
    header = _header(
        capture.protocol, capture.title, capture.origin, capture.requirements, capture.extra
    )
    with replacement_file(path) as file:
        for line in (header, *(event.to_json() for event in capture.events)):
            file.write(_line(line).encode("ascii"))


def _bytes_to_json(data: bytes) -> dict[str, str]:
    """Return readable text as text, other bytes as hex, and long ones as Base64."""
    with contextlib.suppress(UnicodeDecodeError):
        text = data.decode("utf-8")
        if text.translate(_BLANKS).isprintable():
            return {"text": text}
    if len(data) > _MAX_HEX:
        return {"base64": base64.b64encode(data).decode("ascii")}
    return {"hex": data.hex()}


def _bytes_of(path: Path, number: int, raw: dict[str, Any]) -> bytes | None:
    forms = [key for key in ("text", "hex", "base64") if key in raw]
    if not forms:
        return None
    if len(forms) > 1:
        raise CaptureError(f"{path}:{number}: both {forms[0]} and {forms[1]}; give the bytes once")
    value = raw[forms[0]]
    try:
        match forms[0]:
            case "text":
                return bytes(value.encode("utf-8"))
            case "hex":
                return bytes.fromhex(value)
            case _:
                return base64.b64decode(value, validate=True)
    except (AttributeError, TypeError, ValueError, binascii.Error) as error:
        raise CaptureError(f"{path}:{number}: {forms[0]} cannot be read: {error}") from error


def _object(path: Path, number: int, line: str) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise CaptureError(f"{path}:{number}: not JSON: {error}") from error
    if not isinstance(value, dict):
        raise CaptureError(f"{path}:{number}: a line of a capture is a JSON object")
    return value


def _check_gap(path: Path, number: int, raw: Mapping[str, Any]) -> None:
    listed = raw.get("connections", [])
    numbers = listed if isinstance(listed, list) else [None]
    counts = [raw.get("events", 0), raw.get("bytes", 0), *numbers]
    if any(type(count) is not int or count < 0 for count in counts):
        raise CaptureError(f"{path}:{number}: 'events', 'bytes' and 'connections' are numbers")


def event(path: Path, number: int, line: str) -> Event:
    """Parse one line of a file as an event. Raises CaptureError."""
    raw = _object(path, number, line)
    at = raw.get("at")
    if isinstance(at, bool) or not isinstance(at, int | float) or not abs(at) < LATEST:
        raise CaptureError(f"{path}:{number}: 'at' must be a number of seconds")
    data = _bytes_of(path, number, raw)
    happened = raw.get("event")
    if (data is None) == (happened is None):
        raise CaptureError(
            f"{path}:{number}: either bytes (text, hex, base64) or 'event' is needed"
        )
    for key in ("from", "message", "event"):
        if not isinstance(raw.get(key), str | None):
            raise CaptureError(f"{path}:{number}: {key!r} must be a string")
    connection = raw.get("connection")
    if connection is not None and (type(connection) is not int or connection < 1):
        raise CaptureError(f"{path}:{number}: 'connection' must be a number from 1 on")
    if happened == LEFT_OUT:
        _check_gap(path, number, raw)
    known = {"at", "connection", "from", "text", "hex", "base64", "message", "value", "event"}
    known.add("messages")  # for readers of the file; the bytes contain the same messages
    return Event(
        at=float(at),
        sender=raw.get("from"),
        data=data,
        message=raw.get("message"),
        value=raw.get("value"),
        event=happened,
        details={key: value for key, value in raw.items() if key not in known},
        connection=connection,
    )
