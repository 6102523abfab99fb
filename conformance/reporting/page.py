"""Writes index.html: the whole report as one self-contained file that trusts no input.

Three layers prevent that text from an IUT becomes active content:

- ``make_visible`` is applied to every value that the template prints.
- Jinja2 escapes the result.
- The page's policy allows the two inlined files, by their hashes, and no request at all.
"""

import base64
import hashlib
import json
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

from jinja2 import (
    Environment,
    FileSystemBytecodeCache,
    FileSystemLoader,
    StrictUndefined,
    Template,
)
from markupsafe import Markup

from conformance.atomic_files import replace
from conformance.definitions import locations
from conformance.reporting import changes, coverage_text, ladder, wording
from conformance.reporting.causes import Cause, causes
from conformance.reporting.glossary import GLOSSARY
from conformance.reporting.ladder import Ladder, Mark, Step
from conformance.reporting.places import Range
from conformance.reporting.text import make_visible
from conformance.reporting.wording import VERDICTS, Report, area, sort_worst_first

PAGE_SIZE = 4_000_000  # characters of all ladders, so that a browser can still scroll
SHORT = PAGE_SIZE // 4  # characters up to which the page has ladders of inconclusive tests, too
LEVELS = ("must", "should", "may")


def write_page(report: Report, folder: Path) -> Path:
    """Write ``folder/index.html``, and return its path.

    The report's paths of transcripts are relative to ``folder``.
    """
    path = folder / "index.html"
    replace(path, render(report, folder))
    return path


def render(report: Report, folder: Path) -> str:
    """The page as text."""
    style, script = inline_source("style.css"), inline_source("script.js")
    requirements = sort_worst_first(report["requirements"])
    cards = list(_cards(report, folder))
    return template("template.html").render(
        report=report,
        style=style,
        script=script,
        policy=policy(style, script),
        requirements=requirements,
        areas=sorted({area(entry["id"]) for entry in requirements}),
        levels=[level for level in LEVELS if any(e["level"] == level for e in requirements)],
        bar=_bar(report["counts"]["requirements"]),
        cards=cards,
        failures=[_Shown.of(cause, cards, report, folder) for cause in causes(report, "fail")],
        warnings=[
            _Shown.of(cause, cards, report, folder)
            for cause in causes(report, "warn", "inconclusive")
        ],
        knowns=[_Shown.of(cause, cards, report, folder) for cause in causes(report, "known")],
        open_=wording.group_by_reason(report, "inconclusive"),
        glossary=GLOSSARY,
        kinds=changes.TITLES,
        verdict_of={test["id"]: test["verdict"] for test in report["tests"]},
        titles={test["id"]: title(test) for test in report["tests"]},
        strays=_strays(report),
        seen_in=_tests_showing(report),
        missing=wording.group_by_reason(report),
        reached=wording.iut_address(report),
        verdicts=VERDICTS,
        sides=[
            (side, coverage_text.line(side), coverage_text.groups(side))
            for side in report.get("coverage", {}).get("sides", ())
            if side["groups"]
        ],
        unshown=report.get("comparison", {}).get("unshown", ()),
        thing=coverage_text.thing,
        symbols=wording.SYMBOLS,
        words=wording.WORDS,
        run_word=wording.run_word(report),
        run_symbol=wording.RUN_SYMBOLS[report["verdict"]],
        area=area,
        segments=segments,
        address=address,
        showing=show_command,
        test_anchor=test_anchor,
        as_json=_as_json,
    )


