"""Reports in files and on the terminal: truthful, bounded, and safe against any IUT."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from jsonschema import Draft202012Validator

from conformance.conclusions import stored_reports
from conformance.definitions import locations
from conformance.reporting import junit as junit_file
from conformance.reporting import page
from conformance.reporting.github import github_annotations, github_step_summary
from conformance.reporting.summary import terminal_summary
from conformance.reporting.text import hexdump, hexdump_size, make_visible, one_line
from conformance.running.selection import SMOKE
from conformance.selftest.report_fixtures import (
    HOSTILE,
    death,
    full,
    hostile,
    minimal,
    sample,
    sample_folder,
    version_1,
)

# The schema and the sample


def test_the_schema_is_a_schema_and_describes_every_member() -> None:
    schema = json.loads((locations.reports() / "report.schema.json").read_text("utf-8"))
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


def validator() -> Draft202012Validator:
    schema = json.loads((locations.reports() / "report.schema.json").read_text("utf-8"))
    return Draft202012Validator(schema)


@pytest.mark.parametrize("make", [minimal, full, death, hostile])
@pytest.mark.parametrize("contract", [dict, version_1])
def test_fixtures_fit_the_schema(
    make: Callable[[], dict[str, Any]], contract: Callable[[dict[str, Any]], dict[str, Any]]
) -> None:
    """The schema allows both versions of the contract."""
    report = make()
    report["headline"] = one_line(report["headline"])
    validator().validate(contract(report))


@pytest.mark.parametrize("make", [sample, full])
def test_the_sample_fits_the_schema(make: Callable[[], dict[str, Any]]) -> None:
    report = make()
    validator().validate(report)
    for kind in ("requirements", "tests"):
        counted = [entry for entry in report[kind] if entry["id"] != SMOKE]
        for verdict, number in report["counts"][kind].items():
            assert number == sum(entry["verdict"] == verdict for entry in counted)


@pytest.mark.parametrize("path", ["/etc/passwd", "../x.jsonl", "a/../../x", "c:\\x", "a\\..\\x"])
def test_the_schema_keeps_paths_below_the_report(path: str) -> None:
    report = minimal()
    report["tests"][0]["transcript"] = path
    assert not validator().is_valid(report)


def test_the_sample_page_is_up_to_date() -> None:
    fresh = page.render(stored_reports.load(sample_folder()), sample_folder())
    written = (sample_folder() / "index.html").read_text("utf-8")
    assert written == fresh, (
        "render reports/sample again, with python -m conformance.selftest.sample"
    )


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
    assert make_visible(raw) == shown


def test_long_text_is_cut_and_says_so() -> None:
    assert make_visible("x" * 1500, 1000).endswith("… [500 more characters]")
    assert one_line("a\n b\t\tc" + "d" * 500, 20) == "a b c" + "d" * 14 + "…"
    assert len(one_line("\u202e" * 10**6, 100)) < 700


def test_the_size_of_a_hexdump_is_known_before() -> None:
    assert all(hexdump_size(count) == len(hexdump(bytes(count))) for count in range(100))


def test_the_hex_dump_reads_like_any_other() -> None:
    assert hexdump(bytes(range(0x3A, 0x4C))) == (
        "0000  3a 3b 3c 3d 3e 3f 40 41  42 43 44 45 46 47 48 49  :;<=>?@ABCDEFGHI\n"
        "0010  4a 4b" + " " * 18 + "  " + " " * 23 + "  JK"
    )


# JUnit


def junit(report: dict[str, Any]) -> ElementTree.Element:
    return ElementTree.fromstring(junit_file.junit(report))


def test_junit_counts_agree(full: dict[str, Any]) -> None:
    root = junit(full)
    cases = list(root.iter("testcase"))
    for scope in [root, *root.iter("testsuite")]:
        inside = list(scope.iter("testcase"))
        assert int(scope.attrib["tests"]) == len(inside)
        for tag, key in (("failure", "failures"), ("error", "errors"), ("skipped", "skipped")):
            assert int(scope.attrib[key]) == sum(case.find(tag) is not None for case in inside)
    names = {case.attrib["name"]: case for case in cases}
    assert len(names) == len(cases)
    for test in full["tests"]:
        case = names[test["id"]]
        assert (case.find("failure") is not None) == (test["verdict"] == "fail")
        skipped = test["verdict"] in ("inconclusive", "not-exercised", "not-applicable", "known")
        assert (case.find("skipped") is not None) == skipped
        assert (case.find("system-out") is not None) == (test["verdict"] == "warn")


def test_junit_shows_a_requirement_that_no_test_of_its_own_failed(tmp_path: Path) -> None:
    report = minimal()
    report["verdict"] = "nonconformant"
    report["requirements"][0] |= {"verdict": "fail", "reason": "seen elsewhere"}
    root = junit(report)
    failure = root.find(".//testcase[@name='area.one']/failure")
    assert failure is not None and failure.attrib["message"] == "seen elsewhere"


@pytest.mark.parametrize("verdict", ["nonconformant", "inconclusive"])
def test_junit_of_a_run_that_is_not_conformant_is_never_green(tmp_path: Path, verdict: str) -> None:
    report = minimal("warn")  # as it is with --strict
    report["verdict"] = verdict
    root = junit(report)
    assert int(root.attrib["failures"]) + int(root.attrib["errors"]) == 1
    kind = {"nonconformant": "failure", "inconclusive": "error"}[verdict]
    assert root.find(f".//testcase[@name='verdict']/{kind}") is not None


def test_junit_has_no_illegal_character() -> None:
    root = junit(hostile())
    assert int(root.attrib["errors"]) == 2  # for the problem and for the smoke session
    text = junit_file.junit(hostile()).decode()
    assert not re.search("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff\u202e]", text)
    assert "alert(1)" in "".join(root.itertext())


# Terminal


def test_the_summary_names_what_is_wrong_and_what_to_provide(full: dict[str, Any]) -> None:
    text = terminal_summary(full, Path("out"))
    lines = text.splitlines()
    assert lines[0].startswith("NOT CONFORMANT  vexide/simulator")
    assert full["headline"] in lines[1]
    for entry in full["requirements"]:
        if entry["verdict"] in ("fail", "warn"):
            assert f"{entry['verdict'].upper()}  {entry['id']}" in text
            assert entry["reason"] in text
    assert "Not exercised: 3" in text
    assert "   2  name a robot program that reports what it sees" in text
    assert lines[-1] == "Report: out/index.html"
    assert "\x1b" not in text
    assert "\x1b[1;31mNOT CONFORMANT\x1b[0m" in terminal_summary(full, colour=True)


def test_the_summary_shows_what_experiments_found() -> None:
    text = terminal_summary(death())
    for line in (
        "it said: out of memory",
        "shown by 9 replays: the smallest session ends twice, and continues without Touch Pressed",
        "1 proven consequence: area.two",
        "for example: conformance run --without 'Touch Pressed'",
        "1 not decided: area.three",
    ):
        assert f"      {line}\n" in text


def test_the_summary_calls_candidates_candidates() -> None:
    text = terminal_summary(death(shown=False))
    assert "      candidates, latest first: Touch Pressed, USD\n" in text
    assert "shown by" not in text and "proven" not in text


def test_the_summary_is_neutral_and_short_whatever_the_iut_says() -> None:
    report = hostile()
    report["requirements"] = [report["requirements"][0] | {"id": f"a.b{n}"} for n in range(500)]
    cause = report["causes"][0]
    report["causes"] = [cause | {"requirement": f"a.b{n}"} for n in range(500)]
    report["problems"] = [HOSTILE * 5000]
    text = terminal_summary(report)
    assert len(text) < 30_000
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f\u202e\u2066\ud800]", text)
    assert "##[" not in text
    assert not any(line.lstrip().startswith("::") for line in text.splitlines())
    assert "and 470 more" in text


# GitHub Actions


def test_annotations_are_one_line_each_and_bounded(full: dict[str, Any]) -> None:
    lines = github_annotations(full)
    kinds = [line.split(" ")[0] for line in lines]
    assert (kinds.count("::error"), kinds.count("::warning"), kinds.count("::notice")) == (3, 2, 1)
    # A failure with a cause has a command that repeats it; a stale known failure has none.
    again = [
        kind for kind, line in zip(kinds, lines, strict=True) if "; again: conformance" in line
    ]
    assert again == ["::error", "::error", "::warning", "::warning"]
    report = hostile()
    one = report["requirements"][0] | {"section": "1: a, b::c"}
    report["requirements"] = [one | {"id": f"a.b{n}"} for n in range(50)]
    lines = github_annotations(report)
    assert len(lines) == 10
    assert lines[-1] == "::error title=more::and 44 more, see the report"
    for line in lines:
        assert re.fullmatch(r"::error title=[^:,]*::[^\x00-\x1f]*", line)


def test_the_step_summary_is_inert_markdown(full: dict[str, Any]) -> None:
    text = github_step_summary(full)
    assert text.startswith("## ✗ Not conformant: vexide/simulator")
    assert "| requirements | 2 |" in text
    text = github_step_summary(hostile())
    assert len(text) < 2**20
    assert not re.search(r"[<>`\[\]{}\x1b\u202e]", text)
    for line in text.splitlines():
        if line.startswith("|"):
            assert line.endswith("|")
