"""The page: truthful, bounded, and safe against any text of an IUT."""

import copy
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from conformance.definitions import locations
from conformance.reporting import ladder, page
from conformance.reporting.ladder import Mark
from conformance.reporting.page import write_page
from conformance.selftest.report_fixtures import (
    FOLDER,
    HOSTILE,
    death,
    hostile,
    minimal,
    write_transcript,
)


class Page(HTMLParser):
    """A parser that collects elements with attributes, and the texts of scripts and styles."""

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
    templates = locations.reports()
    assert "".join(found.code["script"]) == (templates / "script.js").read_text("utf-8")
    assert "".join(found.code["style"]) == (templates / "style.css").read_text("utf-8")
    assert sum(tag == "script" for tag, _ in found.elements) == 1
    assert sum(tag == "style" for tag, _ in found.elements) == 1
    loading = {"img", "iframe", "object", "embed", "link", "base", "video", "audio", "image", "use"}
    for tag, attributes in found.elements:
        assert tag not in loading
        for name, value in attributes.items():
            assert not name.startswith("on") and name not in {"style", "src", "action", "srcdoc"}
            assert name != "href" or re.match("#|[.]/(transcripts|counterexamples)/", value or "")
    return found


def test_the_page_refers_to_nothing_outside(full: dict[str, Any]) -> None:
    text = page.render(full, FOLDER)
    found = assert_inert(text)
    assert "://" not in "".join(found.code["style"]) + "".join(found.code["script"])
    assert "@import" not in text and "url(" not in text
    (policy,) = [a["content"] or "" for t, a in found.elements if t == "meta" and "http-equiv" in a]
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "unsafe" not in policy


def test_the_page_says_what_a_reader_wants(full: dict[str, Any]) -> None:
    text = page.render(full, FOLDER)
    shown = "".join(Page(text).texts)
    assert "Not conformant" in shown and full["headline"] in shown
    for entry in full["requirements"]:
        assert entry["text"] in shown and entry["reason"] in shown
    for test in full["tests"]:
        assert test["purpose"] in shown and test["reproduce"] in shown
        assert f'id="{page.test_anchor(test["id"])}"' in text
    assert text.index('class="cause fail"') < text.index('id="requirements"')
    assert "Offending event 3\nhandshake.version-at-most-offered: " in shown
    assert "Offending event 39\nmotor.flags-zero: " in shown


def test_what_is_not_utf_8_is_shown_byte_for_byte() -> None:
    drawn = ladder.read(FOLDER / "transcripts" / "serial-bytes.jsonl", "simulator", {})
    assert any("63 61 66 e9 20 ff  fe 22" in step.dump for step in drawn.steps)


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
    assert "alert(1)" in shown  # readers can see the text
    assert "{{ 7*7 }}" in shown  # the text was not evaluated
    for character in "\x00\x1b\r\u202e\u2066\ufeff":
        assert character not in text
    assert "\\x1b[31m" in shown and "\\u202e" in shown
    assert "ff fe 00 3c" in shown


def test_every_single_field_is_inert(full: dict[str, Any], tmp_path: Path) -> None:
    """Each string of the report is replaced by an attack, one at a time."""
    report = minimal("fail", expected="e", came="c")
    report["requirements"][0]["note"] = "n"
    report["problems"] = ["p"]
    report["stale"] = [{"requirement": "s", "why": "w"}]
    report["findings"] = copy.deepcopy(full["findings"][:1])
    report["causes"] += death()["causes"] + death(shown=False)["causes"]
    closed = {"verdict", "level", "tested", "transcript", "counterexample", "capture", "role"}

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
    assert text.count('<li class="step') <= ladder.MAX_EVENTS
    assert len(text) < 5_000_000
    assert "Offending event 700" in text
    assert "events not shown" in text
    assert "the first 2,048 of 50,000 bytes" in text
    assert "1,000 events" in text
    drawn = ladder.read(tmp_path / "transcripts" / "x.jsonl", "simulator", {})
    assert max(step.dump.count("\n") for step in drawn.steps) < ladder.MAX_BYTES // 16
    assert max(len(step.decoded) for step in drawn.steps) < 2 * ladder.MAX_DECODED


