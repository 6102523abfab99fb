"""Writes junit.xml, which many tools can read.

- A violated must is a failure, and a run that decided nothing has an error.
- A warning is a test that passed, with output.
- An undecided test and a known failure are skipped.
"""

from xml.etree import ElementTree

from conformance.reporting.cases import ERROR, Case, cases
from conformance.reporting.text import make_visible, one_line
from conformance.reporting.wording import Report, properties


def junit(report: Report) -> bytes:
    """Return a report as a JUnit XML file."""
    suites: dict[str, list[Case]] = {}
    found = cases(report)
    for case in found:
        suites.setdefault(case.suite, []).append(case)
    root = ElementTree.Element("testsuites", name=make_visible(report["suite"]["name"], keep=""))
    _set_counts(root, found)
    for name, within in suites.items():
        suite = ElementTree.SubElement(root, "testsuite", name=make_visible(name, keep=""))
        _set_counts(suite, within)
        suite.set("timestamp", report["started"])
        listed = ElementTree.SubElement(suite, "properties")
        for key, value in properties(report):
            ElementTree.SubElement(listed, "property", name=key, value=one_line(value, 500))
        for case in within:
            suite.append(_element(report, case))
    ElementTree.indent(root)
    text: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return text


def _element(report: Report, case: Case) -> ElementTree.Element:
    element = ElementTree.Element(
        "testcase",
        classname=make_visible(f"{report['iut']['role']}.{case.suite}", keep=""),
        name=make_visible(case.name, keep=""),
        time=f"{case.duration_s:.3f}",
    )
    match case.verdict:
        case "pass":
            pass
        case "warn":
            output = ElementTree.SubElement(element, "system-out")
            output.text = make_visible(f"warning: {case.text}")
        case "fail" | "error":
            tag = "failure" if case.verdict == "fail" else "error"
            child = ElementTree.SubElement(element, tag, message=one_line(case.reason, 300))
            child.text = make_visible(case.text)
        case _:
            message = one_line(f"{case.verdict}: {case.reason}", 300)
            ElementTree.SubElement(element, "skipped", message=message)
    return element


def _set_counts(element: ElementTree.Element, within: list[Case]) -> None:
    verdicts = [case.verdict for case in within]
    counts = {
        "tests": len(within),
        "failures": verdicts.count("fail"),
        "errors": verdicts.count(ERROR),
        "skipped": sum(v not in ("pass", "warn", "fail", "error") for v in verdicts),
    }
    for key, number in counts.items():
        element.set(key, str(number))
    element.set("time", f"{sum(case.duration_s for case in within):.3f}")
