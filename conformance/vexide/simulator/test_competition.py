"""The competition mode that the program sees."""

from typing import Any

import pytest

from conformance.cases import lasting, requirement
from conformance.iut import Iut
from conformance.session import Session
from conformance.verdicts import Inconclusive, Violation
from conformance.vexide.commands import START, competition
from conformance.vexide.simulator.observations import serial_text, wait_for_report
from conformance.vexide.simulator.probe_sessions import open_session
from conformance.vexide.simulator.tester import expect_ready, shake_hands, start

DEFAULT = {"enabled": True, "connected": False, "mode": "Driver", "is_competition": False}
COMMANDS = 150  # commands; a simulator that reads one per step of 20 ms needs 3 s for them


@requirement("setup.default-competition")
async def test_default_competition(iut: Iut) -> None:
    """Without a CompetitionMode the program runs enabled, unconnected, in Driver mode."""
    async with open_session(iut, program="probe") as session:
        await shake_hands(session)
        await expect_ready(session)
        await session.send(START)
        await _is_mode_seen(session, DEFAULT)


@requirement("competition.update")
@pytest.mark.parametrize("field", ["enabled", "connected", "mode", "is_competition"])
@pytest.mark.parametrize("when", ["setup", "running"])
async def test_competition_mode(iut: Iut, field: str, when: str) -> None:
    """Each value of a CompetitionMode reaches the program, during setup and while running."""
    mode = {**DEFAULT, field: "Auto" if field == "mode" else not DEFAULT[field]}
    async with open_session(iut, program="probe") as session:
        if when == "setup":
            await shake_hands(session)
            await session.send(competition(**mode))
            await expect_ready(session)
            await session.send(START)
        else:
            await start(session)
            await wait_for_report(session, "competition", lambda report: report != "nothing")
            await session.send(competition(**mode))
        await _is_mode_seen(session, mode)


@requirement("competition.update")
async def test_competition_changes(iut: Iut) -> None:
    """Each of several mode changes while the program runs takes effect."""
    changes = [
        {**DEFAULT, "mode": "Auto", "enabled": False},
        {**DEFAULT, "connected": True, "is_competition": True},
        {**DEFAULT, "mode": "Auto", "connected": True},
        DEFAULT,
    ]
    async with open_session(iut, program="probe") as session:
        await start(session)
        await wait_for_report(session, "competition", lambda report: report != "nothing")
        for mode in changes:
            await session.send(competition(**mode))
            await _is_mode_seen(session, mode)


@requirement("competition.update")
async def test_competition_after_many_changes(iut: Iut) -> None:
    """The last of many mode changes while the program runs takes effect."""
    latest = {**DEFAULT, "mode": "Auto", "connected": True}
    async with open_session(iut, program="probe") as session:
        await start(session)
        await wait_for_report(session, "competition", lambda report: report != "nothing")
        for number in range(COMMANDS):
            await session.send(competition(enabled=bool(number % 2)))
        await session.send(competition(**latest))
        # A simulator that reads one command per step has not reached the last command yet.
        left = session.countdown("program")
        while left() > 0 and await session.wait_for("Serial"):
            pass
        await _is_mode_seen(session, latest)


@requirement("competition.update")
@lasting
async def test_competition_changes_after_a_while(iut: Iut) -> None:
    """A mode change takes effect also after a while without commands."""
    async with open_session(iut, program="probe") as session:
        await start(session)
        await wait_for_report(session, "competition", lambda report: report != "nothing")
        await session.wait_for("Exited", within="response")
        mode = {**DEFAULT, "mode": "Auto", "is_competition": True}
        await session.send(competition(**mode))
        await _is_mode_seen(session, mode)


async def _is_mode_seen(session: Session, mode: dict[str, Any]) -> None:
    wanted = _mode_words(mode)
    report = await wait_for_report(session, "competition", lambda line: line.split() == wanted)
    if report.split() == wanted:
        return
    if not mode["enabled"] and await _comes_late(session, mode):
        raise Inconclusive("the output of a disabled program comes only after the robot is enabled")
    raise Violation(f"the program to see {' '.join(wanted)}", f"the program saw {report}")


def _mode_words(mode: dict[str, Any]) -> list[str]:
    """Return the words with which the probe program reports a mode."""
    return [
        f"{name}={value if name == 'mode' else str(value).lower()}" for name, value in mode.items()
    ]


async def _comes_late(session: Session, mode: dict[str, Any]) -> bool:
    """Enable the robot; return True if output for the earlier mode comes only then."""
    enabled = {**mode, "enabled": True}
    await session.send(competition(**enabled))
    await wait_for_report(session, "competition", lambda line: line.split() == _mode_words(enabled))
    report = ["competition", *_mode_words(mode)]
    return any(line.split() == report for line in serial_text(session).splitlines())
