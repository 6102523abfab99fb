"""The mode of the competition that the program sees."""

from typing import Any

import pytest

from conformance.cases import lasting, requirement
from conformance.iut import Iut
from conformance.session import Session
from conformance.verdicts import Inconclusive, Violation
from conformance.vexide.commands import START, competition
from conformance.vexide.simulator.plain import opened
from conformance.vexide.simulator.reading import probed, serial_text
from conformance.vexide.simulator.tester import shake_hands, start

DEFAULT = {"enabled": True, "connected": False, "mode": "Driver", "is_competition": False}
MANY = 150  # commands; who takes one in each step, such as 20 ms, has the time for them


@requirement("setup.default-competition")
async def test_default_competition(iut: Iut) -> None:
    """Without a CompetitionMode the program runs enabled, unconnected, in Driver mode."""
    async with opened(iut, program="probe") as session:
        await shake_hands(session)
        await session.expect("Ready")
        await session.send(START)
        await _sees_mode(session, DEFAULT)


@requirement("competition.update")
@pytest.mark.parametrize("field", ["enabled", "connected", "mode", "is_competition"])
@pytest.mark.parametrize("when", ["setup", "running"])
async def test_competition_mode(iut: Iut, field: str, when: str) -> None:
    """Each value of a CompetitionMode reaches the program, from setup and while it runs."""
    mode = {**DEFAULT, field: "Auto" if field == "mode" else not DEFAULT[field]}
    async with opened(iut, program="probe") as session:
        if when == "setup":
            await shake_hands(session)
            await session.send(competition(**mode))
            await session.expect("Ready")
            await session.send(START)
        else:
            await start(session)
            await probed(session, "competition", lambda said: said != "nothing")
            await session.send(competition(**mode))
        await _sees_mode(session, mode)


@requirement("competition.update")
async def test_competition_changes(iut: Iut) -> None:
    """Each of several changes while the program runs counts, also one of all values at once."""
    changes = [
        {**DEFAULT, "mode": "Auto", "enabled": False},
        {**DEFAULT, "connected": True, "is_competition": True},
        {**DEFAULT, "mode": "Auto", "connected": True},
        DEFAULT,
    ]
    async with opened(iut, program="probe") as session:
        await start(session)
        await probed(session, "competition", lambda said: said != "nothing")
        for mode in changes:
            await session.send(competition(**mode))
            await _sees_mode(session, mode)


@requirement("competition.update")
async def test_competition_after_many_changes(iut: Iut) -> None:
    """However many changes have come while the program runs, the latest counts."""
    latest = {**DEFAULT, "mode": "Auto", "connected": True}
    async with opened(iut, program="probe") as session:
        await start(session)
        await probed(session, "competition", lambda said: said != "nothing")
        for number in range(MANY):
            await session.send(competition(enabled=bool(number % 2)))
        await session.send(competition(**latest))
        # One that takes a command in each of its steps still has to come to the last.
        left = session.left("program")
        while left() > 0 and await session.watch("Serial"):
            pass
        await _sees_mode(session, latest)


@requirement("competition.update")
@lasting
async def test_competition_changes_after_a_while(iut: Iut) -> None:
    """A change counts also where the program has run for a while, with nothing said meanwhile."""
    async with opened(iut, program="probe") as session:
        await start(session)
        await probed(session, "competition", lambda said: said != "nothing")
        await session.watch("Exited", within="response")
        mode = {**DEFAULT, "mode": "Auto", "is_competition": True}
        await session.send(competition(**mode))
        await _sees_mode(session, mode)


async def _sees_mode(session: Session, mode: dict[str, Any]) -> None:
    wanted = _told(mode)
    said = await probed(session, "competition", lambda line: line.split() == wanted)
    if said.split() == wanted:
        return
    if not mode["enabled"] and await _held_back(session, mode):
        raise Inconclusive(
            "what the program writes while the robot is disabled comes once it is enabled"
        )
    raise Violation(f"the program to see {' '.join(wanted)}", f"it saw {said}")


def _told(mode: dict[str, Any]) -> list[str]:
    """The words in which the probe program says that it sees a mode."""
    return [
        f"{name}={value if name == 'mode' else str(value).lower()}" for name, value in mode.items()
    ]


async def _held_back(session: Session, mode: dict[str, Any]) -> bool:
    """Whether that it has seen this mode comes with what it writes of one that is enabled."""
    behind = {**mode, "enabled": True}
    await session.send(competition(**behind))
    await probed(session, "competition", lambda line: line.split() == _told(behind))
    said = ["competition", *_told(mode)]
    return any(line.split() == said for line in serial_text(session).splitlines())
