"""Tests of conformance.reporting: truthful, bounded, and inert whatever an IUT says."""

import copy
import json
import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from jsonschema import Draft202012Validator

from conformance import locate
from conformance.reporting import (
    github_annotations,
    github_step_summary,
    ladder,
    page,
    terminal_summary,
    write_junit,
    write_page,
)
from conformance.reporting.text import hexdump, one_line, visible

HOSTILE = (
    "</script><script>alert(1)</script>\" onload='alert(2)' <img src=//x onerror=alert(3)>"
    "{{ 7*7 }} ]]> \x00\x1b[31m\u202e\u2066\ufeff\ud800 ##[error]no\n::error::no\r\n| `x` [y](z)"
)


def sample_folder() -> Path:
    return locate.reports() / "sample"


@pytest.fixture
def sample() -> dict[str, Any]:
    report: dict[str, Any] = json.loads((sample_folder() / "report.json").read_text("utf-8"))
    return report


def minimal(verdict: str = "pass", **test: Any) -> dict[str, Any]:
    """A report of one requirement with one test."""
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
        "suite": {"name": "conformance", "version": "0"},
        "iut": {"name": "iut", "role": "vexide/simulator", "command": ["iut"], "address": None},
        "verdict": run,
        "headline": "1 exercised, 0 not exercised, 0 inconclusive",
        "exit_code": 0,
        "counts": {"requirements": dict(counts), "tests": dict(counts)},
        "seed": 1,
        "started": "2026-01-01T00:00:00Z",
        "duration_s": 0.2,
        "ixit": {},
        "smoke": {"verdict": "pass", "detail": ""},
        "requirements": [requirement],
        "tests": [case | test],
        "findings": [],
        "problems": [],
        "stale": [],
    }


def hostile() -> dict[str, Any]:
    """A report in which every text that an IUT can influence is an attack."""
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
    finding = {"requirement": "area.one", "level": "must", "verdict": "fail", "message": HOSTILE}
    where = {"transcript": "transcripts/x.jsonl", "event": 1}
    report["findings"] = [
        finding | where | {"test": report["tests"][0]["id"]},
        finding | where | {"test": None},
    ]
    return report


