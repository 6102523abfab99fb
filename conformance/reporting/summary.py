"""Formats the summary of a run for a terminal: verdict, causes, and missing means."""

import shlex
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from conformance.definitions.keywords import place
from conformance.reporting import changes, coverage_text, ladder
from conformance.reporting.causes import path_of
from conformance.reporting.text import one_line
from conformance.reporting.wording import (
    Report,
    count_text,
    group_by_reason,
    run_word,
    sort_worst_first,
    untestable_count,
)

MAX_CAUSES = 30  # causes that are listed; the page has all causes
_COLOURS = {
    "conformant": "32",
    "nonconformant": "31",
    "inconclusive": "33",
    "fail": "31",
    "warn": "33",
}


def terminal_summary(
    report: Report, folder: Path | None = None, *, colour: bool = False, width: int = 100
) -> str:
    """The summary as lines of about ``width`` columns, without a last newline.

    ``folder`` is the folder of the report. Every line begins with a word or a mark of the suite.
    Text from an IUT can therefore not look like a line of the suite or a workflow command.
    """
    lines = list(_lines(report, folder, colour, width))
    # "##[...]" is a workflow command anywhere in a line.
    return "\n".join(line.replace("##[", "## [") for line in lines)


def _lines(report: Report, folder: Path | None, colour: bool, width: int) -> Iterator[str]:
    def paint(text: str, kind: str) -> str:
        return f"\x1b[1;{_COLOURS[kind]}m{text}\x1b[0m" if colour else text

    iut, counts = report["iut"], report["counts"]
    word = paint(run_word(report).upper(), report["verdict"])
    yield f"{word}  {one_line(iut['role'], 60)}  {one_line(iut['name'], 60)}"
    yield f"  {one_line(report['headline'], 300)}"
    yield f"  requirements: {count_text(counts['requirements'])}"
    yield (
        f"  tests:        {count_text(counts['tests'])}"
        f"  ({report['duration_s']:.1f} s, seed {report['seed']})"
    )
    if shown := coverage_text.summary(report):
        yield f"  covered:      {one_line(shown, 300)}"
    if report["smoke"]["verdict"] not in ("pass", "not-exercised"):
        yield f"  smoke session {_words(report['smoke']['verdict'])}:"
        yield from _quote(report["smoke"]["detail"], width, most=12)
    for problem in report["problems"]:
        yield paint("  fault of the suite:", "fail")
        yield from _quote(problem, width, most=8)
    for entry in report["stale"]:
        text = f"known failure {entry['requirement']} does not apply: {entry['why']}"
        yield f"  {one_line(text, 2 * width)}"

    if comparison := report.get("comparison"):
        yield ""
        yield f"Since {one_line(comparison['baseline'], 80)}:"
        yield from (f"  {line}" for line in changes.lines(comparison))

    wrong = [
        entry
        for entry in sort_worst_first(report["requirements"])
        if entry["verdict"] in ("fail", "warn")
    ]
    if wrong:
        yield ""
    by_id = {entry["id"]: entry for entry in wrong}
    for cause in report["causes"][:MAX_CAUSES]:
        verdict = paint(f"{cause['verdict'].upper():4}", cause["verdict"])
        yield from _cause_lines(cause, by_id, verdict, width)
        yield from _example_lines(cause, report, folder, width)
    if len(report["causes"]) > MAX_CAUSES:
        yield f"      and {len(report['causes']) - MAX_CAUSES} more, see the report"

    for verdict in ("not-exercised", "inconclusive"):
        groups = group_by_reason(report, verdict)
        if groups:
            yield ""
            yield f"{_words(verdict).capitalize()}: {sum(len(ids) for _, ids in groups)}"
        for reason, ids in groups[:8]:
            named = ids[0] if len(ids) == 1 else f"{ids[0]} and {len(ids) - 1} more"
            yield f"{len(ids):>4}  {one_line(reason, 2 * width - 40)} ({one_line(named, 80)})"
        if len(groups) > 8:
            yield f"      and for {len(groups) - 8} other reasons, see the report"

    if number := untestable_count(report):
        yield ""
        role = one_line(report["iut"]["role"], 60)
        yield f"Nothing can test {number} statements: conformance list {role}"

    yield ""
    smoke = [test for test in report["tests"] if test["id"] == "smoke"]
    for test in smoke:
        if test["verdict"] != "pass":
            yield f"Reproduce it: {one_line(test['reproduce'], 500)}"
    if folder is not None:
        yield f"Report: {one_line(folder / 'index.html', 500)}"


