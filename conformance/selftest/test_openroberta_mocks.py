"""The openroberta mocks: as sound peers of each other, and with their users."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from conformance.codec import Frame
from conformance.definitions import protocols
from conformance.judging.judge import Judge
from conformance.openroberta import message_names
from conformance.openroberta.codec import Decoder, content, encode, request
from conformance.openroberta.message_names import MANDATORY
from conformance.selftest.driving import Place
from conformance.selftest.standing import DEADLINE, ask, ended, mock
from mocks import streams
from mocks.openroberta import interpreter
from mocks.openroberta.files import programs_of
from mocks.openroberta.lab import Lab
from mocks.openroberta.robot import Robot
from mocks.openroberta.robot import Settings as RobotSettings
from mocks.openroberta.robot import operations as robot_operations
from mocks.openroberta.user import Settings, operations

pytestmark = pytest.mark.asyncio


@contextlib.asynccontextmanager
async def lab_running(**settings: Any) -> AsyncIterator[tuple[Lab, int]]:
    """Run a lab in this process; yield the lab and its port."""
    times = {"register_hold": 2.0, "push_hold": 0.3, "offline": 0.4, **settings}
    lab = Lab(Settings(**times))
    accepted: set[asyncio.Task[None]] = set()

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task
        accepted.add(task)
        await lab.connection(streams.Stream(reader, writer, kind="tcp"))

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    try:
        yield lab, server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for task in accepted:
            task.cancel()
        await asyncio.gather(*accepted, return_exceptions=True)


@contextlib.asynccontextmanager
async def robot_running(port: int, **settings: Any) -> AsyncIterator[Robot]:
    given = {"token": "ABCD2345", "pause": 0.05, "sensors": 0.05, **settings}
    robot = Robot(RobotSettings(url=f"http://127.0.0.1:{port}", **given))
    playing = asyncio.create_task(robot.play())
    try:
        yield robot
    finally:
        playing.cancel()
        await asyncio.gather(playing, return_exceptions=True)
        await robot.stop_sensors()
        await robot.caller.close()


async def until(condition: Any) -> None:
    """Wait until a condition is true. Raises TimeoutError."""
    async with asyncio.timeout(DEADLINE):
        # No event reports changes inside a mock.
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0.01)


async def asked(port: int, *values: Any) -> list[Frame]:
    """Return a lab's answers to requests, each on its own connection."""
    answers = []
    for value in values:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(encode(value) if isinstance(value, dict) else value)
        decoder = Decoder()
        frames: list[Frame] = []
        async with asyncio.timeout(DEADLINE):
            while not frames and (data := await reader.read(65536)):
                frames = decoder.feed(data)
        answers += frames or decoder.end()
        writer.close()
    return answers


async def test_a_day_of_a_robot(tmp_path: Path) -> None:
    """A robot registers, polls, runs programs, measures, updates, and registers again."""
    async with (
        lab_running() as (lab, port),
        robot_running(port, folder=tmp_path) as robot,
    ):
        user = operations(lab)
        hand = robot_operations(robot)
        token = {"token": "ABCD2345"}
        await until(lambda: "ABCD2345" in lab.robots)
        assert await user["state"](token) == {"state": "unknown"}
        with pytest.raises(ValueError, match="no robot is connected"):
            await user["run"](token)
        await user["pair"](token)
        await until(lambda: lab.state("ABCD2345")["state"] == "waiting")
        await hand["battery"]({"value": "7.1"})
        await until(lambda: lab.state("ABCD2345")["battery"] == "7.1")
        given = await user["run"](token)
        await until(lambda: lab.state("ABCD2345")["exitvalue"] == interpreter.BROKEN)
        assert (await hand["executed"]({}))[0] == given
        assert (tmp_path / "NEPOprog.bin").read_bytes() == bytes(range(256))
        await hand["exit"]({"value": 143})
        await user["run"]({**token, "program": "hello.toy"})
        await until(lambda: lab.state("ABCD2345")["state"] == "running")
        await until(lambda: lab.state("ABCD2345")["exitvalue"] == 143)
        await until(lambda: lab.robots["ABCD2345"].sensors)
        shown = await user["robots"]({"tokens": ["ABCD2345", "nobody"]})
        assert shown["robots"]["ABCD2345"]["sensors"]["1-TOUCH"] == "0"
        await user["update"](token)
        await until(lambda: lab.state("ABCD2345")["state"] == "unknown")
        await until(lambda: "ABCD2345" in lab.robots)


