"""Sessions of vexide's simulator in memory, against the specification."""

import asyncio
import base64
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from conformance.definitions import protocols
from conformance.selftest.vexide_pipe import (
    HELLO,
    MOTOR,
    OFF,
    ON,
    SIGNATURE,
    Pipe,
    ended,
    listen,
    peers,
    raw,
)
from conformance.vexide.codec import name_of
from mocks.vexide.simulator import Settings, Simulator

pytestmark = pytest.mark.asyncio


@asynccontextmanager
async def simulator(
    program: str = "idle", peer: type[Simulator] = Simulator, **settings: Any
) -> AsyncIterator[Pipe]:
    pipe = Pipe()
    chosen = {"tick": 0.001, "load_time": 0.001, "extensions": (), **settings}
    playing = asyncio.create_task(peer(Settings(program, **chosen)).run(pipe))
    try:
        yield pipe
    finally:
        await ended(playing)


def serial_text(messages: list[Any]) -> str:
    data = [base64.b64decode(m["Serial"]["data"]) for m in messages if name_of(m) == "Serial"]
    return b"".join(data).decode()


def is_serial(text: str) -> Callable[[Any], bool]:
    return lambda message: name_of(message) == "Serial" and text in serial_text([message])


async def begun(pipe: Pipe, *setup: Any) -> list[Any]:
    """Return all messages before StartExecution is sent."""
    pipe.say(HELLO, *setup)
    messages = await pipe.hear_until(lambda message: message == "Ready")
    pipe.say("StartExecution")
    return messages


async def test_handshake_and_ready() -> None:
    async with simulator() as pipe:
        pipe.say(HELLO)
        assert [await pipe.hear() for _ in range(3)] == [HELLO, SIGNATURE, "Ready"]


@pytest.mark.parametrize("version", [1, 2, 2**31 - 1])
async def test_version_one_is_answered(version: int) -> None:
    async with simulator(extensions=("x-a", "x-b")) as pipe:
        pipe.say({"Handshake": {"version": version, "extensions": ["x-b", "x-c"], "more": {}}})
        assert await pipe.hear() == {"Handshake": {"version": 1, "extensions": ["x-b"]}}


@pytest.mark.parametrize("version", [0, -1, "1", 1.0, None])
async def test_other_versions_close(version: Any) -> None:
    async with simulator() as pipe:
        pipe.say({"Handshake": {"version": version, "extensions": []}})
        assert await pipe.hear() is None


@pytest.mark.parametrize(
    ("program", "logged"), [("return", False), ("exit", False), ("crash", True)]
)
async def test_programs_that_end(program: str, logged: bool) -> None:
    async with simulator(program) as pipe:
        await begun(pipe)
        messages = await pipe.hear_until(lambda message: message is None)
        assert messages[-2] == "Exited"
        assert any(name_of(m) == "Log" and m["Log"]["level"] == "Error" for m in messages) == logged


async def test_print_and_bytes() -> None:
    async with simulator("print") as pipe:
        await begun(pipe)
        assert serial_text([await pipe.hear()]) == "Hello World!\n"
    async with simulator("bytes") as pipe:
        await begun(pipe)
        data = (await pipe.hear())["Serial"]["data"]
        assert base64.b64decode(data) == bytes(range(256))


async def test_drive_reports_configured_motors_only() -> None:
    async with simulator("drive") as pipe:
        ports: list[Any] = [{"Smart": 20}, 1]
        await begun(pipe, *({"ConfigureDevice": {"port": p, "device": MOTOR}} for p in ports))
        updates: list[Any] = []
        while len(updates) < 10:
            message = await pipe.hear()
            if name_of(message) == "DeviceUpdate":
                updates.append(message["DeviceUpdate"])
        assert [update["port"] for update in updates] == [{"Smart": 20}, {"Smart": 1}] * 5
        assert all(update["status"]["Motor"]["voltage"] == 6.0 for update in updates)
        velocities = [update["status"]["Motor"]["velocity"] for update in updates[::2]]
        assert velocities == sorted(velocities)
        assert velocities[0] > 0


async def test_draw_uses_everything_once() -> None:
    async with simulator("draw") as pipe:
        await begun(pipe)
        messages = await pipe.hear_until(
            lambda message: message == {"ScreenDoubleBufferMode": {"enable": False}}
        )
        draws = [message["ScreenDraw"] for message in messages if name_of(message) == "ScreenDraw"]
        assert {name_of(draw["command"]) for draw in draws} == {"Fill", "Stroke", "CopyBuffer"}
        assert messages[-2] == "ScreenRender"


