"""Sessions of the vexide mocks in memory, against what the specification says."""

import asyncio
import base64
import contextlib
import io
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from conformance import protocols
from conformance.vexide.codec import Decoder, encode, name_of
from mocks import deviations
from mocks.streams import Stream
from mocks.vexide.choices import NEUTRAL, World
from mocks.vexide.frontend import Frontend
from mocks.vexide.simulator import Settings, Simulator
from mocks.vexide.terminal import Terminal

pytestmark = pytest.mark.asyncio

DEADLINE = 20.0  # seconds that anything here may take at most
HELLO = {"Handshake": {"version": 1, "extensions": []}}
SIGNATURE = {"VCodeSig": "WFZYNQIAAAAAAAAAAAAAAAAAAAAAAAAA"}
MOTOR = {"Motor": {"physical_gearset": "Green", "moment_of_inertia": 0.01}}
OFF = {"enabled": False, "connected": True, "mode": "Driver", "is_competition": True}
ON = {**OFF, "enabled": True}


class Pipe(Stream):
    """A stream in memory: the mock on one end, the test on the other."""

    def __init__(self) -> None:
        self.kind = "stdio"
        self.to_mock: asyncio.Queue[bytes] = asyncio.Queue()
        self.from_mock: asyncio.Queue[Any] = asyncio.Queue()
        self._decoder = Decoder()
        self._open = True

    async def read(self) -> bytes:
        return await self.to_mock.get() if self._open else b""

    def write(self, data: bytes) -> None:
        if self._open:
            for frame in self._decoder.feed(data):
                self.from_mock.put_nowait(frame.value if frame.name else frame)

    @property
    def congested(self) -> bool:
        return False

    async def drain(self) -> None:
        pass

    def close(self, why: str = "") -> None:
        if self._open:
            self._open = False
            self.to_mock.put_nowait(b"")
            self.from_mock.put_nowait(None)

    async def closed(self) -> None:
        self.close()

    # The test's end

    def say(self, *messages: Any) -> None:
        self.to_mock.put_nowait(b"".join(map(encode, messages)))

    async def hear(self) -> Any:
        """The next message of the mock; None when it has closed the stream."""
        return await asyncio.wait_for(self.from_mock.get(), DEADLINE)

    async def hear_until(self, wanted: Callable[[Any], bool]) -> list[Any]:
        heard = [await self.hear()]
        while not wanted(heard[-1]):
            assert heard[-1] is not None, f"the stream ended after {heard}"
            heard.append(await self.hear())
        return heard


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


async def ended(playing: "asyncio.Task[None]") -> None:
    """End a mock, and raise what it may have died of."""
    playing.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await playing


def serial_text(messages: list[Any]) -> str:
    data = [base64.b64decode(m["Serial"]["data"]) for m in messages if name_of(m) == "Serial"]
    return b"".join(data).decode()


def is_serial(text: str) -> Callable[[Any], bool]:
    return lambda message: name_of(message) == "Serial" and text in serial_text([message])


async def begun(pipe: Pipe, *setup: Any) -> list[Any]:
    """Everything up to and including StartExecution."""
    pipe.say(HELLO, *setup)
    heard = await pipe.hear_until(lambda message: message == "Ready")
    pipe.say("StartExecution")
    return heard


# The simulator


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
        heard = await pipe.hear_until(lambda message: message is None)
        assert heard[-2] == "Exited"
        assert any(name_of(m) == "Log" and m["Log"]["level"] == "Error" for m in heard) == logged


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
        heard = await pipe.hear_until(
            lambda message: message == {"ScreenDoubleBufferMode": {"enable": False}}
        )
        draws = [message["ScreenDraw"] for message in heard if name_of(message) == "ScreenDraw"]
        assert {name_of(draw["command"]) for draw in draws} == {"Fill", "Stroke", "CopyBuffer"}
        assert heard[-2] == "ScreenRender"


