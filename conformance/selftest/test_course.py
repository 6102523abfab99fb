"""What may follow what: the engine, and the tables of every protocol against its captures."""

from collections.abc import Iterator
from enum import StrEnum

import pytest

from conformance import captures, cli, locate, protocols
from conformance.course import ANY, Course, Violates, Walk, courses
from conformance.judge import Finding, judge_capture
from conformance.protocols import Protocol

NAMES = protocols.names()
each_protocol = pytest.mark.parametrize("name", NAMES)


class Door(StrEnum):
    """A door that nobody opens twice."""

    SHUT = "shut"
    OPEN = "open"
    BROKEN = "broken"


DOOR = Course(
    "a door",
    {
        Door.SHUT: {
            ("guest", "open"): Door.OPEN,
            ("guest", ANY): Violates("door.shut", "{name} at a door that is {state}", Door.BROKEN),
        },
        Door.OPEN: {("guest", "open"): Violates("door.once", "opened {times}")},
        Door.BROKEN: {},
    },
)


def test_a_step_leads_on_or_violates_something() -> None:
    walk = Walk(DOOR)
    assert walk.step("guest", "open") == []
    assert walk.state is Door.OPEN
    [finding] = walk.step("guest", "open", times="twice")
    assert (finding.requirement, finding.message) == ("door.once", "opened twice")
    assert walk.state is Door.OPEN


def test_a_wrong_step_may_lead_on_and_says_where_it_met_the_state() -> None:
    walk = Walk(DOOR)
    [finding] = walk.step("guest", "kick {times}" + "!" * 100)
    assert finding.requirement == "door.shut"
    assert finding.message.startswith("kick {times}!!!")
    assert finding.message.endswith("! at a door that is shut")
    assert len(finding.message) < 100
    assert walk.state is Door.BROKEN


def test_a_step_without_a_row_is_open() -> None:
    walk = Walk(DOOR)
    assert walk.step("host", "kick") == []
    assert walk.state is Door.SHUT


def test_a_table_has_every_state_that_it_leads_to() -> None:
    with pytest.raises(ValueError, match="no state open"):
        Course("a door", {Door.SHUT: {("guest", "open"): Door.OPEN}})
    with pytest.raises(ValueError, match="no state broken"):
        Course("a door", {Door.SHUT: {("guest", "open"): Violates("x", "x", Door.BROKEN)}})


@each_protocol
def test_a_row_names_a_sender_and_a_requirement_that_exist(name: str) -> None:
    protocol = protocols.load(name)
    for course in courses(protocol):
        for _, (sender, _), result in course.rows():
            assert sender in protocol.parties
            if isinstance(result, Violates):
                assert result.requirement in protocol.requirements


@each_protocol
def test_every_state_can_be_reached(name: str) -> None:
    for course in courses(protocols.load(name)):
        reached = {course.first}
        for _ in course.table:
            reached |= {
                (result.then or state) if isinstance(result, Violates) else result
                for state, _, result in course.rows()
                if state in reached
            }
        # The oracle puts a walk only into states that the table knows a way to.
        assert reached == set(course.table), course.of


@each_protocol
def test_every_row_that_names_a_violation_has_a_capture(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    protocol = protocols.load(name)
    shown: set[tuple[str, str, str, str]] = set()
    step = Walk.step

    def noted(walk: Walk, sender: str, name: str, **words: str) -> list[Finding]:
        state, row = walk.state, walk.course.row(walk.state, sender, name)
        found = step(walk, sender, name, **words)
        if found and row and found[0].requirement in declared:
            shown.add((walk.course.of, state, *row))
        return found

    monkeypatch.setattr(Walk, "step", noted)
    for capture in _violations(protocol):
        declared = (capture.extra["violates"], *capture.extra.get("also", ()))
        judge_capture(protocol, capture, protocol.roles)
    wanted = {
        (course.of, state, *row)
        for course in courses(protocol)
        for state, row, result in course.rows()
        if isinstance(result, Violates)
    }
    assert wanted <= shown, "\n".join(map(str, sorted(wanted - shown)))


def _violations(protocol: Protocol) -> Iterator[captures.Capture]:
    folder = locate.folder("captures", protocol.name)
    assert folder
    for path in sorted(folder.glob("violation-*.jsonl")):
        yield captures.read(path)


@each_protocol
def test_the_table_is_drawn(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["show", "--course", name]) == 0
    drawn = capsys.readouterr().out
    for course in courses(protocols.load(name)):
        assert course.of in drawn
        for state, (sender, event), result in course.rows():
            assert state in drawn
            assert f"{sender}: {event}" in drawn
            if isinstance(result, Violates):
                assert result.requirement in drawn