async def test_probe_sees_what_is_set(tmp_path: Path) -> None:
    async with simulator("probe") as pipe:
        await begun(pipe)
        messages = await pipe.hear_until(is_serial("battery"))
        assert set(serial_text(messages).splitlines()) == {
            "competition enabled=true connected=false mode=Driver is_competition=false",
            "controller none",
            "inputs rest",
            "sdcard absent",
            "battery 14.0",
            "touch Released",
        }
        for command, seen in (
            ({"CompetitionMode": OFF}, "competition enabled=false connected=true"),
            ({"SetBatteryCapacity": {"capacity": 10}}, "battery 10.0"),
            ({"USD": {"root": str(tmp_path)}}, "sdcard present"),
            ({"USD": {}}, "sdcard absent"),
        ):
            pipe.say(command)
            await pipe.hear_until(is_serial(seen))
        pipe.say({"ControllerUpdate": raw(axis1=65)}, {"CompetitionMode": ON})
        await pipe.hear_until(is_serial("controller axis1=65"))
        pipe.say({"ControllerUpdate": {"UUID": "0300"}})
        await pipe.hear_until(is_serial("controller none"))
        pipe.say({"ControllerUpdate": raw(axis1=-20)})
        await pipe.hear_until(is_serial("controller axis1=-20"))


async def test_demo_shows_every_event() -> None:
    async with simulator("demo", tick=0.005) as pipe:
        messages = await begun(
            pipe, {"ConfigureDevice": {"port": {"Smart": 0}, "device": MOTOR}}, "?"
        )
        messages += await pipe.hear_until(lambda message: message is None)
        events = {
            name for sender, name in protocols.load("vexide").messages if sender == "simulator"
        }
        assert {name_of(message) for message in messages[:-1]} == events


async def test_commands_without_use_are_warned_of() -> None:
    useless = [
        "Nonsense",
        {"Nonsense": {}},
        {"Touch": {"pos": {"x": 1}, "event": "Pressed"}},
        {"ConfigureDevice": {"port": {"Smart": 21}, "device": MOTOR}},
        {"ConfigureDevice": {"port": {"Smart": 1}, "device": {"Imu": {}}}},
        {"CompetitionMode": {**ON, "mode": "Autonomous"}},
        {"SetBatteryCapacity": {"capacity": "14"}},
        HELLO,
        "StartExecution",
    ]
    async with simulator() as pipe:
        pipe.say(HELLO, *useless)
        pipe.to_mock.put_nowait(b"\n{\n\xff\n")
        messages = await pipe.hear_until(lambda message: message == "Ready")
        levels = [message["Log"]["level"] for message in messages if name_of(message) == "Log"]
        assert levels == ["Warn"] * (len(useless) + 3)


async def test_commands_without_effect_are_traced() -> None:
    commands = [
        {"Touch": {"pos": {"x": 1, "y": 2}, "event": "Pressed"}},
        {"AdiInput": {"port": 7, "voltage": 2.5}},
        {"VEXLinkOpened": {"port": 3, "mode": "Worker"}},
        {"VEXLinkClosed": {"port": 3}},
    ]
    async with simulator() as pipe:
        pipe.say(HELLO, *commands)
        messages = await pipe.hear_until(lambda message: message == "Ready")
        assert [m["Log"]["level"] for m in messages if name_of(m) == "Log"] == ["Trace"] * 4


async def test_same_session_twice_is_the_same() -> None:
    async def session() -> list[Any]:
        async with simulator("demo") as pipe:
            await begun(pipe, {"ConfigureDevice": {"port": {"Smart": 4}, "device": MOTOR}})
            return await pipe.hear_until(lambda message: message is None)

    assert await session() == await session()


async def test_faulty_simulators_work_otherwise() -> None:
    """A fault changes the session, and never breaks the mock itself."""
    await asyncio.gather(*map(_simulator_session, peers("vexide/simulator")))


async def _simulator_session(peer: type[Simulator]) -> None:
    async with simulator("demo", peer) as pipe:
        pipe.say({"Handshake": {"version": 1, "extensions": ["x-é"], "more": 1}})
        pipe.say({"ConfigureDevice": {"port": {"Smart": 20}, "device": MOTOR}}, {"USD": {}})
        await listen(pipe, "Ready")
        pipe.say("StartExecution", {"CompetitionMode": ON}, {"ControllerUpdate": raw()})
        await listen(pipe, "Exited")
