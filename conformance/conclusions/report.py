"""The content of report.json: everything that a run has shown, and what it means."""

import datetime
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from conformance import __version__
from conformance.conclusions import known_failures, stored
from conformance.conclusions.causes import causes
from conformance.conclusions.comparison import compare
from conformance.conclusions.following import settle
from conformance.conclusions.outcome import Run, counted, headline, lead, outcome, word
from conformance.conclusions.requirement_verdicts import decide, findings_of, judged
from conformance.configuration import Configuration
from conformance.definitions.protocol import Protocol, Role
from conformance.exits import CONFORMANT, INTERRUPTED, NONCONFORMANT
from conformance.verdicts import Verdict

_TOLD = (
    *("id", "purpose", "requirement", "verdict", "duration_s", "detail"),
    *("transcript", "counterexample", "offending", "reproduce"),
)
_OPTIONAL = ("expected", "came")


def build(run: Run) -> dict[str, Any]:
    """The content of report.json."""
    configuration = run.configuration
    role, protocol = configuration.role, configuration.protocol
    results = [*([run.smoke] if run.smoke else []), *run.tests]
    bound = {requirement.id: requirement for requirement in protocol.binding(role)}
    settle(results, protocol)
    # Nobody violates what may be left out by leaving it out.
    claimed = {
        name
        for name, requirement in bound.items()
        if requirement.level != "must" and configuration.leaves_out(name)
    }
    findings = findings_of({name: bound[name] for name in bound.keys() - claimed}, results)
    requirements = [decide(requirement, results, findings, run) for requirement in bound.values()]
    stale = known_failures.apply(
        configuration.known_failures,
        run.started.date(),
        requirements,
        results,
        findings,
        lambda name: judged(run, name),
    )
    problems = [*run.problems, *(result["problem"] for result in results if result["problem"])]
    problems += _unbound(protocol, role, results)
    code, reason = outcome(run, requirements, stale, problems)
    counts = counted(entry["verdict"] for entry in requirements)
    now = datetime.datetime.now(datetime.UTC)
    report: dict[str, Any] = {
        "suite": {"name": "conformance", "version": __version__},
        "iut": {
            "name": configuration.name or _called(configuration),
            "role": str(role),
            "command": list(configuration.command) or None,
            "address": configuration.connect or configuration.listen or None,
        },
        "verdict": word(code),
        "headline": headline(lead(run), counts, reason),
        "exit_code": code,
        "selection": run.selection,
        "interrupted": (
            {"after": len(run.tests), "of": run.selected} if code == INTERRUPTED else None
        ),
        "counts": {
            "requirements": counts,
            "tests": counted(result["verdict"] for result in run.tests),
        },
        "seed": configuration.seed,
        "overlap": {"tests": run.at_a_time, "why": run.alone},
        "stretched": round(run.stretched, 1),
        "started": run.started.isoformat(timespec="seconds"),
        "duration_s": round((now - run.started).total_seconds(), 3),
        "ixit": {} if run.live else _ixit(configuration),
        "smoke": {
            "verdict": run.smoke["verdict"] if run.smoke else Verdict.NOT_EXERCISED,
            "detail": run.smoke["detail"] if run.smoke else "",
        },
        "requirements": requirements,
        "tests": [_public(result) for result in results],
        "findings": findings,
        "causes": causes(results, requirements, findings, configuration),
        "problems": problems,
        "stale": stale,
    }
    if run.live:
        report["live"] = True
    if configuration.baseline:
        _compare(report, configuration, lead(run))
    return report


def _unbound(protocol: Protocol, role: Role, results: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """What was found against requirements that do not exist, or do not bind the role under test."""
    bound = {requirement.id for requirement in protocol.binding(role)}
    said: set[str] = set()
    for result in results:
        for finding in result["findings"]:
            name = finding["requirement"]
            if name not in bound | said:
                said.add(name)
                wrong = "does not bind it" if name in protocol.requirements else "does not exist"
                yield (
                    f"{result['id']}: a finding about {role} is of {name!r}, which {wrong}: "
                    f"{finding['message']}"
                )
        for name in set(result["exercised"]) - protocol.requirements.keys() - said:
            said.add(name)
            yield f"{result['id']}: {name!r} was exercised, which does not exist"


def _compare(report: dict[str, Any], configuration: Configuration, of_what: str) -> None:
    """Add what has changed since the baseline, which a conformant run may fail for."""
    path = Path(configuration.baseline)
    changes = compare(stored.load(path), report, path.name)
    report["comparison"] = changes.to_json()
    bad = changes.bad(configuration.strict)
    if bad and report["exit_code"] == CONFORMANT:
        report["exit_code"], report["verdict"] = NONCONFORMANT, word(NONCONFORMANT)
        report["headline"] = headline(of_what, report["counts"]["requirements"], bad)


def _called(configuration: Configuration) -> str:
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


def _public(result: Mapping[str, Any]) -> dict[str, Any]:
    """What of a test's result the report has; the rest is what causes are told by."""
    return {
        key: result[key]
        for key in (*_TOLD, *_OPTIONAL)
        if not (key in _OPTIONAL and result.get(key) is None)
    }
