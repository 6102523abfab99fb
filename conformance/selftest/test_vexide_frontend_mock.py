"""Sessions of vexide's frontend in memory, against the specification."""

import asyncio
import io
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest

from conformance.selftest.vexide_pipe import (
    HELLO,
    MOTOR,
    SIGNATURE,
    Pipe,
    ended,
    listen,
    peers,
    raw,
)
from mocks.vexide.choices import World
from mocks.vexide.frontend import Frontend
from mocks.vexide.terminal import Terminal

pytestmark = pytest.mark.asyncio


@asynccontextmanager
async def frontend(
    world: World | None = None, peer: type[Frontend] = Frontend
) -> AsyncIterator[tuple[Pipe, Frontend]]:
    pipe, mock = Pipe(), peer(world or World(), Terminal(io.StringIO()))
    playing = asyncio.create_task(mock.run(pipe))
    try:
        yield pipe, mock
    finally:
        await ended(playing)


async def test_frontend_sets_up_and_starts() -> None:
    world = World(devices={("Smart", 20): MOTOR}, battery=9.0, card="/card", adi={3: 1.5})
    async with frontend(world) as (pipe, mock):
        assert await pipe.hear() == HELLO
        pipe.say(HELLO)
        assert [await pipe.hear() for _ in range(5)] == [
            {"ConfigureDevice": {"port": {"Smart": 20}, "device": MOTOR}},
            {"CompetitionMode": world.competition},
            {"SetBatteryCapacity": {"capacity": 9.0}},
            {"USD": {"root": "/card"}},
            {"AdiInput": {"port": 3, "voltage": 1.5}},
        ]
        pipe.say("Ready")
        assert await pipe.hear() == "StartExecution"
        pipe.say("Exited")
        assert await pipe.hear() is None
        assert mock.outcome == "exited"


@pytest.mark.parametrize("version", [0, 2, -1, "1"])
async def test_frontend_refuses_versions(version: Any) -> None:
    async with frontend() as (pipe, mock):
        await pipe.hear()
        pipe.say({"Handshake": {"version": version, "extensions": []}})
        assert await pipe.hear() is None
        assert mock.outcome == "incompatible"


async def test_close_without_exited_is_an_error() -> None:
    async with frontend() as (pipe, mock):
        await pipe.hear()
        pipe.say(HELLO, "Ready")
        await pipe.hear_until(lambda message: message == "StartExecution")
        pipe.to_mock.put_nowait(b"")
        assert await pipe.hear() is None
        assert mock.outcome == "error"
        assert "internal simulator error" in mock.terminal.text()


async def test_frontend_survives_the_unknown() -> None:
    async with frontend() as (pipe, mock):
        await pipe.hear()
        pipe.say(HELLO, "What", {"RobotState": None}, "RobotState", {"What": 1}, HELLO)
        pipe.say({"DeviceUpdate": {"port": {"Smart": 0}, "status": {"Imu": {}}}}, {"Serial": {}})
        pipe.to_mock.put_nowait(b"{\n\n")
        pipe.say({"Log": {"level": "Info", "message": "\x1b[31mred", "x": 1}}, "Ready")
        await pipe.hear_until(lambda message: message == "StartExecution")
        assert "Info: \\x1b[31mred" in mock.terminal.text()


async def test_touches() -> None:
    async with frontend(World(hold_time=0.01)) as (pipe, mock):
        await pipe.hear()
        pipe.say(HELLO)
        await pipe.hear()
        touch = mock.operations()["touch"]
        await touch({"x": 1, "y": 2, "event": "Pressed"})
        messages = [await pipe.hear() for _ in range(3)]
        await touch({"x": 3, "y": 4, "event": "Pressed"})
        await touch({"x": 3, "y": 4, "event": "Released"})
        messages += await pipe.hear_until(lambda m: m["Touch"] == _touch(3, 4, "Released"))
        events = [(m["Touch"]["pos"]["x"], m["Touch"]["event"]) for m in messages]
        assert events[:3] == [(1, "Pressed"), (1, "Held"), (1, "Held")]
        assert events[-3:] == [(1, "Released"), (3, "Pressed"), (3, "Released")]


def _touch(x: int, y: int, event: str) -> dict[str, Any]:
    return {"pos": {"x": x, "y": y}, "event": event}


async def test_user_changes_what_is_sent() -> None:
    async with frontend(World(hold=True)) as (pipe, mock):
        await pipe.hear()
        user = mock.operations()
        await user["configure"]({"port": 7, "device": MOTOR})
        await user["competition"]({"mode": "Auto"})
        await user["controller"]({"Raw": {"axis1": 500}})
        await user["start"]({})
        pipe.say(HELLO)
        setup = [await pipe.hear() for _ in range(3)]
        assert setup[0] == {"ConfigureDevice": {"port": {"Smart": 7}, "device": MOTOR}}
        assert setup[1]["CompetitionMode"]["mode"] == "Auto"
        assert setup[2]["ControllerUpdate"]["Raw"]["axis1"] == 127
        pipe.say("Ready")
        assert await pipe.hear() == "StartExecution"
        await user["controller"]({"UUID": "03"})
        assert await pipe.hear() == {"ControllerUpdate": {"UUID": "03"}}
        with pytest.raises(ValueError, match="unknown variant"):
            await user["configure"]({"port": 7, "device": {"Imu": {}}})


class Killed(Exception):
    """A fault has killed the process of its mock."""


def _kill(*_: Any) -> None:
    raise Killed


async def test_faulty_frontends_work_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fault changes the session, and never breaks the mock itself."""
    monkeypatch.setattr("os.kill", _kill)
    await asyncio.gather(*map(_frontend_session, peers("vexide/frontend")))


async def _frontend_session(peer: type[Frontend]) -> None:
    world = World(devices={("Smart", 20): MOTOR}, controller=raw())
    with suppress(Killed):
        async with frontend(world, peer) as (pipe, mock):
            await _play(pipe, mock)


async def _play(pipe: Pipe, mock: Frontend) -> None:
    pipe.say({**HELLO}, {"Log": {"level": "Trace", "message": ""}}, SIGNATURE, "Ready")
    await listen(pipe, "StartExecution")
    mock.simulator_said("anything")
    for event in ("Pressed", "Held", "Released") if mock.live else ():
        await mock.operations()["touch"]({"x": 1, "y": 2, "event": event})
    pipe.say({"VEXLinkDisconnect": {"port": 1}}, "Exited")
    await listen(pipe, "nothing")
