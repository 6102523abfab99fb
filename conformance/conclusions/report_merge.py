"""Merges reports of one IUT: the shards of a run, or runs with several seeds.

A requirement gets the worst of its verdicts, and a test the worst of its results. If one of the
runs could not decide, the merged report is undecided too.
"""

import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from conformance import exits
from conformance.conclusions import outcome
from conformance.conclusions.coverage_report import unite_reports
from conformance.configuration import ConfigurationError
from conformance.running.selection import LEFT_OUT, SMOKE
from conformance.verdicts import Verdict, merge

Report = dict[str, Any]
_FILES = ("transcript", "counterexample")
_SHARD = re.compile(r"--shard ([1-9][0-9]{0,5})/([1-9][0-9]{0,5})\Z")
_MAX_SHARDS = 1000  # shards whose absence is reported; the number comes from an untrusted file


def merge_reports(sources: Sequence[tuple[Path, Report]], to: Path) -> Report:
    """Merge several reports, each given with its path; copy their files to the folder ``to``.

    Raises ConfigurationError if the reports cannot be of the same IUT.
    """
    reports = [report for _, report in sources]
    first = reports[0]
    for path, report in sources:
        for what, one, other in (
            ("role", first["iut"]["role"], report["iut"]["role"]),
            ("suite", first["suite"]["version"], report["suite"]["version"]),
        ):
            if one != other:
                raise ConfigurationError(f"{path}: another {what} ({other}, not {one})")
    placed = [_relocate(report, path, to, number) for number, (path, report) in enumerate(sources)]
    tests = _tests(placed)
    requirements = [_requirement(name, placed) for name in _ids(placed)]
    problems = list(dict.fromkeys(problem for report in placed for problem in report["problems"]))
    counts = outcome.count_verdicts(entry["verdict"] for entry in requirements)
    cases = [test for test in tests if test["id"] != SMOKE]
    selection = _selection(placed, len(cases))
    stale = _stale_claims(placed, requirements, whole=selection is None)
    coverage = unite_reports([report.get("coverage") for report in placed])
    code, reason = _outcome(placed, requirements, stale, problems, selection)
    lead = f"{len(cases)} of {selection['of']} tests ({selection['by']}): " if selection else ""
    return {
        **first,
        "verdict": outcome.verdict_word(code),
        "headline": outcome.headline(lead, counts, reason),
        "exit_code": code,
        "selection": selection,
        "interrupted": next((r["interrupted"] for r in placed if r["interrupted"]), None),
        "counts": {
            "requirements": counts,
            "tests": outcome.count_verdicts(test["verdict"] for test in cases),
        },
        "started": min(report["started"] for report in placed),
        "duration_s": round(sum(report["duration_s"] for report in placed), 3),
        "smoke": min((report["smoke"] for report in placed), key=_badness),
        "requirements": requirements,
        "tests": tests,
        "findings": list(_findings(placed)),
        "causes": list(_causes(placed)),
        "problems": problems,
        "stale": stale,
        **({"coverage": coverage} if coverage else {}),
    }


def _badness(entry: Mapping[str, Any]) -> int:
    order = ("fail", "inconclusive", "warn", "known", "pass", "not-exercised", "not-applicable")
    return order.index(entry["verdict"])


def _ids(reports: Sequence[Report]) -> list[str]:
    return list(dict.fromkeys(e["id"] for report in reports for e in report["requirements"]))


def _tests(reports: Sequence[Report]) -> list[dict[str, Any]]:
    """Every test once, with the worst of its results."""
    found: dict[str, list[dict[str, Any]]] = {}
    for report in reports:
        for test in report["tests"]:
            found.setdefault(test["id"], []).append(test)
    smoke = found.pop(SMOKE, [])
    chosen = [min(results, key=_badness) for results in (found[name] for name in sorted(found))]
    return ([min(smoke, key=_badness)] if smoke else []) + chosen


def _requirement(name: str, reports: Sequence[Report]) -> dict[str, Any]:
    entries = [e for report in reports for e in report["requirements"] if e["id"] == name]
    judged = [entry for entry in entries if entry["reason"] != LEFT_OUT] or entries
    verdict = merge(Verdict(entry["verdict"]) for entry in judged)
    shown = next(entry for entry in judged if entry["verdict"] == verdict)
    tests = dict.fromkeys(test for entry in entries for test in entry["tests"])
    return {**shown, "tests": list(tests)}


def _findings(reports: Sequence[Report]) -> Iterator[dict[str, Any]]:
    known: set[tuple[Any, ...]] = set()
    for report in reports:
        for finding in report["findings"]:
            key = (finding["requirement"], finding["message"], finding["test"])
            if key not in known:
                known.add(key)
                yield finding


def _causes(reports: Sequence[Report]) -> Iterator[dict[str, Any]]:
    """Each cause once, with the requirements, tests and consequences of all reports."""
    found: dict[tuple[Any, ...], dict[str, Any]] = {}
    for report in reports:
        for cause in report["causes"]:
            about = cause["what"] if cause["requirement"] is None else cause["requirement"]
            culprit = cause["culprit"]["message"] if cause["culprit"] else ""
            first = found.setdefault((cause["kind"], about, culprit), cause)
            for kind in ("requirements", "tests", "consequences", "undecided"):
                first[kind] += [entry for entry in cause[kind] if entry not in first[kind]]
    yield from sorted(found.values(), key=_badness)


