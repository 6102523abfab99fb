"""Runs against the mocks show every message, field, value and lawful step.

`uncovered.yaml` has the exceptions. A run takes seconds: each day a group of roles runs, and all
roles with CONFORMANCE_COVERAGE=all.
"""

import datetime
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from conformance.conclusions.coverage_report import CERTAIN, Thing, roots, things
from conformance.definitions import protocols
from conformance.selftest.driving import Place

EXCEPTIONS = Path(__file__).with_name("uncovered.yaml")

GROUPS = (
    ("simspark/server", "runtime/rpc-server"),
    ("vexide/frontend", "openroberta/lab", "runtime/log-publisher"),
    ("vexide/simulator", "deltarobot/client", "simspark/monitor", "runtime/rpc-client"),
    (
        *("deltarobot/server", "openroberta/robot", "simspark/agent", "runtime/gamepad-sender"),
        *("runtime/gamepad-receiver", "runtime/update-publisher"),
    ),
)
"""The roles that run on one day; each group takes about 15 s of CPU time."""

ALL = os.environ.get("CONFORMANCE_COVERAGE") == "all"
TODAY = GROUPS[datetime.datetime.now(datetime.UTC).toordinal() % len(GROUPS)]


@dataclass(frozen=True)
class Exceptions:
    """Lines of one reason, for some roles under test."""

    reason: str
    roles: tuple[str, ...]
    lines: tuple[str, ...]
    varies: bool
    """Some runs show these lines."""


def exceptions() -> list[Exceptions]:
    entries = yaml.safe_load(EXCEPTIONS.read_text("utf-8"))
    return [
        Exceptions(
            entry["reason"],
            tuple(entry["roles"]),
            tuple(entry["lines"]),
            entry.get("varies", False),
        )
        for entry in entries
    ]


def text(thing: Thing) -> str:
    role, _, name, place, aspect, what = thing
    return " ".join(filter(None, (role, name, place, f"{aspect}:", what)))


def sampled() -> Iterator[object]:
    for group in GROUPS:
        skip = pytest.mark.skip("CONFORMANCE_COVERAGE=all runs it, or another day")
        marks = [] if ALL or group is TODAY else [skip]
        yield from (pytest.param(role, id=role, marks=marks) for role in group)


@pytest.mark.parametrize("role", [*sampled()])
def test_run_shows_everything(role: str, place: Place) -> None:
    done = place.run(role, "--mock")
    assert done.code == 0, done.out
    missing = {
        text(thing)
        for thing in roots(things(done.report["coverage"], "missing"))
        if thing[4] in CERTAIN
    }
    known = [each for each in exceptions() if role in each.roles]
    excepted = {line for each in known for line in each.lines}
    never = {line for each in known if not each.varies for line in each.lines}
    assert sorted(missing - excepted) == [], "no run shows this any more: see uncovered.yaml"
    assert sorted(never - missing) == [], "a run shows this now: delete the lines"


def test_every_role_with_messages_is_in_a_group() -> None:
    grouped = [role for group in GROUPS for role in group]
    assert len(grouped) == len(set(grouped))
    silent = {role for role in protocols.roles() if protocols.role(role).transports == ("none",)}
    assert set(grouped) == set(protocols.roles()) - silent


def test_each_exception_has_a_reason_and_stands_once() -> None:
    known = [(role, line) for each in exceptions() for role in each.roles for line in each.lines]
    assert len(known) == len(set(known))
    assert all(each.reason.endswith(".") and each.lines for each in exceptions())
    assert {role for role, _ in known} <= set(protocols.roles())
