"""Comparing two reports, several reports on one page, and merging parts of one run."""

import contextlib
import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conformance import cli, configuration
from conformance.conclusions import known_failures, stored_reports
from conformance.conclusions.comparison import Comparison, compare
from conformance.conclusions.report_merge import merge_reports
from conformance.configuration import ConfigurationError
from conformance.reporting import changes, side_by_side
from conformance.reporting.files import write
from conformance.running.selection import LEFT_OUT, Selection
from conformance.selftest.report_fixtures import death, hostile, minimal
from conformance.selftest.test_reporting_page import Page

VERDICTS = ("pass", "fail", "warn", "inconclusive", "not-exercised", "not-applicable", "known")


def report(*verdicts: str, **more: Any) -> dict[str, Any]:
    """Return a report of the requirements area.r0, area.r1, … with these verdicts."""
    made = minimal()
    one = made["requirements"][0]
    made["requirements"] = [
        one
        | {"id": f"area.r{number}", "verdict": verdict, "reason": f"it is {verdict}", "tests": []}
        for number, verdict in enumerate(verdicts)
    ]
    made["counts"]["requirements"] = {name: verdicts.count(name) for name in VERDICTS}
    return made | more


def kinds(old: str, new: str) -> list[str]:
    return list(compare(report(old), report(new), "old").groups())


@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [
        ("pass", "fail", "regressions"),
        ("pass", "warn", "regressions"),
        ("warn", "fail", "regressions"),
        ("known", "fail", "regressions"),
        ("inconclusive", "fail", "regressions"),
        ("not-exercised", "warn", "regressions"),
        ("fail", "pass", "fixes"),
        ("warn", "pass", "fixes"),
        ("known", "pass", "fixes"),
        ("pass", "not-exercised", "lost"),
        ("pass", "inconclusive", "lost"),
        ("fail", "not-exercised", "lost"),
        ("pass", "not-applicable", "lost"),
        ("not-exercised", "pass", "gained"),
        ("inconclusive", "pass", "gained"),
    ],
)
def test_a_change_is_of_one_kind(old: str, new: str, kind: str) -> None:
    assert kinds(old, new) == [kind]


@pytest.mark.parametrize("verdict", VERDICTS)
def test_no_change_is_none(verdict: str) -> None:
    assert kinds(verdict, verdict) == []


def test_requirements_that_come_and_go() -> None:
    found = compare(report("pass", "pass"), report("pass"), "old")
    assert [change.requirement for change in found.removed] == ["area.r1"]
    found = compare(report("pass"), report("pass", "fail"), "old")
    assert [change.requirement for change in found.added] == ["area.r1"]


def test_what_a_selection_leaves_out_is_compared_with_nothing() -> None:
    part = report("not-exercised", "fail")
    part["requirements"][0]["reason"] = LEFT_OUT
    assert list(compare(report("pass", "pass"), part, "old").groups()) == ["regressions"]
    assert list(compare(part, report("pass", "fail"), "old").groups()) == []


def test_what_is_lost_counts_only_where_it_is_strict() -> None:
    lost = compare(report("pass"), report("not-exercised"), "old.json")
    assert (lost.failure_text(strict=False), lost.failure_text(strict=True)) == (
        "",
        "1 no longer decided since old.json",
    )
    assert Comparison("x").failure_text(strict=True) == ""


def test_changes_are_inert_everywhere() -> None:
    evil = hostile()
    evil["requirements"][0]["verdict"] = "fail"
    groups = compare(report("pass"), evil, "x").to_json()
    for line in [*changes.lines(groups), *changes.markdown(groups)]:
        assert "<script" not in line or not line.startswith("|")
        assert "\x1b" not in line and "\n" not in line


# The command


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    monkeypatch.chdir(tmp_path)

    def written(name: str, made: dict[str, Any]) -> str:
        made["headline"] = "one line"
        Path(name).write_text(json.dumps(made))
        return name

    return written


