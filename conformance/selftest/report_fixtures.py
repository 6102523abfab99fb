"""Fixtures of reports and transcripts, from which the self-tests make pages and files.

These reports are invented. The report of a real run is in ``reports/sample``.
"""

import copy
import json
from pathlib import Path
from typing import Any

from conformance.definitions import locations

FOLDER = Path(__file__).with_name("fixtures") / "report"
"""The folder of a report with every verdict, and of its transcripts."""

HOSTILE = (
    "</script><script>alert(1)</script>\" onload='alert(2)' <img src=//x onerror=alert(3)>"
    "{{ 7*7 }} ]]> \x00\x1b[31m\u202e\u2066\ufeff\ud800 ##[error]no\n::error::no\r\n| `x` [y](z)"
)


def full() -> dict[str, Any]:
    """Return a new copy of the report with every verdict."""
    report: dict[str, Any] = json.loads((FOLDER / "report.json").read_text("utf-8"))
    return report


def sample_folder() -> Path:
    return locations.reports() / "sample"


def sample() -> dict[str, Any]:
    """Return a new copy of the report of the sample."""
    report: dict[str, Any] = json.loads((sample_folder() / "report.json").read_text("utf-8"))
    return report


def _cause(case: dict[str, Any]) -> dict[str, Any]:
    """Return a cause: a violation that one test shows."""
    shown = {key: case[key] for key in ("transcript", "counterexample", "reproduce", "requirement")}
    return {
        "kind": "content",
        "requirements": [case["requirement"]],
        "verdict": case["verdict"],
        "what": case["detail"],
        "said": "",
        "tests": [case["id"]],
        "consequences": [],
        "undecided": [],
        "culprit": None,
        "event": None,
        "replay": "",
        **shown,
    }


def minimal(verdict: str = "pass", **test: Any) -> dict[str, Any]:
    """Return a report about one requirement and one test."""
    counts = dict.fromkeys(
        ("pass", "fail", "warn", "inconclusive", "not-exercised", "not-applicable", "known"), 0
    )
    counts[verdict] = 1
    run = "nonconformant" if verdict == "fail" else "conformant"
    requirement = {
        "id": "area.one",
        "level": "must",
        "section": "1",
        "text": "It holds.",
        "origin": "spec",
        "tested": "wire",
        "verdict": verdict,
        "reason": "",
        "tests": ["t.py::test_one"],
    }
    case = {
        "id": "t.py::test_one",
        "purpose": "It holds.",
        "requirement": "area.one",
        "verdict": verdict,
        "duration_s": 0.1,
        "detail": "",
        "transcript": None,
        "counterexample": None,
        "offending": None,
        "reproduce": "conformance run",
    }
    return {
        "version": 2,
        "suite": {"name": "conformance", "version": "0"},
        "iut": {"name": "iut", "role": "vexide/simulator", "command": ["iut"], "address": None},
        "verdict": run,
        "headline": "1 exercised, 0 not exercised, 0 inconclusive",
        "exit_code": 1 if verdict == "fail" else 0,
        "selection": None,
        "interrupted": None,
        "counts": {"requirements": dict(counts), "tests": dict(counts)},
        "seed": 1,
        "started": "2026-01-01T00:00:00Z",
        "duration_s": 0.2,
        "ixit": {},
        "smoke": {"verdict": "pass", "detail": ""},
        "requirements": [requirement],
        "tests": [case | test],
        "findings": [],
        "causes": [_cause(case)] if verdict in ("fail", "warn") else [],
        "problems": [],
        "stale": [],
    }