def test_all_ladders_together_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page, "PAGE_SIZE", 1000)
    event = {"at": 0, "from": "simulator", "text": "x" * 200, "message": "Log", "value": 1}
    write_transcript(tmp_path, *[event] * 10)
    report = minimal("fail", transcript="transcripts/x.jsonl")
    report["tests"] = [report["tests"][0] | {"id": f"t.py::test_{n}"} for n in range(3)]
    text = page.render(report, tmp_path)
    assert text.count("left out, because the page is long") == 2


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
        b'{"capture":1}\n{"at":0,"from":"s","text":"' + b"x" * (ladder.MAX_LINE + 5) + b'"}\n',
    ],
)
def test_a_damaged_transcript_does_not_stop_the_page(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "transcripts" / "x.jsonl"
    path.parent.mkdir()
    path.write_bytes(content)
    text = page.render(minimal("fail", transcript="transcripts/x.jsonl"), tmp_path)
    assert "cannot be read" in text or "not shown" in text or "Session" in text


@pytest.mark.parametrize("path", ["transcripts/none.jsonl", "../secret.jsonl"])
def test_a_transcript_that_is_missing_or_elsewhere_is_not_shown(tmp_path: Path, path: str) -> None:
    (tmp_path / "secret.jsonl").write_text('{"capture":1}\n{"at":0,"event":"secret-event"}\n')
    folder = tmp_path / "report"
    folder.mkdir()
    text = page.render(minimal("fail", transcript=path), folder)
    assert "secret-event" not in text
    assert "cannot be read" in text or "not below" in text


def test_a_session_in_which_nothing_was_wrong_is_left_to_a_command(tmp_path: Path) -> None:
    write_transcript(tmp_path, {"at": 0, "from": "simulator", "text": "x", "message": "Log"})
    text = page.render(minimal(transcript="transcripts/x.jsonl"), tmp_path)
    assert '<li class="step' not in text
    assert "conformance show transcripts/x.jsonl" in text


def test_the_ladder_tells_the_sides_apart(tmp_path: Path) -> None:
    path = write_transcript(
        tmp_path,
        {"at": 0, "from": "frontend", "text": '"A"\n', "message": "A", "value": "A"},
        {"at": 0.5, "from": "simulator", "hex": "00ff"},
        {"at": 1, "from": "simulator", "event": "exited", "code": 3},
    )
    drawn = ladder.read(path, "simulator", {1: [Mark("wrong")]})
    assert [step.side for step in drawn.steps] == ["tester", "iut", "iut"]
    assert [step.kind for step in drawn.steps] == ["message", "bytes", "event"]
    assert [step.marks for step in drawn.steps] == [(), (Mark("wrong"),), ()]
    assert (drawn.tester, drawn.iut, drawn.total) == ("frontend", "simulator", 3)
    assert drawn.steps[1].label == "2 bytes"
    assert "code" in drawn.steps[2].decoded


# Violations come first, with their places.


def test_causes_come_first_with_message_and_command(tmp_path: Path) -> None:
    value = {"Log": {"level": "info", "message": 7}}
    event = {"at": 0.5, "from": "simulator", "text": json.dumps(value), "message": "Log"}
    write_transcript(tmp_path, {**event, "value": value})
    report = minimal("fail", transcript="transcripts/x.jsonl")
    shown = {"what": "Log.message: 7 is no text", "reproduce": "do it again", "event": 0}
    report["causes"][0] |= shown | {"transcript": "transcripts/x.jsonl"}
    where = {"test": "t.py::test_one", "transcript": "transcripts/x.jsonl", "event": 0}
    found = {"requirement": "area.one", "level": "must", "verdict": "fail", "message": "no text"}
    report["findings"] = [found | where | {"path": ["Log", "message"]}]
    text = page.render(report, tmp_path)
    first = text[text.index("What to mend") : text.index('id="requirements"')]
    for part in ("Log.message: 7 is no text", "do it again", "It holds.", "Log from the simulator"):
        assert part in first
    # The field is marked in the decoded form, in hex, and among the characters.
    assert re.findall("<mark>(.*?)</mark>", first) == ["7", "37", "7"]


def cause_of(report: dict[str, Any], folder: Path) -> str:
    """Return the part of a page that shows the first cause."""
    text = page.render(report, folder)
    return text[text.index('class="cause fail"') : text.index('id="requirements"')]


def test_an_end_shows_the_culprit_and_what_follows(tmp_path: Path) -> None:
    cause = cause_of(death(), tmp_path)
    for part in (
        "was killed by SIGKILL when it was sent Touch Pressed",
        "it said: out of memory",
        "Shown by 9 replays",
        "./counterexamples/x-smallest.jsonl",
        "1 proven consequence: its test passes if Touch Pressed is left out",
        "#req-area.two",
        "conformance run --without &#39;Touch Pressed&#39;",
        "1 not decided",
        "#req-area.three",
        "its test needs Touch Pressed",
    ):
        assert part in cause, part


def test_an_end_without_experiments_shows_candidates(tmp_path: Path) -> None:
    cause = cause_of(death(shown=False), tmp_path)
    assert "Candidates, the latest first: Touch Pressed, USD." in cause
    assert "Shown by 9" not in cause and "proven" not in cause


def test_a_cause_names_all_requirements_that_it_violates(tmp_path: Path) -> None:
    report = death()
    report["causes"][0]["requirements"] = ["area.one", "area.two"]
    assert "It violates" in cause_of(report, tmp_path)


def test_failed_tests_are_marked_where_they_are_named(full: dict[str, Any]) -> None:
    text = page.render(full, FOLDER)
    table = text[text.index('id="requirements"') :]
    failed = next(test for test in full["tests"] if test["verdict"] == "fail")
    link = f'<a href="#{page.test_anchor(failed["id"])}">'
    assert re.search(f'<li class="fail"><span class="flag" title="fail">.{{0,120}}{link}', table)
