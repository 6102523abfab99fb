"""Coverage: what the schemas and courses declare, what sessions show, and how reports say it."""

import json
from enum import StrEnum
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from conformance import cli
from conformance.checks import in_flight
from conformance.codec import Frame
from conformance.conclusions import coverage_report
from conformance.course import Course, Violates, Walk
from conformance.definitions import protocols
from conformance.definitions.protocol import MessageType, Protocol
from conformance.definitions.schemas import Schema
from conformance.judging.coverage import Coverage, Tally
from conformance.judging.judge import Finding
from conformance.judging.space import LATER, NOISE, Aspect, Point, Space, space
from conformance.reporting import changes, page
from conformance.reporting import coverage_text as words
from conformance.selftest.driving import Place

SCHEMA = {
    "type": "object",
    "required": ["colour"],
    "properties": {
        "colour": {"enum": ["red", "green"]},
        "size": {"type": ["integer", "null"], "minimum": 0},
        "below": {"$ref": "#"},
        "shape": {
            "oneOf": [
                {"type": "array", "prefixItems": [{"const": "box"}, {"type": "boolean"}]},
                {"type": "string", "maxLength": 3},
                {"x-open": True, "type": "number"},
            ]
        },
    },
}


class Door(StrEnum):
    """The states of a door."""

    SHUT = "shut"
    OPEN = "open"
    STUCK = "stuck"


DOOR = Course(
    "a door",
    {
        Door.SHUT: {
            ("guest", "open"): Door.OPEN,
            ("guest", "kick"): Violates("door.shut", "kicked", Door.STUCK),
            ("guest", NOISE): Door.SHUT,
        },
        Door.OPEN: {("guest", "shut"): Door.SHUT},
        Door.STUCK: {("guest", "pull"): Door.SHUT},
    },
)


class House:
    """A protocol with one message, as far as a space needs a protocol."""

    name = "house"
    parties = ("guest", "host")

    def __init__(self) -> None:
        message = MessageType("Paint", "guest", "paint.json")
        self.messages = {("guest", "Paint"): message}
        self.schemas = SimpleNamespace(schema=lambda path: Schema.of(SCHEMA))
        self.oracle = SimpleNamespace(COURSES=(DOOR,))
        role = {"name": "guest", "peer": "host", "channels": (), "transports": ("tcp",)}
        self.roles = {"guest": SimpleNamespace(**role)}


def house() -> Protocol:
    return cast(Protocol, House())


def texts_of(points: list[Point], *aspects: Aspect) -> set[str]:
    return {f"{p.place}: {p.what}" for p in points if p.aspect in aspects and p.sender == "guest"}


def shown(tally: Tally, *aspects: Aspect) -> set[str]:
    points = space(tally.protocol).points
    return texts_of([points[index] for index in tally.coverage.shown], *aspects)


def frame(value: Any) -> Frame:
    return Frame(json.dumps(value).encode(), "Paint", value)


def test_schema_declares_fields_values_and_bounds() -> None:
    points = list(space(house()).points)
    assert texts_of(points, Aspect.FIELD) == {
        *("colour: present", "size: present", "below: present", "shape: present"),
        *("shape<box>[0]: present", "shape<box>[1]: present"),
    }
    assert texts_of(points, Aspect.VALUE) == {
        *('colour: "red"', 'colour: "green"', "shape: the form box", "shape: the form string"),
        *("shape<box>[1]: true", "shape<box>[1]: false"),
    }
    assert {"size: null", "size: absent", "size: a second value"} <= texts_of(
        points, Aspect.VARIETY
    )
    assert "colour: absent" not in texts_of(points, Aspect.VARIETY)
    assert {"size: the least value, 0", "size: 2^31 or more", "size: 2^53 or more"} <= texts_of(
        points, Aspect.BOUND
    )
    assert {"shape: empty", "shape: the greatest length, 3"} <= texts_of(points, Aspect.BOUND)


def test_only_rows_that_lawful_steps_reach_are_declared() -> None:
    rows = [point for point in space(house()).points if point.aspect is Aspect.ROW]
    assert {(row.place, row.what) for row in rows} == {("shut", "open"), ("open", "shut")}


def test_space_is_the_same_in_every_process() -> None:
    assert space(house()).points == space(house()).points


