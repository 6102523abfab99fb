"""Formats the courses of a protocol for a terminal: states, steps and next states."""

from conformance.course import Course, Violates
from conformance.definitions.protocol import Protocol


def course_table(course: Course, protocol: Protocol) -> str:
    """The table of one course; any step that a state does not list is allowed."""
    width = max(len(_step(*step)) for _, step, _ in course.rows())
    lines = [f"{protocol.name}, {course.of}"]
    for state, steps in course.table.items():
        lines += ["", f"  {state}"]
        for step, result in steps.items():
            lines.append(f"    {_step(*step):<{width}}  {_result(result, protocol)}")
        if not steps:
            lines.append("    nothing is wrong from here on")
    return "\n".join(lines)


def _step(sender: str, name: str) -> str:
    return f"{sender}: {name}"


def _result(result: str | Violates, protocol: Protocol) -> str:
    if not isinstance(result, Violates):
        return f"-> {result}"
    level = protocol.requirement(result.requirement).level
    then = f" -> {result.then}" if result.then else ""
    return f"violates {result.requirement} ({level}){then}"
