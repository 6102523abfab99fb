"""The causes of what has failed in a run, with what follows from each and what shows it.

A cause is a violated requirement, the death of the IUT, that it serves only so many connections,
a flood, or that its answers came late.
"""

import math
import shlex
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from conformance.conclusions.following import Results, alike, presumes, unserved
from conformance.configuration import Configuration
from conformance.definitions.protocol import Protocol
from conformance.harness.last_words import may_explain, quoted
from conformance.running.smoke import SMOKE
from conformance.session import RESET
from conformance.verdicts import VIOLATIONS, Verdict, violated

_OF_THE_IUT = (
    *("--connect", "--listen", "--fault", "--variant", "--mutant", "--transport", "--protocols"),
    *("--config", "--hook", "--timing", "--set", "--max-wait"),
)
"""The options of a run that a replay against the same IUT has as well."""

_ORDER = (Verdict.FAIL, Verdict.WARN, Verdict.INCONCLUSIVE)

Entries = Sequence[Mapping[str, Any]]


def causes(
    results: Results, requirements: Entries, findings: Entries, configuration: Configuration
) -> list[dict[str, Any]]:
    """The causes of what has failed, as report.json has them: failures first, deaths before all.

    What is violated stands before what presumes it, and else in the order of the specification.
    A flood comes before them: what else is found may only be that the suite cannot keep up. Not one
    of which every session shows what is wrong: it may be no more than how that is read.
    """
    died = list(_deaths(results, configuration))
    limited = list(_limits(results, configuration))
    explained = {test for how, death in died if not _of_one(how, death) for test in death["tests"]}
    explained |= {test for limit in limited for test in limit["tests"]}
    violations = [
        cause
        for entry in requirements
        if entry["verdict"] in VIOLATIONS
        and (cause := _violation(entry, results, findings, explained, configuration))
    ]
    deaths = [
        death for how, death in died if not _brought_about(how, death, violations, configuration)
    ]
    undecided = [*_floods(results, configuration), *_lateness(results, configuration)]
    found = [*limited, *deaths, *_from_the_ground(violations, configuration.protocol), *undecided]
    plain = not all(result["findings"] for result in results if result["flooded"])
    found.sort(
        key=lambda cause: (not plain or cause["kind"] != "flood", _ORDER.index(cause["verdict"]))
    )
    return found


def _from_the_ground(violations: list[dict[str, Any]], protocol: Protocol) -> list[dict[str, Any]]:
    """Violated requirements, each behind those that it presumes."""
    ids = {cause["requirement"] for cause in violations}
    return sorted(
        violations, key=lambda cause: len(ids & {*presumes(cause["requirement"], protocol)})
    )


def _of_one(how: str, death: Mapping[str, Any]) -> bool:
    """Whether a death is a reset of which the one requirement says more that it violates."""
    return how == RESET and len({each["requirement"] for each in death["consequences"]}) == 1


def _brought_about(
    how: str,
    death: Mapping[str, Any],
    violations: list[dict[str, Any]],
    configuration: Configuration,
) -> bool:
    """Whether a death adds nothing to a violation, which then shows what the IUT said.

    It is so where nothing else is violated by it: all tests that met it show that, or follow
    from it, or presume it.
    A reset is told from an orderly end only by what had been sent meanwhile: it adds nothing to
    several violations either, to which its tests belong.
    """
    if not (death["verdict"] == Verdict.INCONCLUSIVE or how == RESET):
        return False
    every = death["consequences"]
    shares = [
        (violation, [each for each in every if _explains(violation, each, configuration.protocol)])
        for violation in violations
    ]
    chosen = [found for found in shares if found[1] == every][:1]
    if (
        not chosen
        and how == RESET
        and all(any(each in part for _, part in shares) for each in every)
    ):
        chosen = shares
    for violation, share in chosen:
        root, tests = violation["requirement"], [each["test"] for each in share]
        violation["said"] = violation["said"] or (death["said"] if share else "")
        violation["tests"] = list(dict.fromkeys([*violation["tests"], *tests]))
        known = [{"requirement": root, "test": name} for name in violation["tests"]]
        known += violation["consequences"]
        violation["consequences"] += [each for each in share if each not in known]
    return bool(chosen)


def _explains(violation: dict[str, Any], met: Mapping[str, Any], protocol: Protocol) -> bool:
    """Whether a test that met a death shows a violation, or what follows from it or presumes it."""
    under = (*violation["tests"], *(each["test"] for each in violation["consequences"]))
    root = violation["requirement"]
    return met["test"] in under or root in (
        met["requirement"],
        *presumes(met["requirement"], protocol),
    )


def _deaths(results: Results, configuration: Configuration) -> Iterator[tuple[str, dict[str, Any]]]:
    """How the IUT died, and the cause that it is: deaths that it said the same of are one.

    Of silent ones each message is named after which it died; what it violates is decided for each.
    """
    together: dict[tuple[str, str], list[list[dict[str, Any]]]] = {}
    for met in alike(results):
        # Those of the same words are alike already, unless it died of different things.
        death = met[0]["death"]
        key = (death["how"], met[0]["id"] if may_explain(death["said"]) else "")
        together.setdefault(key, []).append(met)
    for deaths in together.values():
        deaths.sort(key=lambda met: _ORDER.index(_worst(met)))
        first = min(
            deaths[0],
            key=lambda result: (
                result["verdict"] not in VIOLATIONS,
                not result["counterexample"],
                result["death"]["events"],
            ),
        )
        death = first["death"]
        after = " or ".join(filter(None, (met[0]["death"]["after"] for met in deaths)))
        event = death["sent"].get(death["after"])
        met = [result for each in deaths for result in each]
        cause = {
            "kind": "death",
            "requirement": None,
            "verdict": _worst(met),
            "what": f"the IUT {death['how']}"
            + (f" after it was sent {after}" if after else "")
            + (f", right behind {death['behind']}" if death["behind"] else ""),
            "said": quoted(death["said"]) if death["said"] else "",
            "tests": [result["id"] for result in met],
            "consequences": [
                {"requirement": result["requirement"], "test": result["id"]}
                for result in sorted(met, key=lambda each: _ORDER.index(each["verdict"]))
            ],
            **_shown_by(
                first,
                first["transcript"],
                first["offending"] if event is None else event,
                configuration,
            ),
        }
        yield death["how"], cause


