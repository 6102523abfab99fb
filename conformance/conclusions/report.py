"""Builds the content of report.json from the facts of a run."""

import datetime
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from conformance import __version__
from conformance.conclusions import known_failures, stored_reports
from conformance.conclusions.causes import causes
from conformance.conclusions.comparison import compare
from conformance.conclusions.coverage_report import coverage_member
from conformance.conclusions.decisions import facts
from conformance.conclusions.outcome import (
    Run,
    count_verdicts,
    headline,
    lead,
    outcome,
    verdict_word,
)
from conformance.conclusions.requirement_verdicts import entry_of, findings_of, is_fully_judged
from conformance.configuration import Configuration
from conformance.definitions.protocol import Protocol, Role
from conformance.evidence import Result
from conformance.exits import CONFORMANT, INTERRUPTED, NONCONFORMANT
from conformance.running.selection import SMOKE
from conformance.verdicts import Verdict


def build(run: Run) -> dict[str, Any]:
    """The content of report.json."""
    configuration = run.configuration
    role, protocol = configuration.role, configuration.protocol
    results = [*([run.smoke] if run.smoke else []), *run.tests]
    bound = {requirement.id: requirement for requirement in protocol.requirements_for(role)}
    # A requirement of an unsupported feature cannot be violated.
    claimed = {
        name
        for name, requirement in bound.items()
        if requirement.level != "must" and configuration.reason_to_leave_out(name)
    }
    known = [
        fact
        for fact in facts(results, run.culprits, protocol)
        if fact.evidence.requirement not in claimed
    ]
    findings = findings_of(bound, known)
    requirements = [entry_of(each, results, known, run) for each in bound.values()]
    tests = [_test(result) for result in results]
    stale = known_failures.apply(
        configuration.known_failures,
        run.started.date(),
        requirements,
        tests,
        findings,
        lambda name: is_fully_judged(run, name),
    )
    problems = [*run.problems, *(result.problem for result in results if result.problem)]
    problems += _unbound_findings(protocol, role, results)
    code, reason = outcome(run, requirements, stale, problems)
    counts = count_verdicts(entry["verdict"] for entry in requirements)
    now = datetime.datetime.now(datetime.UTC)
    report: dict[str, Any] = {
        "version": stored_reports.VERSION,
        "suite": {"name": "conformance", "version": __version__},
        "iut": {
            "name": configuration.name or _default_name(configuration),
            "role": str(role),
            "command": list(configuration.command) or None,
            "address": configuration.connect or configuration.listen or None,
        },
        "verdict": verdict_word(code),
        "headline": headline(lead(run), counts, reason),
        "exit_code": code,
        "selection": run.selection,
        "interrupted": (
            {"after": len(run.tests), "of": run.selected} if code == INTERRUPTED else None
        ),
        "counts": {
            "requirements": counts,
            "tests": count_verdicts(test["verdict"] for test in tests if test["id"] != SMOKE),
        },
        "seed": configuration.seed,
        "invocation": configuration.invocation,
        "overlap": {"tests": run.max_parallel, "why": run.why_sequential},
        "stretched": round(run.slowdown, 1),
        "started": run.started.isoformat(timespec="seconds"),
        "duration_s": round((now - run.started).total_seconds(), 3),
        "ixit": {} if run.live else _ixit(configuration),
        "smoke": {
            "verdict": run.smoke.verdict if run.smoke else Verdict.NOT_EXERCISED,
            "detail": run.smoke.detail if run.smoke else "",
        },
        "requirements": requirements,
        "tests": tests,
        "findings": findings,
        "causes": causes(known, results, requirements, run.culprits, configuration),
        "problems": problems,
        "stale": stale,
    }
    if run.live:
        report["live"] = True
    if run.coverage:
        report["coverage"] = coverage_member(run.coverage, configuration, requirements, report)
    if configuration.baseline:
        _compare(report, configuration, lead(run))
    return report


def _unbound_findings(protocol: Protocol, role: Role, results: Sequence[Result]) -> Iterator[str]:
    """Describe findings about requirements that do not exist, or do not bind the role."""
    bound = {requirement.id for requirement in protocol.requirements_for(role)}
    reported: set[str] = set()
    for result in results:
        for fact in result.evidence:
            name = fact.requirement
            if fact.is_against and name not in bound | reported:
                reported.add(name)
                wrong = "does not bind it" if name in protocol.requirements else "does not exist"
                yield (
                    f"{result.id}: a finding about {role} is of {name!r}, which {wrong}: "
                    f"{fact.message}"
                )
        for name in result.observed.exercised - protocol.requirements.keys() - reported:
            reported.add(name)
            yield f"{result.id}: {name!r} was exercised, which does not exist"


def _compare(report: dict[str, Any], configuration: Configuration, lead: str) -> None:
    """Add the changes since the baseline; regressions make a conformant run fail."""
    path = Path(configuration.baseline)
    changes = compare(stored_reports.load(path), report, path.name)
    report["comparison"] = changes.to_json()
    bad = changes.failure_text(configuration.strict)
    if bad and report["exit_code"] == CONFORMANT:
        report["exit_code"], report["verdict"] = NONCONFORMANT, verdict_word(NONCONFORMANT)
        report["headline"] = headline(lead, report["counts"]["requirements"], bad)


def _default_name(configuration: Configuration) -> str:
    address = configuration.connect or configuration.listen
    return address or " ".join(configuration.command)


def _ixit(configuration: Configuration) -> dict[str, Any]:
    protocol = configuration.protocol
    return {
        **{f"timing.{name}": configuration.declared(name) for name in protocol.timings},
        **{name: configuration.value(name) for name in protocol.ixit},
        **{f"programs.{name}": value for name, value in configuration.programs.items()},
        **{f"procedures.{name}": value for name, value in configuration.procedures.items()},
        **{f"hooks.{name}": value for name, value in configuration.hooks.items()},
        "examples": configuration.examples,
        "max_wait": configuration.max_wait,
        "max_time": configuration.max_time,
    }


def _test(result: Result) -> dict[str, Any]:
    """A test's result as in report.json."""
    own = result.own_evidence
    entry: dict[str, Any] = {
        "id": result.id,
        "purpose": result.purpose,
        "requirement": result.requirement,
        "verdict": result.verdict,
        "duration_s": result.duration_s,
        "detail": result.detail,
        "transcript": result.files.transcript,
        "counterexample": result.files.counterexample,
        "offending": own.place.event if own else None,
        "reproduce": result.reproduce,
    }
    halves = {"expected": own.expected, "came": own.came} if own else {}
    return {**entry, **{key: value for key, value in halves.items() if value is not None}}
