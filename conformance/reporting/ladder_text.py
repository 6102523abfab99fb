"""Draws a session as a message ladder in plain text, for a terminal."""

import json
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from conformance.definitions.keywords import place
from conformance.definitions.protocol import Protocol
from conformance.judging.captures import Event
from conformance.judging.judge import Finding
from conformance.reporting.text import hexdump, make_visible, one_line

_INNER = 30  # columns between the lifelines
_TIME = 9  # columns of the time in seconds
_MARGIN = " " * (_TIME + 2)
_BOLD, _FAINT, _RED = "1", "2", "1;31"
_DUMPED = 4096  # bytes of one event that are shown in hex


def ladder(
    events: Sequence[Event],
    iut: str,
    *,
    width: int,
    dump: bool,
    marks: Mapping[int, Sequence[str]],
    colour: bool = False,
) -> Iterator[str]:
    """Yield the lines of a ladder: the role ``iut`` right, its peers left.

    ``marks`` maps the index of an event to its errors; ``dump`` adds the bytes in hex.
    """
    others = sorted({event.sender for event in events if event.sender not in (None, iut)}, key=str)
    drawn = Ladder(list(map(str, others)), iut, width, dump, colour)
    yield drawn.head()
    for index, event in enumerate(events):
        yield from drawn.event(event, marks.get(index, ()))


@dataclass(frozen=True)
class Ladder:
    """Draws a ladder line by line: ``right`` at the right, the ``others`` at the left."""

    others: Sequence[str]
    right: str
    width: int
    dump: bool
    colour: bool = False

    def head(self) -> str:
        """Return the line with the names of both sides."""
        left = one_line(" + ".join(self.others), 40)
        names = f"{left}{one_line(self.right, 40).rjust(_INNER + 2 - len(left))}"
        return f"{_MARGIN}{self._colour(names, _BOLD)}"

    def event(self, event: Event, marks: Sequence[str]) -> Iterator[str]:
        """Yield the lines of an event and of its errors."""
        name = f"{event.sender}: " if len(self.others) > 1 and event.sender != self.right else ""
        rung = _rung(event, name, event.sender == self.right)
        room = self.width - len(_MARGIN) - _INNER - 4
        shown = one_line(_short(event), room) if room >= 8 else ""
        if event.connection is not None:
            shown = f"#{event.connection} {shown}"
        colour = _RED if marks else _FAINT if event.data is None else ""
        at = self._colour(f"{event.at:{_TIME}.3f}", _FAINT)
        yield f"{at}  {self._colour(rung, colour)}  {shown}".rstrip()
        if self.dump and event.data:
            yield from textwrap.indent(hexdump(event.data[:_DUMPED]), _MARGIN).split("\n")
            if len(event.data) > _DUMPED:
                yield f"{_MARGIN}… {len(event.data) - _DUMPED:,} more bytes"
        for mark in marks:
            for line in textwrap.wrap(
                make_visible(mark, 1000, keep=""),
                max(self.width, 40),
                initial_indent=f"{_MARGIN}✗ ",
                subsequent_indent=f"{_MARGIN}  ",
            ):
                yield self._colour(line, _RED)

    def _colour(self, text: str, colour: str) -> str:
        return f"\x1b[{colour}m{text}\x1b[0m" if self.colour and colour else text


def marks(findings: Sequence[Finding], protocol: Protocol) -> dict[int, list[str]]:
    """The errors of each event in words; errors without an event are left out."""
    marked: dict[int, list[str]] = {}
    for finding in findings:
        if finding.event is None:
            continue
        marked.setdefault(finding.event, []).append(finding_text(finding, protocol))
    return marked


def finding_text(finding: Finding, protocol: Protocol) -> str:
    """A finding in words, with its requirement, its level and its place in the message."""
    level = protocol.requirement(finding.requirement).level
    level = "inconclusive" if finding.inconclusive else level
    member = place(finding.path)
    # The text of a schema error begins with the path already.
    at = f" (at {member})" if member and not finding.message.startswith(member) else ""
    return f"{finding.requirement} ({level}): {finding.message}{at}"


def _rung(event: Event, name: str, from_iut: bool) -> str:
    if event.data is None:
        whose = f"{event.sender} " if event.sender else ""
        return f"│{one_line(f'{whose}{event.event}', _INNER):^{_INNER}}│"
    label = f" {one_line(name + _label(event), _INNER - 6)} ".center(_INNER - 1, "─")
    return f"│◀{label}│" if from_iut else f"│{label}▶│"


def _label(event: Event) -> str:
    size = len(event.data or b"")
    if event.messages:
        return f"{len(event.messages)} messages"
    return event.message or f"{size:,} byte{'' if size == 1 else 's'}"


def _short(event: Event) -> str:
    """The value of an event for the end of its line; the bytes as text if it has no value."""
    if event.data is None:
        return _json(event.details) if event.details else ""
    if event.messages:
        return ", ".join(f"{name} {_value(name, value)}".strip() for name, value in event.messages)
    if event.message is None:
        try:
            return make_visible(event.data[:400].decode(), keep="")
        except UnicodeDecodeError:
            return repr(event.data[:400])[2:-1]
    return _value(event.message, event.value)


def _value(name: str, value: Any) -> str:
    """A decoded form as JSON, without a repeated name of its message."""
    if isinstance(value, dict) and list(value) == [name]:
        value = value[name]
    return "" if value == name else _json(value)


def _json(value: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=False)
    except RecursionError:
        return "nested too deeply to show"
