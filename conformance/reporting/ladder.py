"""Reads a transcript as a message ladder that is short enough for a page.

A transcript can contain a flood, and the IUT can have chosen every byte. The file is read twice:
once to count its events, and once to parse the events that are shown. This bounds the memory.
The page always has room for offending events. For others, the ladder says what is left out.
"""

import base64
import contextlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice, pairwise
from pathlib import Path
from typing import Any, BinaryIO

from conformance.definitions import protocols
from conformance.exits import WrongUsage
from conformance.judging.captures import LEFT_OUT
from conformance.reporting import places
from conformance.reporting.places import Range
from conformance.reporting.text import hexdump, hexdump_ranges, hexdump_size, one_line

MAX_EVENTS = 200  # events of one session that are shown
AROUND_MARK = 15  # events on either side of an offending event that are shown in a longer session
BEFORE_MARK = 32  # bytes or characters of a long message that are shown before its wrong part
PREVIEW = 160  # bytes of a message next to its name
MAX_BYTES = 2048  # bytes of one message in hex
MAX_DECODED = 4096  # characters of one decoded form
ROOM = 120_000  # characters of the bytes and decoded forms of one session
MAX_LINE = 4 << 20  # bytes of a line of the file that is parsed

_FIXED = frozenset(
    ("at", "connection", "from", "text", "hex", "base64", "message", "value", "messages")
)


@dataclass(frozen=True, slots=True)
class Mark:
    """The error of an event, and the path of the wrong member of its value."""

    text: str
    path: places.Path = ()


Marks = Mapping[int, Sequence[Mark]]
"""Marks by the index of their event; the header line of a transcript is not counted."""


@dataclass(frozen=True, slots=True)
class _Reading:
    """The functions that help to show messages of a protocol.

    ``place`` returns the range of bytes of a member of the decoded form, if known. ``brief``
    returns a preview of a decoded form, if the beginning of the bytes is not a good preview.
    """

    place: Callable[[bytes, places.Path], Range | None] = places.range_in_bytes
    brief: Callable[[Any], str] | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """A rung of the ladder, or a gap with events that were left out.

    ``side`` is ``tester``, ``iut`` or ``none``; ``kind`` is ``message``, ``bytes``, ``event`` or
    ``gap``. ``marks`` are the errors of this event; ``dump_marks`` and ``decoded_marks`` are the
    ranges of the wrong part in these texts.
    """

    kind: str
    label: str
    index: int = -1
    side: str = "none"
    at: str = ""
    sender: str = ""
    preview: str = ""
    dump: str = ""
    decoded: str = ""
    cut: str = ""
    marks: tuple[Mark, ...] = ()
    dump_marks: tuple[Range, ...] = ()
    decoded_marks: tuple[Range, ...] = ()
    bare: bool = False
    """There was no room for its bytes and its decoded form."""

    @property
    def body(self) -> int:
        """The number of characters of its bytes and its decoded form."""
        return len(self.dump) + len(self.decoded)

    @property
    def size(self) -> int:
        """The approximate number of characters on the page."""
        return 450 + len(self.preview) + self.body


@dataclass(frozen=True, slots=True)
class Ladder:
    """A session as the page shows it; ``problem`` is the reason if there is nothing to show.

    The session had ``total`` events; ``bare`` is the number of steps without their contents.
    """

    tester: str = ""
    iut: str = ""
    steps: tuple[Step, ...] = ()
    total: int = 0
    bare: int = 0
    problem: str = ""

    @property
    def size(self) -> int:
        return sum(step.size for step in self.steps)


def read(path: Path, iut: str, marks: Marks) -> Ladder:
    """The ladder of a transcript file; ``iut`` is the role under test if the file has none."""
    try:
        with path.open("rb") as file:
            header = _object(next(_lines(file), b""))
            total = sum(1 for _ in _lines(file))
            file.seek(0)
            wanted = _chosen_events(total, marks)
            role = header.get("iut")
            role = role if isinstance(role, str) else iut
            reading = _reading(header.get("protocol"))
            steps = tuple(_steps(file, wanted, total, role, marks, reading))
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        return Ladder(problem=f"the transcript cannot be read: {reason}")
    peers = {step.sender for step in steps if step.side == "tester"}
    fitting = tuple(_fit_steps(steps))
    bare = sum(step.bare for step in fitting)
    return Ladder(" + ".join(sorted(peers)), role, fitting, total, bare)


def _reading(protocol: object) -> _Reading:
    """The functions of the protocol's codec, or those for JSON."""
    try:
        codec = protocols.load(str(protocol)).codec
    except WrongUsage:
        return _Reading()
    return _Reading(getattr(codec, "place", places.range_in_bytes), getattr(codec, "brief", None))