@pytest.mark.parametrize(
    ("old", "new", "words", "code"),
    [
        (["pass"], ["pass"], [], 0),
        (["fail"], ["pass"], [], 0),
        (["pass"], ["fail"], [], 1),
        (["pass"], ["not-exercised"], [], 0),
        (["pass"], ["not-exercised"], ["--strict"], 1),
    ],
)
def test_compare(
    place: Callable[..., str], old: list[str], new: list[str], words: list[str], code: int
) -> None:
    names = [place("old.json", report(*old)), place("new.json", report(*new))]
    assert cli.main(["compare", *names, *words, "--page", "page.html"]) == code
    assert cli.main(["compare", *names, *words, "--markdown"]) == code
    page = Page(Path("page.html").read_text())
    assert not page.code["script"]


def test_compare_with_a_run_that_decided_nothing(place: Callable[..., str]) -> None:
    undecided = report("inconclusive", verdict="inconclusive", exit_code=3)
    names = [place("old.json", report("pass")), place("new.json", undecided)]
    assert cli.main(["compare", *names]) == 3


def test_compare_what_cannot_be(
    place: Callable[..., str], capsys: pytest.CaptureFixture[str]
) -> None:
    other = report("pass")
    other["iut"]["role"] = "vexide/frontend"
    one = place("a.json", report("pass"))
    for wrong in (place("b.json", other), place("c.json", {}), "absent.json"):
        assert cli.main(["compare", one, wrong]) == 2
        assert capsys.readouterr().err.count("\n") == 1


def test_report_of_several(place: Callable[..., str]) -> None:
    names = [place("a.json", report("pass")), place("b.json", report("fail"))]
    assert cli.main(["report", *names, "--badge", "badge.json", "--page", "all.html"]) == 0
    text = Path("all.html").read_text()
    assert "area.r0" in text and 'href="./index.html"' in text
    badge = json.loads(Path("badge.json").read_text())
    assert badge["schemaVersion"] == 1 and badge["label"] == "vexide/simulator"


def test_the_badge_says_the_worst() -> None:
    bad = report("fail", verdict="nonconformant")
    assert (
        side_by_side.badge([report("pass"), bad])["message"] == "not conformant, 1 of 1 exercised"
    )
    assert side_by_side.badge([report("pass"), bad])["color"] == "red"
    assert side_by_side.badge([report("pass", "not-exercised")])["message"] == (
        "conformant, 1 of 2 exercised"
    )


def test_the_badge_counts_a_requirement_once_for_each_role() -> None:
    halves = [report("pass", "not-exercised"), report("not-exercised", "pass")]
    assert side_by_side.badge(halves)["message"] == "conformant, 2 of 2 exercised"
    halves[1]["iut"]["role"] = "vexide/frontend"
    assert side_by_side.badge(halves)["message"] == "conformant, 2 of 4 exercised"


# Merging


def part(number: int, of: int, **tests: str) -> dict[str, Any]:
    """Return a shard: tests by name, each with its own requirement, and their verdicts."""
    made = report(*("not-exercised" for _ in range(of)))
    test = minimal()["tests"][0]
    made["tests"] = []
    for entry in made["requirements"]:
        entry["reason"] = LEFT_OUT
        if verdict := tests.get(entry["id"].partition(".")[2]):
            entry |= {"verdict": verdict, "reason": f"it is {verdict}"}
            made["tests"].append(test | {"id": entry["id"], "verdict": verdict})
    made["selection"] = {"by": f"--shard {number}/2", "tests": len(tests), "of": of}
    return made


def test_shards_make_a_whole(tmp_path: Path) -> None:
    parts = [part(1, 3, r0="pass", r2="warn"), part(2, 3, r1="pass")]
    whole = merge_reports([(tmp_path, made) for made in parts], tmp_path / "whole")
    assert whole["selection"] is None
    assert [entry["verdict"] for entry in whole["requirements"]] == ["pass", "pass", "warn"]
    assert (whole["verdict"], whole["exit_code"], len(whole["tests"])) == ("conformant", 0, 3)
    write(whole, tmp_path / "whole")
    assert stored_reports.load(tmp_path / "whole") == whole


def test_a_missing_shard_is_no_whole(tmp_path: Path) -> None:
    whole = merge_reports([(tmp_path, part(1, 3, r0="pass"))], tmp_path / "whole")
    assert whole["selection"] == {"by": "--shard 1/2", "tests": 1, "of": 3}
    assert whole["headline"].startswith("1 of 3 tests (--shard 1/2): ")
    assert whole["headline"].endswith("shard 2/2 is missing")
    assert (whole["exit_code"], whole["verdict"]) == (3, "inconclusive")


