"""Commands that come while the robot is disabled count like other commands."""

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from conformance.cases import check, compared, requirement
from conformance.iut import Iut
from conformance.session import Session
from conformance.verdicts import NotExercised
from conformance.vexide.commands import competition, raw_state, touch
from conformance.vexide.dialects import command_in_dialect
from conformance.vexide.simulator.observations import NO_GAMEPAD, is_close, wait_for_report
from conformance.vexide.simulator.probe_sessions import open_session, require_form
from conformance.vexide.simulator.tester import start

CARD = {"USD": {"root": "card"}}  # a placeholder for a temporary directory


@dataclass(frozen=True)
class Input:
    """A command, the setup before it, and the expected report of the probe program."""

    command: Any
    kind: str
    wanted: Callable[[str], bool]
    before: Any = None


INPUTS = {
    "touch.registered": Input(
        touch(10, 20, "Pressed"), "touch", lambda line: line == "Pressed 10 20"
    ),
    "battery.set-capacity": Input(
        {"SetBatteryCapacity": {"capacity": 9.0}}, "battery", lambda line: is_close(line, 9.0)
    ),
    "sdcard.mounted": Input(CARD, "sdcard", lambda line: line == "present"),
    "sdcard.unmounted": Input(
        {"USD": {"root": None}}, "sdcard", lambda line: line == "absent", before=CARD
    ),
    "controller.uuid-replaces-raw": Input(
        {"ControllerUpdate": {"UUID": NO_GAMEPAD}},
        "controller",
        lambda line: line in ("none", "axis1=0"),
        before=raw_state(axis1=65),
    ),
}


@pytest.mark.parametrize(
    "given",
    [pytest.param(given, marks=requirement(name)) for name, given in INPUTS.items()],
    ids=list(INPUTS),
)
async def test_counts_while_disabled(iut: Iut, given: Input) -> None:
    """A command that comes while the robot is disabled takes effect and stays in effect."""
    for command in (given.before, given.command):
        if command_in_dialect(command):
            await require_form(iut, command)

    async def play(mode: dict[str, Any]) -> None:
        with tempfile.TemporaryDirectory(prefix="conformance-") as folder:
            card = {"USD": {"root": folder}}
            pair = (given.before, given.command)
            before, command = (card if each is CARD else each for each in pair)
            async with open_session(iut, program="probe") as session:
                await start(session, *filter(None, [before]), competition(**mode))
                await wait_for_report(session, "competition", lambda report: report != "nothing")
                # An input stays in effect through the current mode and the next mode.
                for commands, last in (([command], True), ([], False)):
                    again = competition(is_competition=last)
                    await session.send(competition(**mode), *commands, again)
                    await _wait_until_enabled(session, last)
                    await session.wait_for("Serial")
                    report = await wait_for_report(session, given.kind, given.wanted)
                    # Checked only while enabled: a report that is missing while disabled can be the
                    # violation.
                    if report == "nothing" and mode is enabled:
                        raise NotExercised(
                            f"the program 'probe' reports nothing about {given.kind}"
                        )
                    name = next(iter(command))
                    expected = f"the program to see the {name} of a temporarily disabled robot"
                    check(given.wanted(report), expected, f"the program saw {given.kind} {report}")

    enabled: dict[str, Any] = {}
    await compared(iut, play, {"enabled": False, "mode": "Auto"}, enabled, iut.requirement_id)


async def _wait_until_enabled(session: Session, is_competition: bool) -> None:
    """Wait until the program sees that the robot is enabled."""
    words = {"enabled=true", f"is_competition={str(is_competition).lower()}"}
    await wait_for_report(session, "competition", lambda line: words <= set(line.split()))