async def test_probe_sees_what_is_set(tmp_path: Path) -> None:
    async with simulator("probe") as pipe:
        await begun(pipe)
        heard = await pipe.hear_until(is_serial("battery"))
        assert set(serial_text(heard).splitlines()) == {
            "competition enabled=true connected=false mode=Driver is_competition=false",
            "controller none",
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
        pipe.say({"ControllerUpdate": _raw(axis1=65)}, {"CompetitionMode": ON})
        await pipe.hear_until(is_serial("controller axis1=65"))
        pipe.say({"ControllerUpdate": {"UUID": "0300"}})
        await pipe.hear_until(is_serial("controller none"))
        pipe.say({"ControllerUpdate": _raw(axis1=-20)})
        await pipe.hear_until(is_serial("controller axis1=-20"))


async def test_demo_shows_every_event() -> None:
    async with simulator("demo", tick=0.005) as pipe:
        heard = await begun(pipe, {"ConfigureDevice": {"port": {"Smart": 0}, "device": MOTOR}}, "?")
        heard += await pipe.hear_until(lambda message: message is None)
        events = {
            name for sender, name in protocols.load("vexide").messages if sender == "simulator"
        }
        assert {name_of(message) for message in heard[:-1]} == events


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
        heard = await pipe.hear_until(lambda message: message == "Ready")
        levels = [message["Log"]["level"] for message in heard if name_of(message) == "Log"]
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
        heard = await pipe.hear_until(lambda message: message == "Ready")
        assert [m["Log"]["level"] for m in heard if name_of(m) == "Log"] == ["Trace"] * 4


async def test_same_session_twice_is_the_same() -> None:
    async def session() -> list[Any]:
        async with simulator("demo") as pipe:
            await begun(pipe, {"ConfigureDevice": {"port": {"Smart": 4}, "device": MOTOR}})
            return await pipe.hear_until(lambda message: message is None)

    assert await session() == await session()


def _raw(**state: Any) -> dict[str, Any]:
    return {"Raw": {**NEUTRAL, **state}}


# The frontend


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
        heard = [await pipe.hear() for _ in range(3)]
        await touch({"x": 3, "y": 4, "event": "Pressed"})
        await touch({"x": 3, "y": 4, "event": "Released"})
        heard += await pipe.hear_until(lambda m: m["Touch"] == _touch(3, 4, "Released"))
        events = [(m["Touch"]["pos"]["x"], m["Touch"]["event"]) for m in heard]
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


# The faults


def _peers(role: str) -> list[type[Any]]:
    return [deviations.deviating(role, [name]) for name in deviations.faults(role)]


async def test_faulty_simulators_work_otherwise() -> None:
    """Whatever a fault does to a session, it does not break the mock itself."""
    await asyncio.gather(*map(_simulator_session, _peers("vexide/simulator")))


async def _simulator_session(peer: type[Simulator]) -> None:
    async with simulator("demo", peer) as pipe:
        pipe.say({"Handshake": {"version": 1, "extensions": ["x-é"], "more": 1}})
        pipe.say({"ConfigureDevice": {"port": {"Smart": 20}, "device": MOTOR}}, {"USD": {}})
        await _listen(pipe, "Ready")
        pipe.say("StartExecution", {"CompetitionMode": ON}, {"ControllerUpdate": _raw()})
        await _listen(pipe, "Exited")


async def test_faulty_frontends_work_otherwise() -> None:
    """Whatever a fault does to a session, it does not break the mock itself."""
    await asyncio.gather(*map(_frontend_session, _peers("vexide/frontend")))


async def _frontend_session(peer: type[Frontend]) -> None:
    world = World(devices={("Smart", 20): MOTOR}, controller=_raw())
    async with frontend(world, peer) as (pipe, mock):
        pipe.say({**HELLO}, {"Log": {"level": "Trace", "message": ""}}, SIGNATURE, "Ready")
        await _listen(pipe, "StartExecution")
        mock.simulator_said("anything")
        for event in ("Pressed", "Held", "Released") if mock.live else ():
            await mock.operations()["touch"]({"x": 1, "y": 2, "event": event})
        pipe.say({"VEXLinkDisconnect": {"port": 1}}, "Exited")
        await _listen(pipe, "nothing")


async def _listen(pipe: Pipe, name: str) -> None:
    """Read up to a message, the stream's end, or a moment in which nothing comes."""
    with contextlib.suppress(TimeoutError):
        while (message := await asyncio.wait_for(pipe.from_mock.get(), 0.1)) is not None:
            if message == name:
                return
