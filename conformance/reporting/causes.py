"""What is wrong with an IUT, one entry for each thing that is to be mended."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from conformance.reporting.wording import Report, worst_first

Entry = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Cause:
    """One thing that is wrong: a violated requirement, and the test that shows it best.

    ``event`` of ``transcript`` is the offending one, of which the member at ``path`` is wrong;
    ``others`` are the further tests that show it, by their ids.
    """

    verdict: str
    reason: str
    requirement: Entry
    test: Entry | None
    transcript: str | None
    event: int | None
    path: tuple[str | int, ...]
    others: tuple[str, ...]


def causes(report: Report, *verdicts: str) -> list[Cause]:
    """The causes behind all requirements of these verdicts, the worst first."""
    wanted = [e for e in worst_first(report["requirements"]) if e["verdict"] in verdicts]
    return [_cause(report, entry) for entry in wanted]


@dataclass(frozen=True, slots=True)
class _Sight:
    """Where a violation was seen."""

    test: str
    transcript: str | None
    event: int | None
    path: tuple[str | int, ...] = ()


def _cause(report: Report, requirement: Entry) -> Cause:
    tests = {test["id"]: test for test in report["tests"]}
    seen = [sight for sight in _seen(report, requirement) if sight.test in tests]
    best = next((sight for sight in seen if sight.event is not None), next(iter(seen), None))
    ids = dict.fromkeys(sight.test for sight in seen)
    return Cause(
        requirement["verdict"],
        requirement["reason"],
        requirement,
        tests[best.test] if best else None,
        best.transcript if best else None,
        best.event if best else None,
        best.path if best else (),
        tuple(id_ for id_ in ids if best and id_ != best.test),
    )


def _seen(report: Report, requirement: Entry) -> Iterator[_Sight]:
    """Where a requirement was seen to be violated: first what names its tests, then the rest."""
    found = [
        _Sight(f["test"], f["transcript"], f["event"], tuple(f.get("path", ())))
        for f in report["findings"]
        if f["requirement"] == requirement["id"] and f["test"] is not None
    ]
    for test in report["tests"]:
        if test["requirement"] == requirement["id"] and test["verdict"] == requirement["verdict"]:
            own = _Sight(test["id"], test["transcript"], test["offending"])
            told = [sight for sight in found if sight.test == test["id"]]
            # A finding about the same event says more of it.
            same = next((sight for sight in told if sight.event == own.event and sight.path), own)
            yield next(iter(told), own) if own.event is None else same
    yield from found