async def test_a_session_is_sound() -> None:
    """The traffic between both mocks has no violation, and all awaited messages come."""
    protocol = protocols.load("openroberta")
    conversation = protocol.conversation()
    judges: list[Judge] = []

    async with lab_running() as (lab, port):

        async def between(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            judge = Judge(protocol, protocol.roles, conversation=conversation)
            judges.append(judge)
            onward = await asyncio.open_connection("127.0.0.1", port)

            async def pump(source: Any, sink: Any, sender: str) -> None:
                while data := await source.read(65536):
                    for frame in judge.decode(sender, data):
                        judge.frame(None, sender, frame)
                    sink.write(data)
                sink.close()

            await asyncio.gather(pump(reader, onward[1], "robot"), pump(onward[0], writer, "lab"))

        proxy = await asyncio.start_server(between, "127.0.0.1", 0)
        here = proxy.sockets[0].getsockname()[1]
        async with robot_running(here, close=True) as robot:
            await until(lambda: "ABCD2345" in lab.robots)
            lab.pair("ABCD2345")
            await until(lambda: lab.robots["ABCD2345"].pushes)
            lab.run("ABCD2345", "NEPOprog.bin")
            await until(lambda: robot.exit_value is not None)
            await until(lambda: lab.robots["ABCD2345"].pushes)
            lab.update("ABCD2345")
            await until(lambda: lab.state("ABCD2345")["state"] == "unknown")
        proxy.close()
    assert [finding for judge in judges for finding in judge.findings] == []
    assert "data.same-object" in set().union(*(judge.exercised for judge in judges))


async def test_what_a_lab_refuses() -> None:
    data = {**dict.fromkeys(MANDATORY, "1"), "cmd": "register"}
    wrong: list[Any] = [
        request("POST", message_names.PUSHCMD, {}, {k: v for k, v in data.items() if k != name})
        for name in MANDATORY
    ]
    wrong += [
        request("POST", message_names.PUSHCMD, {}, {**data, "cmd": "push"}),
        request("POST", message_names.PUSHCMD, {}, {**data, "cmd": "poll"}),
        request("POST", message_names.PUSHCMD, {}, b"[]"),
        request("GET", message_names.PUSHCMD, {}, data),
        request("POST", message_names.DOWNLOAD, {}, data),
        request("POST", "/pushcmd", {}, data),
        request("POST", f"{message_names.UPDATE}v1/runtime", {}, data),
        request("GET", f"{message_names.UPDATE}v1/nothing"),
        request("GET", "/user/run"),
        b"hello\r\n\r\n",
    ]
    async with lab_running() as (lab, port):
        answers = await asked(port, *wrong)
        assert [answer.name for answer in answers] == ["Refusal"] * len(wrong)
        assert lab.robots == {}


async def test_an_abort_and_a_file() -> None:
    data = {**dict.fromkeys(MANDATORY, "1"), "cmd": "register"}
    async with lab_running(register_hold=0.1) as (lab, port):
        aborted, file = await asked(
            port,
            request("POST", message_names.PUSHCMD, {}, data),
            request("GET", f"{message_names.UPDATE}v1/ev3menu"),
        )
        assert (aborted.name, lab.robots) == ("Abort", {})
        assert file.value["headers"]["filename"] == "EV3Menu.jar"
        assert content(file.value).startswith(b"PK")


async def test_a_body_that_is_kept_back() -> None:
    """A robot that waits for 100 Continue gets it, and then the answer to its body."""
    given = request("POST", message_names.PUSHCMD, {"expect": "100-continue"}, {"cmd": "register"})
    top, end, body = encode(given).partition(b"\r\n\r\n")
    async with lab_running() as (_, port), asyncio.timeout(DEADLINE):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(top + end)
        assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 100 ")
        writer.write(body)
        assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 500 ")
        writer.close()


async def test_the_page_and_its_operations() -> None:
    async with lab_running() as (_, port):
        page, listed, refused = await asked(
            port,
            request("GET", "/"),
            request("POST", "/user/robots", {}, {"tokens": []}),
            request("POST", "/user/pair", {}, {"token": "<script>"}),
        )
        assert b"<title>Reference lab" in content(page.value)
        assert listed.value["json"]["result"]["programs"][0] == "NEPOprog.bin"
        assert refused.value["status"] == 409


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({"host": "localhost:8080"}, 200),
        ({"host": "[::1]:8080", "origin": "http://[::1]:8080"}, 200),
        ({"host": "10.0.0.1", "content-type": "application/json; charset=utf-8"}, 200),
        ({"host": "rebound.example:8080"}, 403),
        ({"host": "127.0.0.1.example"}, 403),
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"content-type": "text/plain"}, 415),
        ({"content-type": "application/x-www-form-urlencoded"}, 415),
        ({"content-type": ""}, 415),
    ],
)
async def test_a_foreign_page_has_no_power(fields: dict[str, str], status: int) -> None:
    """A page of another origin, or under a rebound name, cannot ask the lab."""
    async with lab_running() as (_, port):
        given = request("POST", "/user/robots", fields, {"tokens": []})
        (answer,) = await asked(port, given)
        assert answer.value["status"] == status