def _fit_steps(steps: Sequence[Step]) -> Iterator[Step]:
    """Yield the steps; leave out the contents of steps without marks if there is no room."""
    room = ROOM - sum(step.body for step in steps if step.marks)
    for step in steps:
        if step.marks or step.body <= room:
            room -= 0 if step.marks else step.body
            yield step
        else:
            yield replace(step, dump="", decoded="", cut="", bare=True)


def _lines(file: BinaryIO) -> Iterator[bytes]:
    """Yield the lines that are not blank; of a long line only the beginning."""
    while line := file.readline(MAX_LINE):
        end = line
        while not end.endswith(b"\n") and (end := file.readline(MAX_LINE)):
            pass
        if not line.isspace():
            yield line


def _object(line: bytes) -> dict[str, Any]:
    """The object of one line. Raises ValueError."""
    try:
        value = json.loads(line)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    if isinstance(value, dict):
        return value
    raise ValueError("not an object")


def _chosen_events(total: int, marks: Marks) -> list[int]:
    """The indexes of the events that are shown: all, or parts of a long session.

    These parts are the beginning, the end, and the events around marks.
    """
    if total <= MAX_EVENTS:
        return list(range(total))
    chosen: set[int] = set()
    for mark in sorted(marks)[:4]:
        chosen.update(range(max(0, mark - AROUND_MARK), min(total, mark + AROUND_MARK + 1)))
    chosen.update(range(total - 20, total))
    beginning = (index for index in range(total) if index not in chosen)
    chosen.update(islice(beginning, MAX_EVENTS - len(chosen)))
    return sorted(chosen)


def _steps(
    file: BinaryIO,
    wanted: list[int],
    total: int,
    role: str,
    marks: Marks,
    reading: _Reading,
) -> Iterator[Step]:
    room = ROOM
    chosen = set(wanted)
    gaps = {after: after - before - 1 for before, after in pairwise([*wanted, total])}
    lines = _lines(file)
    next(lines, None)  # the header
    for index, line in enumerate(lines):
        if index in chosen:
            if left_out := gaps.get(index):
                yield Step("gap", f"{left_out:,} events not shown")
            step = _step(index, line, role, tuple(marks.get(index, ())), reading, room)
            room -= 0 if step.marks or step.body > room else step.body
            yield step


def _step(
    index: int, line: bytes, role: str, marks: tuple[Mark, ...], reading: _Reading, room: int
) -> Step:
    try:
        event = _object(line)
        data = _bytes_of(event)
    except ValueError as error:
        size = f"{len(line):,} bytes or more" if len(line) >= MAX_LINE else f"{len(line):,} bytes"
        return Step("gap", f"event {index} ({size}) not shown: {one_line(error, 80)}", marks=marks)
    if event.get("event") == LEFT_OUT:
        omitted = f"{event.get('events')} events with {event.get('bytes')} bytes"
        return Step("gap", one_line(f"{omitted} were left out of the file", 80), marks=marks)
    sender = event.get("from")
    at = event.get("at")
    rest = {key: value for key, value in event.items() if key not in _FIXED and key != "event"}
    several = _messages(event)
    kind, label = _kind_and_label(event, data, several)
    paths = [mark.path for mark in marks if mark.path]
    whole = data or b""
    found = _ranges(at for path in paths if (at := reading.place(whole, path)))
    first, _ = _window(len(whole), found, MAX_BYTES)
    first -= first % 16
    end = min(first + MAX_BYTES, len(whole))
    named = kind == "message" and "value" in event and not several
    preview = _brief(event["value"], reading) if named else ""
    preview = preview or _preview(whole, found) or (_compact(rest) if rest else "")
    # Decoding messages for which there is no room would take most of the time of a page.
    bare = not marks and hexdump_size(end - first) > room
    decoded, decoded_marks = "", tuple[Range, ...]()
    if data is None:
        decoded = _shorten(_pretty(rest)) if rest else ""
    elif several and not bare:
        decoded = _shorten("\n".join(f"{name}: {_compact(value)}" for name, value in several))
    elif "value" in event and not bare:
        decoded, decoded_marks = _decoded_text(event["value"], paths)
    dump = "" if bare else hexdump(whole[first:end], first)
    shown = f"{first:,} to {end:,}" if first else f"the first {end:,}"
    return Step(
        kind=kind,
        label=one_line(label, 60),
        index=index,
        side="iut" if sender == role else "none" if sender is None else "tester",
        at=f"{at:.3f}" if isinstance(at, int | float) else "",
        sender=one_line(sender, 30) if sender is not None else "",
        preview=_of_connection(event) + one_line(preview, 120),
        dump=dump,
        decoded=decoded,
        cut=f"{shown} of {len(whole):,} bytes" if not bare and end - first < len(whole) else "",
        marks=marks,
        dump_marks=_ranges(
            marked for part in _clip(found, first, end) for marked in hexdump_ranges(dump, *part)
        ),
        decoded_marks=decoded_marks,
        bare=bare,
    )


