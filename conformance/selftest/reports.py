"""Reports and transcripts from which the self-tests make pages and files."""

import json
from pathlib import Path
from typing import Any

from conformance.definitions import locate

HOSTILE = (
    "</script><script>alert(1)</script>\" onload='alert(2)' <img src=//x onerror=alert(3)>"
    "{{ 7*7 }} ]]> \x00\x1b[31m\u202e\u2066\ufeff\ud800 ##[error]no\n::error::no\r\n| `x` [y](z)"
)


def sample_folder() -> Path:
    return locate.reports() / "sample"


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
    """Return a report of one requirement with one test."""
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
        "purpose": "whether it holds",
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


def hostile() -> dict[str, Any]:
    """Return a report in which every text that an IUT can influence is an attack."""
    report = minimal(
        "fail", transcript="transcripts/x.jsonl", offending=0, id=f"t.py::x[{HOSTILE}]"
    )
    for key in ("purpose", "detail", "expected", "came", "reproduce"):
        report["tests"][0][key] = HOSTILE
    report["requirements"][0] |= {"reason": HOSTILE, "note": HOSTILE, "text": HOSTILE}
    report["requirements"][0]["tests"] = [report["tests"][0]["id"]]
    report["iut"] |= {"name": HOSTILE, "command": [HOSTILE]}
    report["headline"] = HOSTILE
    report["ixit"] = {HOSTILE: HOSTILE}
    report["smoke"] = {"verdict": "fail", "detail": HOSTILE}
    report["problems"] = [HOSTILE]
    report["stale"] = [{"requirement": HOSTILE, "why": HOSTILE}]
    report["causes"][0] |= dict.fromkeys(("what", "said", "reproduce", "replay"), HOSTILE)
    report["causes"] += [report["causes"][0] | {"kind": "end", "requirement": None}]
    finding = {"requirement": "area.one", "level": "must", "verdict": "fail", "message": HOSTILE}
    where = {"transcript": "transcripts/x.jsonl", "event": 1, "reproduce": "conformance run"}
    report["findings"] = [
        finding | where | {"test": report["tests"][0]["id"]},
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