def test_message_shows_its_fields_and_values_at_every_depth() -> None:
    tally = Tally(house())
    session = tally.session()
    session.message("guest", frame({"colour": "red", "below": {"colour": "green", "size": 0}}))
    assert shown(tally, Aspect.KIND) == {": sent"}
    assert shown(tally, Aspect.FIELD) == {"colour: present", "below: present", "size: present"}
    assert shown(tally, Aspect.VALUE) == {'colour: "red"', 'colour: "green"'}
    assert shown(tally, Aspect.BOUND) == {"size: the least value, 0"}


def test_second_value_can_come_in_another_session() -> None:
    tally = Tally(house())
    tally.session().message("guest", frame({"colour": "red", "size": 5}))
    assert "size: a second value" not in shown(tally, Aspect.VARIETY)
    tally.session().message("guest", frame({"colour": "red", "size": 5, "shape": "x"}))
    assert "size: a second value" not in shown(tally, Aspect.VARIETY)
    tally.session().message("guest", frame({"colour": "red", "size": 6}))
    assert "size: a second value" in shown(tally, Aspect.VARIETY)


@pytest.mark.parametrize("value", [{"colour": "blue"}, {"size": 1}, [], None, "red"])
def test_message_that_violates_its_schema_shows_nothing(value: Any) -> None:
    tally = Tally(house())
    tally.session().message("guest", frame(value))
    assert tally.coverage.shown <= {_framing(tally)}


def _framing(tally: Tally) -> int:
    return space(tally.protocol).framing["guest", "a first connection"]


def test_spoiled_session_shows_nothing_more() -> None:
    tally = Tally(house())
    session = tally.session()
    session.message("guest", frame({"colour": "red"}))
    before = tally.coverage
    session.spoil()
    session.message("guest", frame({"colour": "green"}))
    session.count_arrival("guest", [3], [Frame(b"abc", "Paint")])
    with session.count_rows():
        Walk(DOOR).step("guest", "open")
    assert tally.coverage == before


def test_walk_shows_its_row_while_a_judge_counts() -> None:
    tally = Tally(house())
    walk = Walk(DOOR)
    walk.step("guest", "open")
    assert shown(tally, Aspect.ROW) == set()
    with tally.session().count_rows():
        walk.step("guest", "shut")
        walk.step("guest", "kick")
    assert shown(tally, Aspect.ROW) == {"open: shut"}


@pytest.mark.parametrize(
    ("pieces", "sizes", "expected"),
    [
        ([[5]], [[5]], {"in one piece"}),
        ([[2, 3]], [[5]], {"in pieces"}),
        ([[2], [3]], [[], [5]], {"in pieces"}),
        ([[10]], [[5, 5]], {"together"}),
        ([[7], [3]], [[5], [5]], {"together", "in pieces"}),
        ([[5, 5]], [[5, 5]], {"in one piece"}),
    ],
)
def test_framing(pieces: list[list[int]], sizes: list[list[int]], expected: set[str]) -> None:
    tally = Tally(house())
    session = tally.session()
    for piece, frames in zip(pieces, sizes, strict=True):
        session.count_arrival("guest", piece, [Frame(b"x" * size, "Paint") for size in frames])
    found = shown(tally, Aspect.FRAMING)
    assert {each for each in ("in one piece", "in pieces", "together") if _ends(found, each)} == (
        expected
    )


def _ends(found: set[str], word: str) -> bool:
    return any(each.endswith(word) for each in found)


def test_later_connection_counts_for_who_speaks_on_it() -> None:
    tally = Tally(house())
    tally.session(LATER).message("guest", frame({"colour": "red"}))
    assert shown(tally, Aspect.FRAMING) == {": a later connection"}


def test_coverages_unite() -> None:
    both = Coverage("house", frozenset({1})) | Coverage("house", frozenset({2}))
    assert both == Coverage("house", frozenset({1, 2}))


@pytest.mark.parametrize("name", protocols.names())
def test_every_schema_of_a_protocol_is_observed(name: str) -> None:
    protocol = protocols.load(name)
    whole: Space = space(protocol)
    assert whole.observers.keys() == protocol.messages.keys()
    assert len(whole.points) == len(set(whole.points))
    places = [(p.sender, p.subject, p.place, p.what) for p in whole.points]
    assert len(places) == len(set(places))


# Reports


