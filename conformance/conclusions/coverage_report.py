"""Lists the points of the protocol that a run has shown, and the missing ones.

The list is a part of report.json. It also says what to provide for the missing points.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from conformance.configuration import Configuration
from conformance.definitions import protocols
from conformance.definitions.protocol import MessageType, Protocol
from conformance.judging.coverage import Coverage
from conformance.judging.space import FORM, Aspect, Point, parties, space

NOT_ASKED = "no test asks for it"
LIVE = "this session has not shown it"
PART = "a run of all tests can show it"

_GROUPS = {Aspect.ROW: "course", Aspect.FRAMING: "framing"}
"""The kind of group for points of an aspect; other aspects belong to the group of a message."""

Report = Mapping[str, Any]


@dataclass(frozen=True)
class Means:
    """The facts that decide if a run could have shown something.

    ``reasons`` has the reason of each requirement that was not exercised. ``whole`` is False if a
    selection has left out tests. ``live``: the proxy judged two real peers.
    """

    configuration: Configuration
    reasons: Mapping[str, str]
    whole: bool
    live: bool

    def of(self, point: Point) -> str:
        """Return the setting that a user has to provide for a point, or another reason."""
        if self.live:
            return LIVE
        message = self._message(point)
        if message and message.feature in self.configuration.unsupported:
            return f"the setting [unsupported] leaves out {message.feature}"
        if message and (missing := self._missing_setting(message)):
            return missing
        for name in (point.requirement, message.handled if message else ""):
            if reason := self.reasons.get(name):
                return f"{name}: {reason}"
        return NOT_ASKED if self.whole else PART

    def _message(self, point: Point) -> MessageType | None:
        name = point.what.partition(" ")[0] if point.aspect is Aspect.ROW else point.subject
        return self.configuration.protocol.messages.get((point.sender, name))

    def _missing_setting(self, message: MessageType) -> str:
        """Return the first setting for a message that the configuration does not have."""
        role = self.configuration.role
        operated = self.configuration.upper_tester or role.upper_tester
        known = {"programs": role.programs, "procedures": role.procedures}
        known["hooks"] = {name: each.description for name, each in role.hooks.items()}
        for means in message.shown_by if message.sender == role.name else ():
            table, _, name = means.partition(".")
            given = table == "hooks" and operated
            if name in known[table] and not (given or name in getattr(self.configuration, table)):
                return f"[{table}] {name}: {known[table][name]}"
        return ""


def coverage_member(
    coverage: Coverage, configuration: Configuration, requirements: Sequence[Report], run: Report
) -> dict[str, Any]:
    """Return the member ``coverage`` of a report; ``run`` has its ``selection`` and ``live``."""
    reasons = {
        entry["id"]: entry["reason"]
        for entry in requirements
        if entry["verdict"] in ("not-exercised", "not-applicable")
    }
    live = bool(run.get("live"))
    means = Means(configuration, reasons, run["selection"] is None, live)
    role = configuration.role
    own, *others = parties(role)
    sides = [(own, "iut", others)]
    sides += [(party, "peer" if live else "suite", [own]) for party in others]
    return {
        "sides": [
            _side(party, who, [*space(configuration.protocol).of(party, to)], coverage, means)
            for party, who, to in sides
        ]
    }


def live_coverage(protocol: str, coverage: Coverage) -> dict[str, Any]:
    """Return the coverage of recorded sessions, in which all parties are peers."""
    loaded: Protocol = protocols.load(protocol)
    sides = []
    for party in loaded.parties:
        points = [*space(loaded).of(party, loaded.parties)]
        if any(index in coverage.shown for index, _ in points):
            sides.append(_side(party, "peer", points, coverage, None))
    return {"sides": sides}


def _side(
    party: str,
    who: str,
    points: Sequence[tuple[int, Point]],
    coverage: Coverage,
    means: Means | None,
) -> dict[str, Any]:
    groups: dict[tuple[str, str], list[tuple[int, Point]]] = {}
    for index, point in points:
        kind = _GROUPS.get(point.aspect, "message")
        groups.setdefault((kind, point.subject), []).append((index, point))
    entries = [
        _group(kind, name, members, coverage.shown, means)
        for (kind, name), members in groups.items()
    ]
    return {"role": party, "side": who, "counts": _count_points(entries), "groups": entries}


def _group(
    kind: str,
    name: str,
    points: Sequence[tuple[int, Point]],
    known: frozenset[int],
    means: Means | None,
) -> dict[str, Any]:
    places: dict[str, dict[str, Any]] = {}
    for index, point in points:
        entry = {"place": point.place, "shown": {}, "missing": {}, "provide": ""}
        place = places.setdefault(point.place, entry)
        shown = index in known
        place["shown" if shown else "missing"].setdefault(str(point.aspect), []).append(point.what)
        if not shown and not place["provide"]:
            place["provide"] = means.of(point) if means else LIVE
    return {"kind": kind, "name": name, "places": [*places.values()]}


def _count_points(groups: Sequence[Report]) -> dict[str, dict[str, int]]:
    """Return the numbers of points of each aspect, shown and in total."""
    counts = {str(aspect): {"shown": 0, "of": 0} for aspect in Aspect}
    for group in groups:
        for place in group["places"]:
            for member in ("shown", "missing"):
                for aspect, whats in place[member].items():
                    counts[aspect]["of"] += len(whats)
                    counts[aspect]["shown"] += len(whats) if member == "shown" else 0
    return {aspect: count for aspect, count in counts.items() if count["of"]}


Thing = tuple[str, str, str, str, str, str]
"""The role, the kind and name of a group, a place, an aspect, and what was shown there."""


def things(covered: Report | None, member: str) -> Iterator[Thing]:
    """Yield the shown or missing things of a report's coverage; ``member`` selects which."""
    for side in covered["sides"] if covered else ():
        for group in side["groups"]:
            for place in group["places"]:
                for aspect, whats in place[member].items():
                    for what in whats:
                        yield (
                            side["role"],
                            group["kind"],
                            group["name"],
                            place["place"],
                            aspect,
                            what,
                        )