def test_shards_of_a_selection_are_all_of_it(tmp_path: Path) -> None:
    parts = [part(1, 9, r0="pass"), part(2, 9, r1="pass")]
    for made in parts:
        made["selection"]["by"] = f"-k 'x' {made['selection']['by']}"
    assert merge_reports([(tmp_path, made) for made in parts], tmp_path / "whole")["exit_code"] == 0
    parts[0]["selection"]["by"] = "-k 'x' --shard 5/7"
    whole = merge_reports([(tmp_path, made) for made in parts], tmp_path / "whole")
    assert "shard 1/7, 2/7, 3/7, 4/7, 6/7, 7/7, 1/2 are missing" in whole["headline"]


def test_the_worst_of_several_seeds_counts(tmp_path: Path) -> None:
    good, bad = part(1, 1, r0="pass"), part(1, 1, r0="fail")
    bad |= {"exit_code": 1, "verdict": "nonconformant"}
    for order in ([good, bad], [bad, good]):
        whole = merge_reports(
            [(tmp_path, copy.deepcopy(made)) for made in order], tmp_path / "whole"
        )
        assert (whole["exit_code"], whole["tests"][0]["verdict"]) == (1, "fail")


@pytest.mark.parametrize(("code", "word"), [(4, "suite"), (130, "interrupted"), (3, "decided")])
def test_what_one_part_lacks_the_whole_lacks(tmp_path: Path, code: int, word: str) -> None:
    parts = [part(1, 3, r0="pass"), part(2, 3, r1="pass") | {"exit_code": code}]
    whole = merge_reports([(tmp_path, made) for made in parts], tmp_path / "whole")
    assert whole["exit_code"] == code
    assert word in whole["headline"]


def test_a_whole_run_without_a_verdict_leaves_none(tmp_path: Path) -> None:
    lost = part(1, 3, r0="pass", r1="pass", r2="pass") | {"selection": None, "exit_code": 3}
    lost["headline"] = "the IUT was gone"
    parts = [copy.deepcopy(lost), lost]
    whole = merge_reports([(tmp_path, made) for made in parts], tmp_path / "whole")
    assert (whole["exit_code"], whole["verdict"]) == (3, "inconclusive")
    assert "the IUT was gone" in whole["headline"]


def test_shards_that_decide_too_little_decide_nothing(tmp_path: Path) -> None:
    parts = [part(1, 3, r0="pass", r2="inconclusive"), part(2, 3, r1="inconclusive")]
    whole = merge_reports([(tmp_path, made) for made in parts], tmp_path / "whole")
    assert whole["exit_code"] == 3
    assert "2 requirements of level must were tried and not decided" in whole["headline"]


def test_a_known_failure_that_only_the_whole_shows_to_pass(tmp_path: Path) -> None:
    """The oracle decides a requirement in every session, although no test case does."""
    parts = [part(1, 3, r0="pass"), part(2, 3, r1="pass")]
    for made in parts:
        made["selection"]["of"] = 2
        for entry in made["requirements"]:
            if entry["id"] == "area.r2":
                entry |= {"verdict": "pass", "reason": "", "known": "slow"}
    whole = merge_reports([(tmp_path, made) for made in parts], tmp_path / "whole")
    assert whole["stale"] == [{"requirement": "area.r2", "why": "passes now"}]
    assert whole["exit_code"] == 1
    alone = merge_reports([(tmp_path, copy.deepcopy(parts[0]))], tmp_path / "alone")
    assert alone["stale"] == []


def test_transcripts_of_parts_keep_apart(tmp_path: Path) -> None:
    sources: list[tuple[Path, dict[str, Any]]] = []
    for name in ("a", "b"):
        made = part(1, 2, **{f"r{len(sources)}": "pass"})
        made["tests"][0]["transcript"] = "transcripts/x.jsonl"
        (tmp_path / name / "transcripts").mkdir(parents=True)
        (tmp_path / name / "transcripts" / "x.jsonl").write_text(name)
        sources.append((tmp_path / name, made))
    whole = merge_reports(sources, tmp_path / "whole")
    texts = [(tmp_path / "whole" / test["transcript"]).read_text() for test in whole["tests"]]
    assert texts == ["a", "b"]