def report(**shown: list[str]) -> dict[str, Any]:
    """Return the coverage of one side with one message and the fields a and b."""
    places = [
        {
            "place": name,
            "shown": {"field": ["present"]} if name in shown["fields"] else {},
            "missing": {} if name in shown["fields"] else {"field": ["present"]},
            "provide": "" if name in shown["fields"] else "no test asks for it",
        }
        for name in ("a", "b")
    ]
    first = {"place": "", "shown": {"kind": ["sent"]}, "missing": {}, "provide": ""}
    groups = [{"kind": "message", "name": "Paint", "places": [first, *places]}]
    counts = {"kind": {"shown": 1, "of": 1}, "field": {"shown": len(shown["fields"]), "of": 2}}
    return {"sides": [{"role": "guest", "side": "iut", "counts": counts, "groups": groups}]}


def test_runs_of_one_program_unite() -> None:
    both = coverage_report.unite_reports([report(fields=["a"]), None, report(fields=["b"])])
    assert both == report(fields=["a", "b"])
    assert coverage_report.unite_reports([None]) is None


def test_comparison_says_what_is_shown_no_more() -> None:
    gone = coverage_report.lost_points(report(fields=["a", "b"]), report(fields=["b"]))
    assert gone == [("guest", "message", "Paint", "a", "field", "present")]
    assert coverage_report.lost_points(None, report(fields=[])) == []
    entry = {"role": "guest", "name": "Paint", "place": "a", "what": "present"}
    lines = [*changes.lines({"unshown": [entry]})]
    assert lines[-2:] == ["Not covered any more: 1", "  guest: Paint a"]


def test_missing_field_hides_what_is_in_it() -> None:
    key = ("guest", "message", "Paint")
    inner = [(*key, "a", "value", '"x"'), (*key, "a.b", "field", "present")]
    next_to = [(*key, "ab", "field", "present")]
    missing = [(*key, "a", "field", "present"), *inner, *next_to]
    assert coverage_report.roots(missing) == [missing[0], *next_to]


def test_line_says_the_share_of_each_side() -> None:
    side = report(fields=["a"])["sides"][0]
    assert words.line(side) == "the IUT (guest) 1 of 1 messages, 1 of 2 fields"


def test_report_has_the_coverage_of_both_sides(place: Place) -> None:
    """The report, the page and the terminal contain the coverage of a run."""
    done = place.run("runtime/rpc-server", "--mock", "--requirement", "rpc.each-answered")
    iut, suite = done.report["coverage"]["sides"]
    assert (iut["role"], iut["side"]) == ("rpc-server", "iut")
    assert (suite["role"], suite["side"]) == ("rpc-client", "suite")
    assert iut["counts"]["kind"] == {"shown": 1, "of": 1}
    assert "covered:      the IUT (rpc-server) 1 of 1 messages" in done.out
    missing = [p["provide"] for s in (iut, suite) for g in s["groups"] for p in g["places"]]
    assert "a run of all tests can show it" in missing
    assert 'id="coverage"' in page.render(done.report, done.folder)


def test_check_says_what_captures_show(capsys: pytest.CaptureFixture[str]) -> None:
    golden = Path(protocols.load("vexide").folder).parents[1] / "captures" / "vexide"
    assert cli.main(["check", str(golden / "session-full.jsonl")]) == 0
    assert "shown: simulator " in capsys.readouterr().out


# Messages in flight


class Strict:
    """An oracle that forbids Ready as soon as a CompetitionMode was sent."""

    def __init__(self) -> None:
        self.exercised: set[str] = set()
        self._silent = False

    def message(self, sender: str, name: str, value: Any) -> list[Finding]:
        self._silent = self._silent or name == "CompetitionMode"
        return [Finding("ready.once", "late")] if name == "Ready" and self._silent else []

    def unknown(self, sender: str, name: str, value: Any, foreign: bool) -> list[Finding]:
        return []

    def broken(self, sender: str) -> None:
        """Ignore the bytes."""

    def closed(self, sender: str) -> list[Finding]:
        return []


def test_oracle_that_forbids_an_event_in_flight_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    protocol = protocols.load("vexide")
    monkeypatch.setattr(protocol.oracle, "Oracle", Strict)
    found = list(in_flight.problems(protocol))
    assert any("ready.once is found about the simulator" in each for each in found)


@pytest.mark.parametrize("name", protocols.names())
def test_oracle_forgives_messages_in_flight(name: str) -> None:
    assert list(in_flight.problems(protocols.load(name))) == []