def _cause_lines(
    cause: Report, wrong: Mapping[str, Report], verdict: str, width: int
) -> Iterator[str]:
    """Yield the lines of a cause: requirements, the violation, and results of experiments."""
    entry = wrong.get(cause["requirement"] or "")
    if entry:
        where = f"{entry['level']}, section {entry['section']}"
        more = (
            f", and {_short_list(cause['requirements'][1:])}" if cause["requirements"][1:] else ""
        )
        yield f"{verdict}  {one_line(entry['id'], 80)}  ({one_line(where, 80)}){more}"
        yield f"      > {one_line(cause['what'], 2 * width - 16)}"
    else:
        yield f"{verdict}  {one_line(cause['what'], 160)}"
    if cause["said"]:
        yield f"      {one_line(cause['said'], 2 * width - 16)}"
    culprit = cause["culprit"]
    if culprit and culprit["shown"]:
        yield (
            f"      shown by {culprit['replays']} replays: the smallest session ends twice, "
            f"and continues without {one_line(culprit['message'], 80)}"
        )
    elif culprit and culprit["candidates"]:
        yield f"      candidates, latest first: {_short_list(culprit['candidates'])}"
    if followed := list(dict.fromkeys(e["requirement"] for e in cause["consequences"])):
        noun = "consequence" if len(followed) == 1 else "consequences"
        yield f"      {len(followed)} proven {noun}: {_short_list(followed)}"
        yield f"      for example: {one_line(cause['consequences'][0]['reproduce'], 500)}"
    if left := list(dict.fromkeys(e["requirement"] for e in cause["undecided"])):
        yield f"      {len(left)} not decided: {_short_list(left)}"


def _example_lines(cause: Report, report: Report, folder: Path | None, width: int) -> Iterator[str]:
    """Yield the lines with the message that shows a cause, and the command that repeats it."""
    path = folder / cause["transcript"] if folder is not None and cause["transcript"] else None
    if path and cause["event"] is None:
        yield f"      its session: {one_line(f'conformance show {shlex.quote(str(path))}', 500)}"
    elif path:
        event, member = cause["event"], path_of(report, cause)
        role = report["iut"]["role"].rpartition("/")[2]
        drawn = ladder.read(path, role, {event: [ladder.Mark("", member)]})
        for step in drawn.steps:
            if step.index == event:
                whose = f"{step.sender} sent " if step.sender and step.kind != "event" else ""
                text = f"{whose}{step.label} {step.preview}"
                at = f"{place(member)} of " if member else ""
                at += f"event {event} of {cause['transcript']}"
                yield f"      {one_line(text, width)} ({one_line(at, width)})"
    command = cause["replay"] or cause["reproduce"]
    yield f"      again: {one_line(command, 500)}"


def _short_list(ids: Sequence[str]) -> str:
    """The first three ids, and the number of the others."""
    more = f" and {len(ids) - 3} more" if len(ids) > 3 else ""
    return one_line(", ".join(ids[:3]), 200) + more


def _words(verdict: str) -> str:
    return verdict.replace("-", " ")


def _quote(text: str, width: int, most: int) -> Iterator[str]:
    """Yield the last ``most`` lines of a text, wrapped, each after a mark."""
    lines = [
        part
        for line in text[-100 * width :].splitlines()
        for part in textwrap.wrap(line, width - 6, drop_whitespace=False) or [""]
    ]
    if len(lines) > most:
        yield f"    > [{len(lines) - most} lines before]"
    for line in lines[-most:]:
        yield f"    > {one_line(line, width - 6)}"