@pytest.mark.parametrize(
    ("program", "value", "said"),
    [
        (b"say a b\nexit 3\nsay no", 3, ["a b"]),
        (b"", interpreter.FINE, []),
        (b"motor A 50\n\nwait 0", interpreter.FINE, []),
        (bytes(range(256)), interpreter.BROKEN, []),
        (b"dance", interpreter.BROKEN, []),
        (b"wait nan", interpreter.BROKEN, []),
        (b"motor A", interpreter.BROKEN, []),
    ],
)
async def test_programs(program: bytes, value: int, said: list[str]) -> None:
    heard: list[str] = []
    assert await interpreter.run(program, heard.append, {}) == value
    assert heard == said


@pytest.mark.parametrize(
    "name", ["../x", "a/../../x", "/etc/x", "..\\x", "x", "..", ".", "", "a\0b", "C:\\x"]
)
async def test_a_robot_stays_in_its_folder(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "own"
    folder.mkdir()
    robot = Robot(RobotSettings(url="http://127.0.0.1:1", folder=folder))
    robot.keep(name, b"1")
    files = [path for path in tmp_path.rglob("*") if path.is_file()]  # noqa: ASYNC240
    assert [path.parent for path in files] == [folder]


async def test_programs_of_a_folder(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no programs"):
        programs_of(tmp_path)
    (tmp_path / "a.toy").write_bytes(b"exit 0")
    assert programs_of(tmp_path) == {"a.toy": b"exit 0"}


@pytest.mark.parametrize("role", ["lab", "robot"])
async def test_processes(role: str) -> None:
    """A mock needs an address; it answers the upper tester on its standard streams."""
    async with mock(f"openroberta/{role}") as alone:
        _, err = await asyncio.wait_for(alone.communicate(), DEADLINE)
        assert (alone.returncode, b"needs --" in err) == (2, True)
    where = ["--listen", "127.0.0.1:0"] if role == "lab" else ["--connect", "http://127.0.0.1:9"]
    async with mock(f"openroberta/{role}", *where, "--upper-tester") as process:
        done = [(await ask(process, op, token=""))["ok"] for op in ("executed", "state")]
        assert await ended(process) == 0
    assert sorted(done) == [False, True]


KEEPS_ITS_BODY = """
import json, socket, sys
host, port = sys.argv[1:]
names = ["firmwarename", "robot", "macaddr", "firmwareversion", "brickname", "battery"]
data = dict.fromkeys([*names, "token", "menuversion"], "A1")
for cmd in ("register", "push"):
    body = json.dumps({**data, "cmd": cmd}).encode()
    with socket.create_connection((host, int(port))) as lab:
        lab.sendall(
            b"POST /rest/pushcmd HTTP/1.1\\r\\nHost: any\\r\\nExpect: 100-continue\\r\\n"
            b"Content-Type: application/json\\r\\nContent-Length: %d\\r\\n\\r\\n" % len(body)
        )
        while b" 100 " not in lab.recv(100):
            pass
        lab.sendall(body)
        lab.recv(1000)
"""


async def test_a_robot_that_keeps_its_body_back(tmp_path: Path) -> None:
    """The suite, as a lab, sends 100 Continue to such a robot."""
    place = Place(tmp_path)
    robot = [*place.program(KEEPS_ITS_BODY), "{host}", "{port}"]
    done = place.run("openroberta/robot", "-k", "test_then_push", iut=robot)
    assert done.verdict("register.then-push") == "pass"
