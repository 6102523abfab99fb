"""Writes workflow commands and a step summary for GitHub Actions."""

from collections.abc import Iterator

from conformance.reporting import changes
from conformance.reporting.markdown import escape, table
from conformance.reporting.text import one_line
from conformance.reporting.wording import (
    RUN_SYMBOLS,
    SYMBOLS,
    VERDICTS,
    WORDS,
    Report,
    group_by_reason,
    iut_address,
    run_word,
    sort_worst_first,
)

MAX_ANNOTATIONS = 10  # annotations of one kind in one step: GitHub drops the rest
MAX_ROWS = 100  # rows of the step summary's table: GitHub refuses a summary above one mebibyte


def github_annotations(report: Report) -> list[str]:
    """The workflow commands of a report, each on one line.

    - Errors: an undecided run, faults of the suite, stale known failures, failed requirements.
    - Warnings: warned requirements.
    - Notices: inconclusive requirements.

    A run whose exit code is not 0 has an error.
    """
    found: dict[str, list[tuple[str, str]]] = {"error": [], "warning": [], "notice": []}
    if report["verdict"] == "inconclusive":
        found["error"].append((run_word(report), report["headline"]))
    found["error"] += [("fault of the suite", problem) for problem in report["problems"]]
    if report["smoke"]["verdict"] in ("fail", "inconclusive"):
        found["error"].append(("smoke session", report["smoke"]["detail"]))
    for entry in report["stale"]:
        found["error"].append((f"known failure {entry['requirement']}", entry["why"]))
    kinds = {"fail": "error", "warn": "warning", "inconclusive": "notice"}
    for entry in report["requirements"]:
        if kind := kinds.get(entry["verdict"]):
            title = f"{entry['id']} ({entry['level']}, {entry['section']})"
            command = _repeat_command(report, entry["id"])
            reason = f"{entry['reason']}; again: {command}" if command else entry["reason"]
            found[kind].append((title, reason))
    if report["exit_code"] and not found["error"]:
        found["error"].append((run_word(report), report["headline"]))
    return [line for kind, items in found.items() for line in _annotations(kind, items)]


def _annotations(kind: str, items: list[tuple[str, str]]) -> Iterator[str]:
    shown = items if len(items) <= MAX_ANNOTATIONS else items[: MAX_ANNOTATIONS - 1]
    for title, message in shown:
        value = _command_data(one_line(title, 120)).replace(":", "%3A").replace(",", "%2C")
        yield f"::{kind} title={value}::{_command_data(one_line(message, 500))}"
    if len(items) > len(shown):
        yield f"::{kind} title=more::and {len(items) - len(shown)} more, see the report"


def _repeat_command(report: Report, requirement: str) -> str:
    """The command that repeats a failure; empty if the report has none."""
    causes = (cause for cause in report["causes"] if requirement in cause["requirements"])
    return next((str(cause["reproduce"]) for cause in causes), "")


def _command_data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def github_step_summary(report: Report) -> str:
    """The step summary, as Markdown."""
    return "\n".join(_summary(report)) + "\n"


def _summary(report: Report) -> Iterator[str]:
    iut, counts = report["iut"], report["counts"]
    verdict = f"{RUN_SYMBOLS[report['verdict']]} {run_word(report)}"
    yield f"## {verdict}: {escape(iut['role'])} {escape(iut['name'])}"
    yield ""
    yield escape(report["headline"], 500)
    yield ""
    yield from table(
        ("", *(f"{SYMBOLS[v]} {WORDS[v]}" for v in VERDICTS)),
        [(name, *(str(counts[name][v]) for v in VERDICTS)) for name in ("requirements", "tests")],
    )
    if report["smoke"]["verdict"] != "pass":
        yield from ("", f"**Smoke session:** {escape(report['smoke']['detail'], 1000)}")
    for problem in report["problems"]:
        yield from ("", f"**Fault of the suite:** {escape(problem, 1000)}")
    for entry in report["stale"]:
        yield from (
            "",
            f"**Known failure {escape(entry['requirement'])}:** {escape(entry['why'], 500)}",
        )
    wanted = ("fail", "warn", "inconclusive", "known")
    rows = [e for e in sort_worst_first(report["requirements"]) if e["verdict"] in wanted]
    if rows:
        yield ""
        yield from table(
            ("Verdict", "Requirement", "Level", "Section", "Reason", "Again"),
            [
                (
                    f"{SYMBOLS[e['verdict']]} {e['verdict']}",
                    escape(e["id"]),
                    escape(e["level"]),
                    escape(e["section"]),
                    escape(e["reason"], 400),
                    escape(_repeat_command(report, e["id"]), 400),
                )
                for e in rows[:MAX_ROWS]
            ],
        )
        if len(rows) > MAX_ROWS:
            yield from ("", f"and {len(rows) - MAX_ROWS} more")
    if groups := group_by_reason(report):
        yield from ("", "**Not exercised**, and what to provide:", "")
        for reason, ids in groups[:MAX_ROWS]:
            yield f"- {len(ids)}: {escape(reason, 400)}"
    if comparison := report.get("comparison"):
        yield from ("", f"### Since {escape(comparison['baseline'])}", "")
        yield from changes.markdown(comparison)
    yield ""
    yield (
        f"{report['duration_s']:.1f} s, seed {report['seed']}, "
        f"{escape(report['suite']['name'])} {escape(report['suite']['version'])}, "
        f"IUT: {escape(iut_address(report), 300)}"
    )