def death(shown: bool = True) -> dict[str, Any]:
    """Return a report about an IUT that crashed, with a proven culprit or with candidates."""
    report = minimal("fail", detail="the IUT was killed by SIGKILL")
    first, case = report["requirements"][0], report["tests"][0]
    others = [{"requirement": f"area.{name}", "test": f"t.py::{name}"} for name in ("two", "three")]
    for entry in others:
        name, test = entry["requirement"], entry["test"]
        open_ = {"verdict": "inconclusive"}
        report["requirements"].append(first | open_ | {"id": name, "tests": [test]})
        report["tests"].append(case | open_ | {"id": test, "requirement": name})
    for counts in report["counts"].values():
        counts["inconclusive"] = 2
    culprit = {
        "message": "Touch Pressed" if shown else "",
        "value": '{"Touch": "Pressed"}' if shown else "",
        "shown": shown,
        "candidates": [] if shown else ["Touch Pressed", "USD"],
        "capture": "counterexamples/x-smallest.jsonl" if shown else None,
        "replays": 9 if shown else 0,
    }
    report["causes"][0] |= {
        "kind": "end",
        "what": "the IUT was killed by SIGKILL when it was sent Touch Pressed",
        "said": "it said: out of memory",
        "culprit": culprit,
    }
    if shown:
        consequence, undecided = others
        without = {"reproduce": "conformance run --without 'Touch Pressed'"}
        report["causes"][0] |= {
            "counterexample": culprit["capture"],
            "consequences": [consequence | without],
            "undecided": [undecided | {"detail": "its test needs Touch Pressed"}],
        }
    return report


def version_1(report: dict[str, Any]) -> dict[str, Any]:
    """Return the same report in the first version of the format."""
    report = copy.deepcopy(report)
    del report["version"]
    kinds = {"content": "violation", "missing": "violation", "end": "death"}
    for cause in report["causes"]:
        cause["kind"] = kinds.get(cause["kind"], cause["kind"])
        followed = [*cause["consequences"], *cause["undecided"]]
        cause["consequences"] = [
            {key: entry[key] for key in ("requirement", "test")} for entry in followed
        ]
        for member in ("requirements", "undecided", "culprit"):
            del cause[member]
    return report


def hostile() -> dict[str, Any]:
    """Return a report in which every text that an IUT can influence is an attack."""
    report = minimal(
        "fail", transcript="transcripts/x.jsonl", offending=0, id=f"t.py::x[{HOSTILE}]"
    )
    case = report["tests"][0]
    for key in ("purpose", "detail", "expected", "came", "reproduce"):
        case[key] = HOSTILE
    report["requirements"][0] |= {"reason": HOSTILE, "note": HOSTILE, "text": HOSTILE}
    report["requirements"][0]["tests"] = [case["id"]]
    report["iut"] |= {"name": HOSTILE, "command": [HOSTILE]}
    report["headline"] = HOSTILE
    report["ixit"] = {HOSTILE: HOSTILE}
    report["smoke"] = {"verdict": "fail", "detail": HOSTILE}
    report["problems"] = [HOSTILE]
    report["stale"] = [{"requirement": HOSTILE, "why": HOSTILE}]
    report["causes"][0] |= dict.fromkeys(("what", "said", "reproduce", "replay"), HOSTILE)
    entry = {"requirement": "area.one", "test": case["id"]}
    culprit = death()["causes"][0]["culprit"] | {"message": HOSTILE, "value": HOSTILE}
    end: dict[str, Any] = {
        "kind": "end",
        "culprit": culprit,
        "consequences": [entry | {"reproduce": HOSTILE}],
        "undecided": [entry | {"detail": HOSTILE}],
    }
    unknown = culprit | {"shown": False, "candidates": [HOSTILE], "capture": None}
    report["causes"] += [
        report["causes"][0] | end,
        report["causes"][0] | {"kind": "end", "culprit": unknown},
        report["causes"][0] | {"kind": "late", "requirement": None, "requirements": []},
    ]
    finding = {"requirement": "area.one", "level": "must", "verdict": "fail", "message": HOSTILE}
    where = {"transcript": "transcripts/x.jsonl", "event": 1, "reproduce": "conformance run"}
    report["findings"] = [
        finding | where | {"test": case["id"]},
        finding | where | {"test": None},
    ]
    return report


def write_transcript(
    folder: Path, *events: dict[str, Any], name: str = "x.jsonl", protocol: str = "vexide"
) -> Path:
    path = folder / "transcripts" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    header = {"capture": 1, "protocol": protocol, "title": "x", "origin": "recorded"}
    lines = [json.dumps(line) for line in ({**header, "requirements": []}, *events)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path