def _kind_and_label(
    event: Mapping[str, Any], data: bytes | None, several: Sequence[tuple[Any, Any]]
) -> tuple[str, str]:
    """The kind of an event, and its label."""
    if data is None:
        return "event", str(event.get("event", ""))
    if several:
        names = ", ".join(str(name) for name, _ in several)
        return "message", f"{len(several)} messages: {names}"
    if isinstance(name := event.get("message"), str):
        return "message", name
    return "bytes", f"{len(data):,} bytes"


def _brief(value: Any, reading: _Reading) -> str:
    """The text of a message, if its bytes do not begin with the same text, or empty."""
    try:
        return reading.brief(value) if reading.brief else ""
    except (ValueError, TypeError, AttributeError, RecursionError):
        return ""  # the value in the file is not a message of the protocol


def _window(size: int, found: Sequence[Range], most: int) -> Range:
    """The range of a text that is shown: its beginning, or around a mark after that."""
    first = 0
    if size > most and found and found[0][1] > most:
        first = max(0, min(found[0][0] - BEFORE_MARK, size - most))
    return first, min(first + most, size)


def _clip(found: Iterable[Range], first: int, end: int) -> Iterator[Range]:
    """Yield these ranges relative to a part of the text, cut at its ends."""
    for start, stop in found:
        if start < end and stop > first:
            yield max(start, first) - first, min(stop, end) - first


def _preview(data: bytes, found: Sequence[Range]) -> str:
    """The beginning of a message, or its wrong part."""
    first, end = _window(len(data), found, PREVIEW)
    text = data[first:end].decode("utf-8", "backslashreplace").strip()
    return f"… {text}" if first else text


def _decoded_text(value: Any, paths: Iterable[places.Path]) -> tuple[str, tuple[Range, ...]]:
    """The shown part of a decoded form, and the ranges of its marks."""
    text = _pretty(value)
    found = _ranges(at for path in paths if (at := places.range_in_text(text, path)))
    first, end = _window(len(text), found, MAX_DECODED)
    if not first:
        return _shorten(text), tuple(_clip(found, first, end))
    before = f"[{first:,} characters before] … "
    shown = before + _shorten(text[first:])
    return shown, tuple((a + len(before), b + len(before)) for a, b in _clip(found, first, end))


def _messages(event: Mapping[str, Any]) -> list[tuple[Any, Any]]:
    """The names and decoded forms of the messages in an event with several messages."""
    several = event.get("messages")
    entries = several if isinstance(several, list) else []
    return [
        (entry.get("message"), entry.get("value")) for entry in entries if isinstance(entry, dict)
    ]


def _of_connection(event: Mapping[str, Any]) -> str:
    """The connection of an event, if there are several."""
    number = event.get("connection")
    return f"#{number} " if isinstance(number, int) else ""


def _ranges(found: Iterable[Range]) -> tuple[Range, ...]:
    """Ranges in order, without ranges that begin within another range."""
    kept: list[Range] = []
    for start, end in sorted(found):
        if not kept or start >= kept[-1][1]:
            kept.append((start, end))
    return tuple(kept)


def _bytes_of(event: Mapping[str, Any]) -> bytes | None:
    """The exact bytes of an event; None if it has none. Raises ValueError."""
    forms = [form for form in ("text", "hex", "base64") if form in event]
    if not forms:
        return None
    match forms[0], event[forms[0]]:
        case "text", str(value):
            return value.encode("utf-8", "surrogatepass")
        case "hex", str(value):
            return bytes.fromhex(value)
        case "base64", str(value):
            return base64.b64decode(value, validate=True)
    raise ValueError(f"{forms[0]} is not a string")


def _compact(value: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=False)
    except RecursionError:
        return "nested too deeply to show"


def _pretty(value: Any) -> str:
    """The decoded form as JSON; indented unless it is very short or very long."""
    compact = _compact(value)
    if 88 < len(compact) <= MAX_DECODED:
        with contextlib.suppress(RecursionError):
            return json.dumps(value, ensure_ascii=False, indent=2)
    return compact


def _shorten(text: str) -> str:
    more = len(text) - MAX_DECODED
    return f"{text[:MAX_DECODED]} … [{more:,} more characters]" if more > 0 else text