CERTAIN = ("kind", "field", "value", "row")
"""The aspects that do not depend on chance; extreme numbers, for example, do."""


def roots(missing: Iterable[Thing]) -> list[Thing]:
    """Return the missing things without the parts of a missing message, field or form."""
    found = list(missing)
    enclosing = {
        (*thing[:3], _enclosing_place(thing))
        for thing in found
        if _enclosing_place(thing) is not None
    }
    return [thing for thing in found if not any(key in enclosing for key in _enclosing_keys(thing))]


def _enclosing_place(thing: Thing) -> str | None:
    """Return the place that a missing thing makes empty, or None."""
    place, aspect, what = thing[3:]
    if aspect == "kind":
        return ""
    if aspect == "field":
        return place
    if aspect == "value" and what.startswith(FORM):
        return f"{place}<{what.removeprefix(FORM)}>"
    return None


def _enclosing_keys(thing: Thing) -> Iterator[tuple[str, ...]]:
    """Yield the keys of all places that enclose a thing. A field does not enclose itself."""
    place, aspect = thing[3], thing[4]
    if aspect == "kind" or thing[1] != "message":
        return
    yield (*thing[:3], "")
    for at, sign in enumerate(place):
        if at and sign in ".[<":
            yield (*thing[:3], place[:at])
    if aspect != "field":
        yield (*thing[:3], place)


def lost_points(old: Report | None, new: Report | None) -> list[Thing]:
    """Return the certain things that only the old report has shown."""
    before = set(things(old, "shown"))
    return [thing for thing in things(new, "missing") if thing in before and thing[4] in CERTAIN]


def unite_reports(reports: Sequence[Report | None]) -> dict[str, Any] | None:
    """Return the common coverage of several runs of one program; None if no run has any."""
    counted = [report for report in reports if report]
    if not counted:
        return None
    shown = {thing for report in counted for thing in things(report, "shown")}
    return {"sides": [_unite_side(side, shown) for side in counted[-1]["sides"]]}


def _unite_side(side: Report, shown: set[Thing]) -> dict[str, Any]:
    groups = []
    for group in side["groups"]:
        places = []
        for place in group["places"]:
            both: dict[str, dict[str, list[str]]] = {"shown": {}, "missing": {}}
            for member in ("shown", "missing"):
                for aspect, whats in place[member].items():
                    for what in whats:
                        key = side["role"], group["kind"], group["name"], place["place"]
                        known = (*key, aspect, what) in shown
                        both["shown" if known else "missing"].setdefault(aspect, []).append(what)
            provide = place["provide"] if both["missing"] else ""
            places.append({"place": place["place"], **both, "provide": provide})
        groups.append({**group, "places": places})
    return {**side, "counts": _count_points(groups), "groups": groups}
