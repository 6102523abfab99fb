"""Writes junit.xml, for the many tools that read nothing else.

Every test is a test case in the suite of its area. JUnit knows only tests, while a requirement may
also be violated by what the oracle saw in a session of another test: so a requirement whose verdict
no test of its own has becomes a test case itself. Nothing that was not tried looks green, and a run
that is not conformant never has a file without a failure or an error.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from conformance.reporting.text import one_line, visible
from conformance.reporting.wording import Report, area, reached


@dataclass(frozen=True, slots=True)
class _Case:
    suite: str
    name: str
    verdict: str  # a verdict of the report, or "error"
    reason: str
    text: str
    duration_s: float = 0.0


def write_junit(report: Report, folder: Path) -> Path:
    """Write ``folder/junit.xml``; returns its path."""
    suites: dict[str, list[_Case]] = {}
    for case in _cases(report):
        suites.setdefault(case.suite, []).append(case)
    root = ElementTree.Element("testsuites", name=visible(report["suite"]["name"], keep=""))
    totals = _counts(root, [case for cases in suites.values() for case in cases])
    if report["verdict"] != "conformant" and not totals["failures"] + totals["errors"]:
        verdict = _Case("run", "verdict", "fail", report["headline"], report["headline"])
        suites["run"] = [verdict]
        _counts(root, [case for cases in suites.values() for case in cases])
    for name, cases in suites.items():
        suite = ElementTree.SubElement(root, "testsuite", name=visible(name, keep=""))
        _counts(suite, cases)
        suite.set("timestamp", report["started"])
        properties = ElementTree.SubElement(suite, "properties")
        for key, value in _properties(report):
            ElementTree.SubElement(properties, "property", name=key, value=one_line(value, 500))
        for case in cases:
            suite.append(_element(report, case))
    ElementTree.indent(root)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "junit.xml"
    ElementTree.ElementTree(root).write(path, encoding="utf-8", xml_declaration=True)
    return path


def _cases(report: Report) -> Iterator[_Case]:
    for problem in report["problems"]:
        yield _Case("suite", "fault of the suite", "error", problem, problem)
    smoke = report["smoke"]
    if smoke["verdict"] in ("fail", "inconclusive"):
        yield _Case("smoke", "smoke session", "error", smoke["detail"], smoke["detail"])
    for entry in report["stale"]:
        yield _Case("known-failures", entry["requirement"], "fail", entry["why"], entry["why"])
    decided: dict[str, set[str]] = {}
    for test in report["tests"]:
        decided.setdefault(test["requirement"], set()).add(test["verdict"])
        text = f"{test['purpose']}\n\n{test['detail']}\n\nReproduce: {test['reproduce']}"
        yield _Case(
            area(test["requirement"]),
            test["id"],
            test["verdict"],
            test["detail"],
            text,
            test["duration_s"],
        )
    for requirement in report["requirements"]:
        if requirement["verdict"] not in decided.get(requirement["id"], ()):
            yield _Case(
                area(requirement["id"]),
                requirement["id"],
                requirement["verdict"],
                requirement["reason"],
                f"{requirement['text']}\n\n{requirement['reason']}",
            )


def _element(report: Report, case: _Case) -> ElementTree.Element:
    element = ElementTree.Element(
        "testcase",
        classname=visible(f"{report['iut']['role']}.{case.suite}", keep=""),
        name=visible(case.name, keep=""),
        time=f"{case.duration_s:.3f}",
    )
    match case.verdict:
        case "pass":
            pass
        case "warn":
            output = ElementTree.SubElement(element, "system-out")
            output.text = visible(f"warning: {case.text}")
        case "fail" | "error":
            tag = "failure" if case.verdict == "fail" else "error"
            child = ElementTree.SubElement(element, tag, message=one_line(case.reason, 300))
            child.text = visible(case.text)
        case _:
            message = one_line(f"{case.verdict}: {case.reason}", 300)
            ElementTree.SubElement(element, "skipped", message=message)
    return element


def _counts(element: ElementTree.Element, cases: list[_Case]) -> dict[str, int]:
    verdicts = [case.verdict for case in cases]
    counts = {
        "tests": len(cases),
        "failures": verdicts.count("fail"),
        "errors": verdicts.count("error"),
        "skipped": sum(v not in ("pass", "warn", "fail", "error") for v in verdicts),
    }
    for key, number in counts.items():
        element.set(key, str(number))
    element.set("time", f"{sum(case.duration_s for case in cases):.3f}")
    return counts


def _properties(report: Report) -> Iterator[tuple[str, str]]:
    yield "suite.version", report["suite"]["version"]
    yield "iut.name", report["iut"]["name"]
    yield "iut.role", report["iut"]["role"]
    yield "iut.reached", reached(report["iut"])
    yield "seed", str(report["seed"])
    yield "verdict", report["verdict"]
