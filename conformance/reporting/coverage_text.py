"""Formats coverage: a line for a terminal, rows of a page, and lost points."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from conformance.conclusions.coverage_report import roots, things
from conformance.reporting.text import one_line
from conformance.reporting.wording import Report

_NOUNS = {"kind": "messages", "field": "fields", "value": "values", "row": "steps"}
"""The aspects that a line contains; the others depend on chance."""

_WHO = {"iut": "the IUT", "suite": "the suite", "peer": "the peer"}
TITLES = {"message": "", "course": "steps of ", "framing": "framing and connections"}


def line(side: Report) -> str:
    """Return the coverage of one side as one line."""
    counts = side["counts"]
    parts = [
        f"{counts[aspect]['shown']} of {counts[aspect]['of']} {noun}"
        for aspect, noun in _NOUNS.items()
        if aspect in counts
    ]
    who = _WHO[side["side"]]
    named = side["role"] if side["side"] == "peer" else f"{who} ({side['role']})"
    return f"{named} {', '.join(parts)}"


def summary(report: Report) -> str:
    """Return the coverage of all sides as one line; empty without coverage."""
    sides = report.get("coverage", {}).get("sides", ())
    return "; ".join(line(side) for side in sides if "kind" in side["counts"])


@dataclass(frozen=True, slots=True)
class Place:
    """A place with its missing points, and what to provide for them."""

    name: str
    missing: str
    provide: str


@dataclass(frozen=True, slots=True)
class Group:
    """A message or a course: a title, the shown share, and places with missing points.

    ``percent`` is the share ``shown`` of ``of`` points. ``never``: no such message was sent.
    """

    title: str
    shown: int
    of: int
    percent: float
    never: bool
    provide: str
    places: tuple[Place, ...]


def groups(side: Report) -> list[Group]:
    """Return the groups of one side of a report's coverage."""
    return [_group(group) for group in side["groups"]]


def _group(group: Report) -> Group:
    shown, missing = (_number(group, member) for member in ("shown", "missing"))
    first = group["places"][0]
    never = group["kind"] == "message" and "kind" in first["missing"]
    side = {"role": "", "groups": [group]}
    named = {thing[3] for thing in roots(things({"sides": [side]}, "missing"))}
    places = [
        Place(place["place"], ", ".join(_words(place["missing"])), place["provide"])
        for place in group["places"]
        if place["place"] in named and not never
    ]
    return Group(
        f"{TITLES[group['kind']]}{group['name']}",
        shown,
        shown + missing,
        round(100 * shown / (shown + missing), 2),
        never,
        first["provide"] if never else "",
        tuple(places),
    )


def _number(group: Report, member: str) -> int:
    return sum(len(whats) for place in group["places"] for whats in place[member].values())


def _words(missing: Mapping[str, Sequence[str]]) -> Iterator[str]:
    if "field" in missing:
        # If a member never came, its values are missing as well.
        yield "the whole field"
        return
    for whats in missing.values():
        yield from whats


def thing(entry: Mapping[str, Any]) -> str:
    """Return a point that is not covered any more, as one line."""
    place = f" {entry['place']}" if entry["place"] else ""
    what = "" if entry["what"] in ("sent", "present") else f": {entry['what']}"
    return one_line(f"{entry['role']}: {entry['name']}{place}{what}", 160)