def write_transcript(folder: Path, *events: dict[str, Any], name: str = "x.jsonl") -> Path:
    path = folder / "transcripts" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    header = {"capture": 1, "protocol": "vexide", "title": "x", "origin": "recorded"}
    lines = [json.dumps(line) for line in ({**header, "requirements": []}, *events)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


class Page(HTMLParser):
    """What a browser would see: elements with attributes, and the texts of scripts and styles."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.code: dict[str, list[str]] = {"script": [], "style": []}
        self.texts: list[str] = []
        self._within = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag in self.code:
            self._within = tag

    def handle_endtag(self, tag: str) -> None:
        self._within = ""

    def handle_data(self, data: str) -> None:
        (self.code[self._within] if self._within else self.texts).append(data)


def assert_inert(text: str) -> Page:
    found = Page(text)
    templates = locate.reports()
    assert "".join(found.code["script"]) == (templates / "script.js").read_text("utf-8")
    assert "".join(found.code["style"]) == (templates / "style.css").read_text("utf-8")
    assert sum(tag == "script" for tag, _ in found.elements) == 1
    assert sum(tag == "style" for tag, _ in found.elements) == 1
    loading = {"img", "iframe", "object", "embed", "link", "base", "video", "audio", "image", "use"}
    for tag, attributes in found.elements:
        assert tag not in loading
        for name, value in attributes.items():
            assert not name.startswith("on") and name not in {"style", "src", "action", "srcdoc"}
            assert name != "href" or (value or "").startswith("#")
    return found


# The schema and the sample


def test_the_schema_is_a_schema_and_describes_every_member() -> None:
    schema = json.loads((locate.reports() / "report.schema.json").read_text("utf-8"))
    Draft202012Validator.check_schema(schema)

    def described(part: dict[str, Any]) -> bool:
        target = schema["$defs"][part["$ref"].rpartition("/")[2]] if "$ref" in part else part
        return "description" in target or "properties" in target

    objects = [schema, *schema["$defs"].values(), *schema["properties"].values()]
    for entry in objects:
        for name, part in entry.get("properties", {}).items():
            assert described(part), name
        if "properties" in entry:
            assert entry["additionalProperties"] is False


@pytest.mark.parametrize("make", [minimal, hostile])
def test_reports_made_here_fit_the_schema(make: Callable[[], dict[str, Any]]) -> None:
    report = make()
    report["headline"] = one_line(report["headline"])
    validator().validate(report)


def validator() -> Draft202012Validator:
    schema = json.loads((locate.reports() / "report.schema.json").read_text("utf-8"))
    return Draft202012Validator(schema)


def test_the_sample_fits_the_schema(sample: dict[str, Any]) -> None:
    validator().validate(sample)
    for kind in ("requirements", "tests"):
        for verdict, number in sample["counts"][kind].items():
            assert number == sum(entry["verdict"] == verdict for entry in sample[kind])


@pytest.mark.parametrize("path", ["/etc/passwd", "../x.jsonl", "a/../../x", "c:\\x", "a\\..\\x"])
def test_the_schema_keeps_paths_below_the_report(sample: dict[str, Any], path: str) -> None:
    sample["tests"][0]["transcript"] = path
    assert not validator().is_valid(sample)


def test_the_sample_page_is_up_to_date(sample: dict[str, Any]) -> None:
    fresh = page.render(sample, sample_folder())
    stored = (sample_folder() / "index.html").read_text("utf-8")
    assert stored == fresh, "render reports/sample again, with conformance.reporting.write_page"


# The page


def test_the_page_refers_to_nothing_outside(sample: dict[str, Any]) -> None:
    text = page.render(sample, sample_folder())
    found = assert_inert(text)
    assert "://" not in "".join(found.code["style"]) + "".join(found.code["script"])
    assert "@import" not in text and "url(" not in text
    (policy,) = [a["content"] or "" for t, a in found.elements if t == "meta" and "http-equiv" in a]
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "unsafe" not in policy


def test_the_page_says_what_a_reader_wants(sample: dict[str, Any]) -> None:
    text = page.render(sample, sample_folder())
    shown = "".join(Page(text).texts)
    assert "Not conformant" in shown and sample["headline"] in shown
    for entry in sample["requirements"]:
        assert entry["text"] in shown and entry["reason"] in shown
    for test in sample["tests"]:
        assert test["purpose"] in shown and test["reproduce"] in shown
        assert f'id="{page.test_anchor(test["id"])}"' in text
    failed = page.test_anchor("vexide/test_handshake.py::test_version_at_most_offered")
    assert text.index(f'id="{failed}"') < text.index('id="test-', text.index(f'id="{failed}"') + 5)
    assert re.search(rf'id="{failed}"[^>]* open>', text)
    assert "Offending event 3" in shown
    assert "63 61 66 e9 20 ff  fe 22" in shown  # what is no UTF-8 is there byte for byte


def test_the_page_is_inert_whatever_the_iut_says(tmp_path: Path) -> None:
    report = hostile()
    write_transcript(
        tmp_path,
        {"at": 0, "from": "simulator", "text": HOSTILE, "message": HOSTILE, "value": HOSTILE},
        {"at": 1, "from": HOSTILE, "event": HOSTILE, HOSTILE: HOSTILE},
        {"at": 2, "from": "simulator", "hex": "fffe003c"},
    )
    path = write_page(report, tmp_path)
    text = path.read_text("utf-8")
    found = assert_inert(text)
    shown = "".join(found.texts)
    assert "alert(1)" in shown  # it is there to be read
    assert "{{ 7*7 }}" in shown  # as is: nothing evaluated it
    for character in "\x00\x1b\r\u202e\u2066\ufeff":
        assert character not in text
    assert "\\x1b[31m" in shown and "\\u202e" in shown
    assert "ff fe 00 3c" in shown


def test_every_single_field_is_inert(sample: dict[str, Any], tmp_path: Path) -> None:
    """One string of the report replaced at a time, wherever it stands."""
    report = minimal("fail", expected="e", came="c")
    report["requirements"][0]["note"] = "n"
    report["problems"] = ["p"]
    report["stale"] = [{"requirement": "s", "why": "w"}]
    report["findings"] = copy.deepcopy(sample["findings"][:1])
    closed = {"verdict", "level", "tested", "transcript", "counterexample", "role"}

    def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        if isinstance(value, str):
            return [] if closed & set(path) else [path]
        keys = (
            value
            if isinstance(value, dict)
            else range(len(value))
            if value and isinstance(value, list)
            else ()
        )
        return [place for key in keys for place in places(value[key], (*path, key))]

    found = places(report)
    assert len(found) > 25
    for place in found:
        changed = copy.deepcopy(report)
        target: Any = changed
        for key in place[:-1]:
            target = target[key]
        target[place[-1]] = HOSTILE
        text = page.render(changed, tmp_path)
        assert_inert(text)
        assert not re.search("[\x00\x1b\r\u202e\u2066\ufeff\ud800]", text), place


def test_a_huge_transcript_is_bounded_and_says_so(tmp_path: Path) -> None:
    line = {
        "at": 1,
        "from": "simulator",
        "text": "x" * 50_000,
        "message": "Log",
        "value": "y" * 50_000,
    }
    write_transcript(tmp_path, *[line] * 1000)
    report = minimal("fail", transcript="transcripts/x.jsonl", offending=700)
    text = page.render(report, tmp_path)
    assert text.count('<li class="step') <= ladder.MOST_EVENTS
    assert len(text) < 5_000_000
    assert "Offending event 700" in text
    assert "events not shown" in text
    assert "the first 2,048 of 50,000 bytes" in text
    assert "1,000 events" in text
    drawn = ladder.read(tmp_path / "transcripts" / "x.jsonl", "simulator", {})
    assert max(step.dump.count("\n") for step in drawn.steps) < ladder.MOST_BYTES // 16
    assert max(len(step.decoded) for step in drawn.steps) < 2 * ladder.MOST_DECODED


def test_all_ladders_together_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page, "PAGE_SIZE", 1000)
    event = {"at": 0, "from": "simulator", "text": "x" * 200, "message": "Log", "value": 1}
    write_transcript(tmp_path, *[event] * 10)
    report = minimal(transcript="transcripts/x.jsonl")
    report["tests"] = [report["tests"][0] | {"id": f"t.py::test_{n}"} for n in range(3)]
    text = page.render(report, tmp_path)
    assert text.count("left out, as the page is long enough") == 2


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff\xfe",
        b"[1]\n",
        b'{"capture":1}\n{"at":0,"hex":"zz"}\n',
        b'{"capture":1}\n{"at":"x","from":3,"base64":"!","message":[]}\n',
        b'{"capture":1}\n{"at":0,"text":7}\n',
        b'{"capture":1}\n' + b'{"a":' * 100_000 + b"\n",
        b'{"capture":1,"iut":["x"]}\n{"at":0,"from":["x"],"event":{}}\n\n{}\n',
        b'{"capture":1}\n{"at":0,"from":"s","text":"' + b"x" * (ladder.MOST_LINE + 5) + b'"}\n',
    ],
)
def test_a_damaged_transcript_does_not_stop_the_page(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "transcripts" / "x.jsonl"
    path.parent.mkdir()
    path.write_bytes(content)
    text = page.render(minimal(transcript="transcripts/x.jsonl"), tmp_path)
    assert "cannot be read" in text or "not shown" in text or "Session" in text


@pytest.mark.parametrize("path", ["transcripts/none.jsonl", "../secret.jsonl"])
def test_a_transcript_that_is_missing_or_elsewhere_is_not_shown(tmp_path: Path, path: str) -> None:
    (tmp_path / "secret.jsonl").write_text('{"capture":1}\n{"at":0,"event":"secret-event"}\n')
    folder = tmp_path / "report"
    folder.mkdir()
    text = page.render(minimal(transcript=path), folder)
    assert "secret-event" not in text
    assert "cannot be read" in text or "not below" in text


def test_the_ladder_tells_the_sides_apart(tmp_path: Path) -> None:
    path = write_transcript(
        tmp_path,
        {"at": 0, "from": "frontend", "text": '"A"\n', "message": "A", "value": "A"},
        {"at": 0.5, "from": "simulator", "hex": "00ff"},
        {"at": 1, "from": "simulator", "event": "exited", "code": 3},
    )
    drawn = ladder.read(path, "simulator", {1: ["wrong"]})
    assert [step.side for step in drawn.steps] == ["tester", "iut", "iut"]
    assert [step.kind for step in drawn.steps] == ["message", "bytes", "event"]
    assert [step.marks for step in drawn.steps] == [(), ("wrong",), ()]
    assert (drawn.tester, drawn.iut, drawn.total) == ("frontend", "simulator", 3)
    assert drawn.steps[1].label == "2 bytes"
    assert "code" in drawn.steps[2].decoded


# Text


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("plain é 漢 🤖", "plain é 漢 🤖"),
        ("a\x1b[2J\x00\x7f\x9b", r"a\x1b[2J\x00\x7f\x9b"),
        ("\u202e\u2066\u200b\ufeff", r"\u202e\u2066\u200b\ufeff"),
        ("\ud800", r"\ud800"),
        ("a\r\nb\u2028", "a\\r\nb\\u2028"),
    ],
)
def test_what_prints_nothing_is_made_visible(raw: str, shown: str) -> None:
    assert visible(raw) == shown


def test_long_text_is_cut_and_says_so() -> None:
    assert visible("x" * 1500, 1000).endswith("… [500 more characters]")
    assert one_line("a\n b\t\tc" + "d" * 500, 20) == "a b c" + "d" * 14 + "…"
    assert len(one_line("\u202e" * 10**6, 100)) < 700


def test_the_hex_dump_reads_like_any_other() -> None:
    assert hexdump(bytes(range(0x3A, 0x4C))) == (
        "0000  3a 3b 3c 3d 3e 3f 40 41  42 43 44 45 46 47 48 49  :;<=>?@ABCDEFGHI\n"
        "0010  4a 4b" + " " * 18 + "  " + " " * 23 + "  JK"
    )


# JUnit


def junit(report: dict[str, Any], folder: Path) -> ElementTree.Element:
    return ElementTree.parse(write_junit(report, folder)).getroot()


def test_junit_counts_agree(sample: dict[str, Any], tmp_path: Path) -> None:
    root = junit(sample, tmp_path)
    cases = list(root.iter("testcase"))
    for scope in [root, *root.iter("testsuite")]:
        inside = list(scope.iter("testcase"))
        assert int(scope.attrib["tests"]) == len(inside)
        for tag, key in (("failure", "failures"), ("error", "errors"), ("skipped", "skipped")):
            assert int(scope.attrib[key]) == sum(case.find(tag) is not None for case in inside)
    names = {case.attrib["name"]: case for case in cases}
    assert len(names) == len(cases)
    for test in sample["tests"]:
        case = names[test["id"]]
        assert (case.find("failure") is not None) == (test["verdict"] == "fail")
        skipped = test["verdict"] in ("inconclusive", "not-exercised", "not-applicable", "known")
        assert (case.find("skipped") is not None) == skipped
        assert (case.find("system-out") is not None) == (test["verdict"] == "warn")


def test_junit_shows_a_requirement_that_no_test_of_its_own_failed(tmp_path: Path) -> None:
    report = minimal()
    report["verdict"] = "nonconformant"
    report["requirements"][0] |= {"verdict": "fail", "reason": "seen elsewhere"}
    root = junit(report, tmp_path)
    failure = root.find(".//testcase[@name='area.one']/failure")
    assert failure is not None and failure.attrib["message"] == "seen elsewhere"


@pytest.mark.parametrize("verdict", ["nonconformant", "inconclusive"])
def test_junit_of_a_run_that_is_not_conformant_is_never_green(tmp_path: Path, verdict: str) -> None:
    report = minimal("warn")  # as --strict leaves it
    report["verdict"] = verdict
    root = junit(report, tmp_path)
    assert int(root.attrib["failures"]) + int(root.attrib["errors"]) == 1
    assert root.find(".//testcase[@name='verdict']/failure") is not None


def test_junit_has_no_illegal_character(tmp_path: Path) -> None:
    root = junit(hostile(), tmp_path)
    assert int(root.attrib["errors"]) == 2  # the problem and the smoke session
    text = (tmp_path / "junit.xml").read_text("utf-8")
    assert not re.search("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff\u202e]", text)
    assert "alert(1)" in "".join(root.itertext())


# Terminal


def test_the_summary_names_what_is_wrong_and_what_to_provide(sample: dict[str, Any]) -> None:
    text = terminal_summary(sample, Path("out"))
    lines = text.splitlines()
    assert lines[0].startswith("NOT CONFORMANT  vexide/simulator")
    assert sample["headline"] in lines[1]
    for entry in sample["requirements"]:
        if entry["verdict"] in ("fail", "warn"):
            assert f"{entry['verdict'].upper()}  {entry['id']}" in text
            assert entry["reason"] in text
    assert "Not exercised: 3" in text
    assert "   2  name a robot program that reports what it sees" in text
    assert lines[-1] == "Report: out/index.html"
    assert "\x1b" not in text
    assert "\x1b[1;31mNOT CONFORMANT\x1b[0m" in terminal_summary(sample, colour=True)


def test_the_summary_is_neutral_and_short_whatever_the_iut_says() -> None:
    report = hostile()
    report["requirements"] = [report["requirements"][0] | {"id": f"a.b{n}"} for n in range(500)]
    report["problems"] = [HOSTILE * 5000]
    text = terminal_summary(report)
    assert len(text) < 30_000
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f\u202e\u2066\ud800]", text)
    assert "##[" not in text
    assert not any(line.lstrip().startswith("::") for line in text.splitlines())
    assert "and 470 more" in text


# GitHub Actions


def test_annotations_are_one_line_each_and_bounded(sample: dict[str, Any]) -> None:
    lines = github_annotations(sample)
    kinds = [line.split(" ")[0] for line in lines]
    assert (kinds.count("::error"), kinds.count("::warning"), kinds.count("::notice")) == (3, 2, 1)
    report = hostile()
    one = report["requirements"][0] | {"section": "1: a, b::c"}
    report["requirements"] = [one | {"id": f"a.b{n}"} for n in range(50)]
    lines = github_annotations(report)
    assert len(lines) == 10
    assert lines[-1] == "::error title=more::and 44 more, see the report"
    for line in lines:
        assert re.fullmatch(r"::error title=[^:,]*::[^\x00-\x1f]*", line)


def test_the_step_summary_is_inert_markdown(sample: dict[str, Any]) -> None:
    text = github_step_summary(sample)
    assert text.startswith("## ✗ Not conformant: vexide/simulator")
    assert "| requirements | 2 |" in text
    text = github_step_summary(hostile())
    assert len(text) < 2**20
    assert not re.search(r"[<>`\[\]{}\x1b\u202e]", text)
    for line in text.splitlines():
        if line.startswith("|"):
            assert line.endswith("|")