def test_ends_of_parts_are_merged_by_culprit(tmp_path: Path) -> None:
    """Two culprits of one requirement are two causes, each with its smallest session."""
    sources: list[tuple[Path, dict[str, Any]]] = []
    for name, culprit in (("a", "Touch"), ("b", "USD"), ("c", "Touch")):
        made = death()
        made["causes"][0]["culprit"]["message"] = culprit
        made["causes"][0]["tests"] = [name]
        smallest = tmp_path / name / made["causes"][0]["culprit"]["capture"]
        smallest.parent.mkdir(parents=True)
        smallest.write_text(name)
        sources.append((tmp_path / name, made))
    whole = merge_reports(sources, tmp_path / "whole")
    found = {cause["culprit"]["message"]: cause for cause in whole["causes"]}
    assert [cause["tests"] for cause in found.values()] == [["a", "c"], ["b"]]
    for name, cause in (("a", found["Touch"]), ("b", found["USD"])):
        assert (tmp_path / "whole" / cause["culprit"]["capture"]).read_text() == name
        assert [entry["requirement"] for entry in cause["undecided"]] == ["area.three"]


@pytest.mark.parametrize(
    "path",
    ["a\n/../../../x", "a\n", "..\n/../x", "./x", "a/../../x", "/x", "a\\..\\x", "transcripts/.."],
)
def test_a_path_never_leaves_its_folder(tmp_path: Path, path: str) -> None:
    made = part(1, 1, r0="pass")
    made["tests"][0]["transcript"] = path
    (tmp_path / "report.json").write_text(json.dumps(made))
    with pytest.raises(ConfigurationError, match="no report of this suite"):
        stored_reports.load(tmp_path)


@pytest.mark.parametrize("path", ["../x", "a\n/../../x", "x.jsonl"])
def test_merging_writes_nowhere_else(tmp_path: Path, path: str) -> None:
    """Even a path that the schema would let through stays inside."""
    source = tmp_path / "deep" / "source"
    (source / "a\n").mkdir(parents=True)
    (source / path).write_text("evil")
    before = {each for each in tmp_path.rglob("*") if "whole" not in each.parts}
    made = part(1, 1, r0="pass")
    made["tests"][0]["transcript"] = path
    with contextlib.suppress(ConfigurationError):
        merge_reports([(source, made)], tmp_path / "deep" / "whole")
    assert {each for each in tmp_path.rglob("*") if "whole" not in each.parts} == before


def test_only_parts_of_one_thing_are_merged(tmp_path: Path) -> None:
    other = part(2, 2, r1="pass")
    other["iut"]["role"] = "vexide/frontend"
    with pytest.raises(ConfigurationError, match="another role"):
        merge_reports([(tmp_path, part(1, 2, r0="pass")), (tmp_path, other)], tmp_path / "whole")


# Selections


def test_shards_are_a_partition_that_keeps_requirements_together() -> None:
    cases = [(f"t{number}", f"r{number % 5}") for number in range(20)]
    taken = [Selection(shard=f"{number}/3").of(cases) for number in (1, 2, 3)]
    for number, (_, requirement) in enumerate(cases):
        ours = [shard[number] for shard in taken]
        assert sum(ours) == 1
        first = [name for _, name in cases].index(requirement)
        assert ours == [shard[first] for shard in taken]


def test_a_list_of_known_failures_can_be_loaded(tmp_path: Path) -> None:
    made = report("pass", "fail", "warn")
    made["requirements"][1] |= {"id": "ready.once", "reason": 'it says "no"\nand\x1b more'}
    made["requirements"][2] |= {"id": "signature.sent"}
    file = tmp_path / "conformance.toml"
    assert known_failures.write(made, file) == 2
    head = '[iut]\nrole = "vexide/simulator"\ncommand = "true"\n'
    file.write_text(head + file.read_text())
    loaded = configuration.check_configuration(configuration.load(file))
    assert list(loaded.known_failures) == ["ready.once", "signature.sent"]
    with pytest.raises(ConfigurationError, match="exists already"):
        known_failures.prepare(file)