@cache
def template(name: str) -> Template:
    """A template that makes every printed value visible, and escapes it."""
    # Compiling the template takes longer than the rest of a small page, so it is cached.
    cached = locations.cache_folder()
    environment = Environment(
        loader=FileSystemLoader(locations.reports()),
        bytecode_cache=FileSystemBytecodeCache(str(cached)) if cached else None,
        autoescape=True,
        finalize=_escape,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    return environment.get_template(name)


def test_anchor(test: str) -> str:
    """The fragment of a test on the page; it only depends on the test's id."""
    return "test-" + hashlib.sha256(test.encode("utf-8", "surrogatepass")).hexdigest()[:12]


def title(test: Mapping[str, Any]) -> str:
    """The purpose of a test and its parameter, if it has one."""
    _, bracket, rest = test["id"].partition("[")
    purpose = str(test["purpose"]).removesuffix(".")
    return f"{purpose} [{rest}" if bracket else purpose


def segments(text: str, ranges: Iterable[Range]) -> Iterator[tuple[str, bool]]:
    """Yield the parts of a text, each with True if it is in a range."""
    at = 0
    for start, end in ranges:
        yield text[at:start], False
        yield text[start:end], True
        at = end
    yield text[at:], False


def address(path: str) -> str:
    """A path relative to the page as a link that cannot name another site."""
    return quote(path, safe="/") if path.startswith("../") else "./" + quote(path, safe="/")


def show_command(path: str) -> str:
    """The command that shows a session, to be run in the folder of the page."""
    return f"conformance show {shlex.quote(path)}"


@dataclass(frozen=True, slots=True)
class _Shown:
    """A cause, and the step of its test's ladder that shows it."""

    cause: Cause
    step: Step | None

    @classmethod
    def of(cls, cause: Cause, cards: Iterable["_Card"], report: Report, folder: Path) -> "_Shown":
        transcript, event = cause.entry["transcript"], cause.entry["event"]
        if transcript is None or event is None:
            return cls(cause, None)
        drawn = next((card.ladder for card in cards if card.test is cause.test), None)
        if cause.test is None or cause.test["transcript"] != transcript:
            drawn = _read(folder, transcript, report, {event: [Mark("", cause.path)]})
        steps = drawn.steps if drawn else ()
        return cls(cause, next((step for step in steps if step.index == event), None))


@dataclass(frozen=True, slots=True)
class _Card:
    """A test with its requirement, findings and ladder."""

    test: Mapping[str, Any]
    requirement: Mapping[str, Any] | None
    findings: tuple[Mapping[str, Any], ...]
    ladder: Ladder | None


def _cards(report: Report, folder: Path) -> Iterator[_Card]:
    requirements = {entry["id"]: entry for entry in report["requirements"]}
    findings: dict[str, list[Mapping[str, Any]]] = {}
    for finding in report["findings"]:
        findings.setdefault(finding["test"], []).append(finding)
    left = PAGE_SIZE
    for test in sort_worst_first(report["tests"]):
        own = tuple(findings.get(test["id"], ()))
        drawn = None
        # For a session without any violation, the page only has the command that shows it.
        wrong = own or test["verdict"] in ("fail", "warn", "inconclusive", "known")
        if wrong and test["transcript"] is not None:
            least = PAGE_SIZE - SHORT if test["verdict"] == "inconclusive" and not own else 0
            drawn = _ladder(report, folder, test, own) if left > least else _NO_ROOM
            left -= drawn.size
        yield _Card(test, requirements.get(test["requirement"]), own, drawn)


_NO_ROOM = Ladder(problem="left out, because the page is long; see the file")


def _ladder(
    report: Report,
    folder: Path,
    test: Mapping[str, Any],
    findings: Iterable[Mapping[str, Any]],
) -> Ladder:
    marks: dict[int, list[Mark]] = {}
    if test["offending"] is not None:
        marks[test["offending"]] = []
    for finding in findings:
        if finding["event"] is not None and finding["transcript"] == test["transcript"]:
            mark = Mark(f"{finding['requirement']}: {finding['message']}", finding.get("path", ()))
            marks.setdefault(finding["event"], []).append(mark)
    for event, texts in marks.items():
        if not texts:
            texts.append(Mark(f"{test['requirement']}: {test.get('came') or test['detail']}"))
        marks[event] = texts[:8]
    return _read(folder, test["transcript"], report, marks)


def _read(folder: Path, transcript: str, report: Report, marks: ladder.Marks) -> Ladder:
    path = folder / transcript
    if not path.resolve().is_relative_to(folder.resolve()):
        return Ladder(problem="the transcript is not below the report's folder")
    return ladder.read(path, report["iut"]["role"].rpartition("/")[2], marks)


def _strays(report: Report) -> list[Mapping[str, Any]]:
    """Findings without a test in the report, for example of a session through the proxy."""
    tests = {test["id"] for test in report["tests"]}
    return [finding for finding in report["findings"] if finding["test"] not in tests]


def _tests_showing(report: Report) -> dict[str, list[str]]:
    """The tests of other requirements whose sessions violated a requirement, by requirement."""
    decided = {test["id"]: test["requirement"] for test in report["tests"]}
    seen: dict[str, list[str]] = {}
    for finding in report["findings"]:
        tests = seen.setdefault(finding["requirement"], [])
        if decided.get(finding["test"], finding["requirement"]) != finding["requirement"]:
            tests.append(finding["test"])
    return {requirement: list(dict.fromkeys(tests))[:5] for requirement, tests in seen.items()}


def _bar(counts: Mapping[str, int]) -> list[tuple[str, float, float]]:
    """The bar's segments, as verdict, start and width in percent."""
    total = Counter(counts).total()
    segments, start = [], 0.0
    for verdict in VERDICTS:
        if counts[verdict]:
            width = round(100 * counts[verdict] / total, 3)
            segments.append((verdict, round(start, 3), width))
            start += width
    return segments


def _escape(value: object) -> object:
    """The text that the template prints: our own markup, or visible and bounded text."""
    return value if isinstance(value, Markup) else make_visible(value)


def _as_json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def inline_source(name: str) -> Markup:
    """A style or script of ours, to be inlined into a page."""
    path = locations.reports() / name
    text = path.read_text(encoding="utf-8")
    if "</" in text:
        raise ValueError(f"{path}: '</' would end the element that it is inlined into")
    return Markup(text)  # ours, and checked above


def policy(style: str, script: str) -> str:
    """The Content-Security-Policy of a page: this style, this script, and nothing else."""

    def source(text: str) -> str:
        digest = hashlib.sha256(text.encode("utf-8")).digest()
        return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"

    return (
        f"default-src 'none'; style-src {source(style)}; script-src {source(script)}; "
        "base-uri 'none'; form-action 'none'"
    )
