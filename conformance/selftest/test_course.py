"""Courses: the engine, and the tables as they are drawn."""

from enum import StrEnum

import pytest

from conformance import cli
from conformance.course import ANY, Course, Violates, Walk, courses
from conformance.definitions import protocols

NAMES = protocols.names()
each_protocol = pytest.mark.parametrize("name", NAMES)


class Door(StrEnum):
    """The states of a door that is opened only once."""

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