def _stale_claims(
    reports: Sequence[Report], requirements: Sequence[Mapping[str, Any]], whole: bool
) -> list[dict[str, Any]]:
    """The stale claims of known failures; a claim that fails in any report is not stale."""
    known = {entry["id"] for entry in requirements if entry["verdict"] == Verdict.KNOWN}
    entries = {e["requirement"]: e for report in reports for e in report["stale"]}
    for entry in requirements if whole else ():
        # If only the oracle decides a requirement, no single shard can find its claim stale.
        if "known" in entry and entry["verdict"] == Verdict.PASS:
            entries.setdefault(entry["id"], {"requirement": entry["id"], "why": "passes now"})
    return [entry for name, entry in entries.items() if name not in known]


def _selection(reports: Sequence[Report], tests: int) -> dict[str, Any] | None:
    """The common selection; None if the reports contain a run of all tests, or all its shards."""
    parts = [report["selection"] for report in reports]
    if None in parts:
        return None
    of = max(part["of"] for part in parts)
    by = " and ".join(dict.fromkeys(part["by"] for part in parts))
    return {"by": by, "tests": tests, "of": of} if tests < of else None


def _outcome(
    reports: Sequence[Report],
    requirements: Sequence[Mapping[str, Any]],
    stale: Sequence[Any],
    problems: Sequence[str],
    selection: Mapping[str, Any] | None,
) -> tuple[int, str]:
    codes = {report["exit_code"] for report in reports}
    verdicts = {entry["verdict"] for entry in requirements}
    if problems or exits.SUITE_FAILED in codes:
        return exits.SUITE_FAILED, "the suite itself failed"
    if exits.INTERRUPTED in codes:
        return exits.INTERRUPTED, "one of the runs was interrupted"
    if Verdict.FAIL in verdicts:
        return exits.NONCONFORMANT, ""
    if selection and (missing := _missing_shards(reports)):
        are = "are" if len(missing) > 1 else "is"
        return exits.INCONCLUSIVE, f"shard {', '.join(missing)} {are} missing"
    if undecided := [r for r in reports if r["smoke"]["verdict"] != Verdict.PASS]:
        return exits.INCONCLUSIVE, undecided[0]["headline"]
    if selection and exits.INCONCLUSIVE in codes:
        return exits.INCONCLUSIVE, "one of the runs decided nothing, and tests are missing"
    whole = [report for report in reports if report["selection"] is None]
    if undecided := [r for r in whole if r["exit_code"] == exits.INCONCLUSIVE]:
        return exits.INCONCLUSIVE, undecided[0]["headline"]
    if stale:
        return exits.NONCONFORMANT, "known failures do not apply any more"
    if strict := [r for r in reports if r["exit_code"] == exits.NONCONFORMANT and not r["stale"]]:
        return exits.NONCONFORMANT, strict[0]["headline"]
    if not any(outcome.is_passed_must(entry) for entry in requirements):
        return exits.INCONCLUSIVE, "no requirement of level must was exercised"
    if reason := outcome.mostly_undecided(requirements):
        return exits.INCONCLUSIVE, reason
    return exits.CONFORMANT, ""


def _missing_shards(reports: Sequence[Report]) -> list[str]:
    """The shards I/N of the same runs that are missing among the reports."""
    selections = [report["selection"] for report in reports]
    if None in selections:
        return []
    given: dict[tuple[str, int], set[int]] = {}
    for selection in selections:
        if found := _SHARD.search(selection["by"]):
            rest = selection["by"][: found.start()]
            given.setdefault((rest, int(found[2])), set()).add(int(found[1]))
    return [
        f"{part}/{parts}"
        for (_, parts), present in given.items()
        for part in range(1, min(parts, _MAX_SHARDS) + 1)
        if part not in present
    ]


def _relocate(report: Report, source: Path, to: Path, number: int) -> Report:
    """The report with its files copied to another folder, under unique names."""
    folder = source if source.is_dir() else source.parent

    def copied(path: str | None) -> str | None:
        if path is None:
            return None
        below = PurePosixPath(path)
        moved = below.with_name(f"{number}-{below.name}")
        origin, target = (folder / below).resolve(), (to / moved).resolve()
        # Untrusted paths and symbolic links must not lead out of these folders.
        if not target.is_relative_to(to.resolve()):
            raise ConfigurationError(f"{source}: {path!r} is outside of the report's folder")
        if origin.is_relative_to(folder.resolve()) and origin.is_file():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(origin, target)
        return str(moved)

    names: dict[str | None, str | None] = {}

    def once(path: str | None) -> str | None:
        if path not in names:
            names[path] = copied(path)
        return names[path]

    tests = [{**t, **{kind: once(t[kind]) for kind in _FILES}} for t in report["tests"]]
    findings = [{**f, "transcript": once(f["transcript"])} for f in report["findings"]]
    causes = [
        {
            **cause,
            **{kind: once(cause[kind]) for kind in _FILES},
            "culprit": cause["culprit"]
            and {**cause["culprit"], "capture": once(cause["culprit"]["capture"])},
        }
        for cause in report["causes"]
    ]
    return {**report, "tests": tests, "findings": findings, "causes": causes}