def _lateness(results: Results, configuration: Configuration) -> Iterator[dict[str, Any]]:
    """That messages came later than declared, if they did: one cause, whichever they were."""
    late = [result for result in results if result["late"] is not None]
    if late:
        longest = max(result["late"] for result in late)
        more = f"--timing response={math.ceil(2 * longest)}"
        what = f"answers came late, after up to {longest:.1f} s; {more} gives them more time"
        yield _met("late", what, late, configuration)


def _floods(results: Results, configuration: Configuration) -> Iterator[dict[str, Any]]:
    """That the IUT wrote more than is read, if it did: one cause, in whatever sessions."""
    flooded = [result for result in results if result["flooded"]]
    if flooded:
        # Once it is known to flood, little of it is read.
        flooded.sort(key=lambda result: -result["flooded"])
        yield _met("flood", flooded[0]["detail"], flooded, configuration)


def _limits(results: Results, configuration: Configuration) -> Iterator[dict[str, Any]]:
    """That the IUT serves only so many connections, if it does: one cause."""
    most, met = unserved(results)
    if met:
        what = f"one run of the IUT serves {most}: it said nothing upon any further one"
        first = sorted(met, key=lambda result: _ORDER.index(result["verdict"]))
        yield _met("limit", what, first, configuration, _worst(met))


def _met(
    kind: str,
    what: str,
    met: Results,
    configuration: Configuration,
    verdict: str = Verdict.INCONCLUSIVE,
) -> dict[str, Any]:
    """A cause that is no requirement, which these tests have met; most decide nothing for it."""
    first = met[0]
    return {
        "kind": kind,
        "requirement": None,
        "verdict": verdict,
        "what": what,
        "said": "",
        "tests": [result["id"] for result in met],
        "consequences": [
            {"requirement": result["requirement"], "test": result["id"]} for result in met
        ],
        **_shown_by(first, first["transcript"], first["offending"], configuration),
    }


def _worst(met: Entries) -> Verdict:
    verdicts = [result["verdict"] for result in met]
    return next((word for word in _ORDER if word in verdicts), Verdict.INCONCLUSIVE)


def _violation(
    entry: Mapping[str, Any],
    results: Results,
    findings: Entries,
    explained: set[str],
    configuration: Configuration,
) -> dict[str, Any] | None:
    """A violated requirement; None where all that shows it are tests that met a death."""
    failed = [r for r in results if r["requirement"] == entry["id"] and r["verdict"] in VIOLATIONS]
    found = [
        finding
        for finding in findings
        if finding["requirement"] == entry["id"] and finding["verdict"] in VIOLATIONS
    ]
    seen_alive = {
        result["id"]
        for result in results
        for finding in result["findings"]
        if finding["requirement"] == entry["id"] and not finding["at_death"]
    }
    tests = [result["id"] for result in failed] + [finding["test"] for finding in found]
    if explained.issuperset(tests) and seen_alive.isdisjoint(tests):
        return None
    by_id = {result["id"]: result for result in results}
    # The smoke session is repeated by the whole run only, and so shows it last.
    failed.sort(
        key=lambda result: (
            result["id"] in explained,
            result["id"] == SMOKE,
            not result["counterexample"],
            # What is wrong by itself is plainer than what did not come.
            result["offending"] is None,
        )
    )
    found.sort(key=lambda finding: (finding["test"] == SMOKE, finding["event"] is None))
    if failed:
        best = failed[0]
        what, event = best["detail"], best["offending"]
    else:
        best = by_id[found[0]["test"]]
        what, event = found[0]["message"], found[0]["event"]
    transcript = (failed or found)[0]["transcript"]
    return {
        "kind": "violation",
        "requirement": entry["id"],
        "verdict": violated(entry["level"]),
        "what": what,
        "said": "",
        "tests": list(dict.fromkeys(tests)),
        "consequences": [
            {"requirement": result["requirement"], "test": result["id"]}
            for result in results
            if result["follows"] == entry["id"]
        ],
        **_shown_by(best, transcript, event, configuration),
    }


def _shown_by(
    result: Mapping[str, Any],
    transcript: str | None,
    event: int | None,
    configuration: Configuration,
) -> dict[str, Any]:
    """What shows a cause, and the commands that show it again."""
    counterexample = result["counterexample"]
    return {
        "transcript": transcript,
        "event": event,
        "counterexample": counterexample,
        "reproduce": result["reproduce"],
        "replay": _replay(counterexample, configuration) if counterexample else "",
    }


def _replay(path: str, configuration: Configuration) -> str:
    """The command that plays a counterexample again."""
    before, _, _ = configuration.invocation.partition(" -- ")
    told = shlex.split(before)
    words = ["conformance", "replay", f"{configuration.report}/{path}"]
    words += ["--mock"] if "--mock" in told else []
    for option, value in pairwise(told):
        words += [option, value] if option in _OF_THE_IUT else []
    command = () if "--mock" in told else configuration.command
    return shlex.join(words) + (f" -- {shlex.join(command)}" if command else "")
