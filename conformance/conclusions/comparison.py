"""Compares two reports of one role: regressions, fixes, and requirements not decided any more."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from conformance.conclusions.coverage_report import lost_points
from conformance.running.selection import LEFT_OUT
from conformance.verdicts import VIOLATIONS, Verdict

Report = Mapping[str, Any]

_RANKS = {Verdict.FAIL: 3, Verdict.WARN: 2, Verdict.KNOWN: 1}
_DECIDED = (Verdict.PASS, *VIOLATIONS, Verdict.KNOWN)


@dataclass(frozen=True)
class Change:
    """A requirement with two different verdicts; empty if a report does not have it."""

    requirement: str
    level: str
    before: str
    after: str
    reason: str


@dataclass(frozen=True)
class Unshown:
    """A point of coverage that the old report has, and the new one has not.

    ``name`` is a message or a course, ``place`` a member of the message or a state of the course.
    """

    role: str
    name: str
    place: str
    what: str


@dataclass(frozen=True)
class Comparison:
    """The changes from one report to the next, in the order of the specification.

    - ``regressions`` are violated only in the new report, ``fixes`` only in the old one.
    - ``lost`` were decided only in the old report, ``gained`` only in the new one.
    - ``added`` and ``removed`` exist only in the new or the old suite.
    - ``unshown`` is covered only in the old report.
    """

    baseline: str
    regressions: tuple[Change, ...] = ()
    lost: tuple[Change, ...] = ()
    fixes: tuple[Change, ...] = ()
    gained: tuple[Change, ...] = ()
    added: tuple[Change, ...] = ()
    removed: tuple[Change, ...] = ()
    unshown: tuple[Unshown, ...] = ()

    def failure_text(self, strict: bool) -> str:
        """The changes that make a run fail, in words, or empty; ``strict``: lost ones count."""
        parts = [f"{len(self.regressions)} regressions"] if self.regressions else []
        parts += [f"{len(self.lost)} no longer decided"] if strict and self.lost else []
        return f"{' and '.join(parts)} since {self.baseline}" if parts else ""

    def groups(self) -> dict[str, tuple[Change, ...]]:
        """The kinds that have changes, most important first."""
        kinds = ("regressions", "lost", "fixes", "gained", "added", "removed")
        return {kind: changes for kind in kinds if (changes := getattr(self, kind))}

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def compare(old: Report, new: Report, baseline: str) -> Comparison:
    """The changes from an old report, with the name ``baseline``, to a new one.

    Requirements that a selection has left out are not compared.
    """
    before, after = _judged_requirements(old), _judged_requirements(new)
    changes: dict[str, list[Change]] = {}
    for name, entry in after.items():
        earlier = before.get(name)
        was = earlier["verdict"] if earlier else ""
        if kind := _kind(was, entry["verdict"]) if earlier else _kind_of_new(name, old):
            changes.setdefault(kind, []).append(
                Change(name, entry["level"], was, entry["verdict"], entry["reason"])
            )
    names = {entry["id"] for entry in new["requirements"]}
    changes["removed"] = [
        Change(name, entry["level"], entry["verdict"], "", "")
        for name, entry in before.items()
        if name not in names
    ]
    lost = tuple(
        Unshown(role, name, place, what)
        for role, _, name, place, _, what in lost_points(old.get("coverage"), new.get("coverage"))
    )
    known = {kind: tuple(found) for kind, found in changes.items()}
    return Comparison(baseline, **known, unshown=lost)


def _judged_requirements(report: Report) -> dict[str, Mapping[str, Any]]:
    return {e["id"]: e for e in report["requirements"] if e["reason"] != LEFT_OUT}


def _kind_of_new(name: str, old: Report) -> str:
    """The kind of a requirement that the old report did not judge; empty if left out there."""
    return "" if any(entry["id"] == name for entry in old["requirements"]) else "added"


def _kind(was: str, verdict: str) -> str:
    if verdict in VIOLATIONS and _rank(verdict) > _rank(was):
        return "regressions"
    if was in (*VIOLATIONS, Verdict.KNOWN) and verdict == Verdict.PASS:
        return "fixes"
    if was in _DECIDED and verdict not in _DECIDED:
        return "lost"
    return "gained" if was not in _DECIDED and verdict in _DECIDED else ""


def _rank(verdict: str) -> int:
    return _RANKS.get(Verdict(verdict), 0)


def common_role(reports: Sequence[Report]) -> str:
    """The role of all these reports; empty if their roles differ."""
    roles = {str(report["iut"]["role"]) for report in reports}
    return roles.pop() if len(roles) == 1 else ""
