"""Reads a transcript as a message ladder that is short enough for a page, and says what it cut.

A transcript may hold a flood, and every byte of it may have been chosen by the IUT. The file is
read twice, once to count its events and once to parse those that are shown, so that memory is
bounded however long it is.
"""

import base64
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from pathlib import Path
from typing import Any, BinaryIO

from conformance.reporting.text import hexdump, one_line, visible

MOST_EVENTS = 200  # shown of one session
AROUND_MARK = 15  # events kept on either side of an offending one in a longer session
MOST_BYTES = 2048  # of one message, in hex
MOST_DECODED = 4096  # characters of one decoded form
MOST_LINE = 4 << 20  # bytes of one line of the file that is still parsed

_FIXED = frozenset(("at", "connection", "from", "text", "hex", "base64", "message", "value"))


@dataclass(frozen=True, slots=True)
class Step:
    """One rung of the ladder, or a gap where events were left out.

    ``side`` is ``tester``, ``iut`` or ``none``; ``kind`` is ``message``, ``bytes``, ``event`` or
    ``gap``. ``marks`` say what is wrong with this event.
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
    marks: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        """About how many characters it takes on the page."""
        return 400 + len(self.preview) + len(self.dump) + len(self.decoded)


@dataclass(frozen=True, slots=True)
class Ladder:
    """A session as the page shows it; ``problem`` says why there is nothing to show."""

    tester: str = ""
    iut: str = ""
    steps: tuple[Step, ...] = ()
    total: int = 0
    problem: str = ""

    @property
    def size(self) -> int:
        return sum(step.size for step in self.steps)


def read(path: Path, iut: str, marks: Mapping[int, Sequence[str]]) -> Ladder:
    """The ladder of a transcript file.

    ``iut`` is the role under test, where the file's header names no other. ``marks`` maps the index
    of an offending event (the header line not counted) to what is wrong with it.
    """
    try:
        with path.open("rb") as file:
            header = _object(next(_lines(file), b""))
            total = sum(1 for _ in _lines(file))
            file.seek(0)
            wanted = _chosen(total, marks)
            role = header.get("iut")
            role = role if isinstance(role, str) else iut
            steps = tuple(_steps(file, wanted, total, role, marks))
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        return Ladder(problem=f"the transcript cannot be read: {reason}")
    peers = {step.sender for step in steps if step.side == "tester"}
    return Ladder(" + ".join(sorted(peers)), role, steps, total)


def _lines(file: BinaryIO) -> Iterator[bytes]:
    """The lines that are not blank; of one that is too long only the beginning."""
    while line := file.readline(MOST_LINE):
        end = line
        while not end.endswith(b"\n") and (end := file.readline(MOST_LINE)):
            pass
        if line.strip():
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


def _chosen(total: int, marks: Mapping[int, Sequence[str]]) -> list[int]:
    """Which events are shown: all, or the beginning, the surroundings of every mark and the end."""
    if total <= MOST_EVENTS:
        return list(range(total))
    chosen: set[int] = set()
    for mark in sorted(marks)[:4]:
        chosen.update(range(max(0, mark - AROUND_MARK), min(total, mark + AROUND_MARK + 1)))
    chosen.update(range(total - 20, total))
    beginning = (index for index in range(total) if index not in chosen)
    chosen.update(islice(beginning, MOST_EVENTS - len(chosen)))
    return sorted(chosen)


def _steps(
    file: BinaryIO, wanted: list[int], total: int, role: str, marks: Mapping[int, Sequence[str]]
) -> Iterator[Step]:
    chosen = set(wanted)
    gaps = {after: after - before - 1 for before, after in pairwise([*wanted, total])}
    lines = _lines(file)
    next(lines, None)  # the header
    for index, line in enumerate(lines):
        if index in chosen:
            if left_out := gaps.get(index):
                yield Step("gap", f"{left_out:,} events not shown")
            yield _step(index, line, role, tuple(marks.get(index, ())))


def _step(index: int, line: bytes, role: str, marks: tuple[str, ...]) -> Step:
    try:
        event = _object(line)
        data = _bytes_of(event)
    except ValueError as error:
        size = f"{len(line):,} bytes or more" if len(line) >= MOST_LINE else f"{len(line):,} bytes"
        return Step("gap", f"event {index} ({size}) not shown: {one_line(error, 80)}", marks=marks)
    sender = event.get("from")
    at = event.get("at")
    rest = {key: value for key, value in event.items() if key not in _FIXED and key != "event"}
    decoded, preview, cut = "", "", ""
    kind, label = "event", str(event.get("event", ""))
    if data is not None:
        named = isinstance(event.get("message"), str)
        kind = "message" if named else "bytes"
        label = event["message"] if named else f"{len(data):,} bytes"
        preview = data[:160].decode("utf-8", "backslashreplace").strip()
        if "value" in event:
            decoded = _pretty(event["value"])
        if len(data) > MOST_BYTES:
            cut = f"the first {MOST_BYTES:,} of {len(data):,} bytes"
    return Step(
        kind=kind,
        label=one_line(label, 60),
        index=index,
        side="iut" if sender == role else "none" if sender is None else "tester",
        at=f"{at:.3f}" if isinstance(at, int | float) else "",
        sender=one_line(sender, 30) if sender is not None else "",
        preview=_of_connection(event) + one_line(preview or (_compact(rest) if rest else ""), 120),
        dump=hexdump(data[:MOST_BYTES]) if data else "",
        decoded=decoded or (_pretty(rest) if rest and data is None else ""),
        cut=cut,
        marks=marks,
    )


def _of_connection(event: Mapping[str, Any]) -> str:
    """Which connection an event is of, where there are several."""
    number = event.get("connection")
    return f"#{number} " if isinstance(number, int) else ""


def _bytes_of(event: Mapping[str, Any]) -> bytes | None:
    """The exact bytes of an event; None where it carries none. Raises ValueError."""
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
    raise ValueError(f"{forms[0]} is no string")


def _compact(value: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=False)
    except RecursionError:
        return "nested too deeply to show"


def _pretty(value: Any) -> str:
    """The decoded form: on one line if it fits, indented if that stays short, and cut if not."""
    compact = _compact(value)
    if 88 < len(compact) <= MOST_DECODED:
        try:
            return visible(json.dumps(value, ensure_ascii=False, indent=2), MOST_DECODED)
        except RecursionError:
            pass
    return visible(compact, MOST_DECODED)
