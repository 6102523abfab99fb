"""Reports of version 1 of the contract are still read, shown, compared and merged."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conformance import cli
from conformance.conclusions import stored_reports
from conformance.conclusions.report_merge import merge_reports
from conformance.configuration import ConfigurationError
from conformance.reporting.files import write
from conformance.reporting.page import render
from conformance.reporting.summary import terminal_summary
from conformance.selftest.report_fixtures import death, full, minimal, version_1

Make = Callable[[], dict[str, Any]]


def old(make: Make, folder: Path) -> Path:
    """Write a report of version 1; return its path."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "report.json"
    path.write_text(json.dumps(version_1(make())), "utf-8")
    return path


@pytest.mark.parametrize("make", [minimal, full, death])
def test_an_old_report_is_read_in_the_current_version(make: Make, tmp_path: Path) -> None:
    report = stored_reports.load(old(make, tmp_path))
    assert report["version"] == 2
    for cause in report["causes"]:
        assert cause["requirements"] == [cause["requirement"]]
        assert (cause["consequences"], cause["culprit"]) == ([], None)


def test_a_current_report_is_read_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "report.json").write_text(json.dumps(death()), "utf-8")
    assert stored_reports.load(tmp_path) == death()


def test_consequences_of_an_old_report_are_not_decided(tmp_path: Path) -> None:
    """Version 1 guessed them, so nothing calls them proven."""
    report = stored_reports.load(old(death, tmp_path))
    [cause] = report["causes"]
    assert [entry["requirement"] for entry in cause["undecided"]] == ["area.two", "area.three"]
    assert {entry["detail"] for entry in cause["undecided"]} == {stored_reports.GUESSED}
    for text in (terminal_summary(report), render(report, tmp_path)):
        assert "proven" not in text
        assert "2 not decided" in text


def test_a_cause_without_a_requirement_is_read(tmp_path: Path) -> None:
    def late() -> dict[str, Any]:
        report = death()
        report["causes"][0] |= {"kind": "late", "requirement": None}
        return report

    assert stored_reports.load(old(late, tmp_path))["causes"][0]["requirements"] == []


def test_old_and_new_reports_are_compared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "new.json").write_text(json.dumps(minimal("fail")), "utf-8")
    words = [str(old(minimal, tmp_path / "old")), str(tmp_path / "new.json")]
    assert cli.main(["compare", *words]) == 1
    assert "area.one" in capsys.readouterr().out


def test_an_old_report_is_merged(tmp_path: Path) -> None:
    path = old(death, tmp_path / "old")
    whole = merge_reports([(path, stored_reports.load(path))] * 2, tmp_path / "whole")
    write(whole, tmp_path / "whole")
    assert stored_reports.load(tmp_path / "whole") == whole


def test_a_report_that_is_none_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    for text in ("[]", "{}", "no JSON", json.dumps({**minimal(), "version": 0})):
        path.write_text(text, "utf-8")
        with pytest.raises(ConfigurationError, match="report"):
            stored_reports.load(path)
