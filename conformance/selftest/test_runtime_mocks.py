"""The runtime's socket mocks: as peers of each other, and as standalone programs."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from conformance.codec import Frame
from conformance.definitions import protocols
from conformance.judging.judge import Judge
from conformance.runtime.codec import Decoder, encode
from conformance.selftest.standing import DEADLINE, ended, mock, place
from mocks.runtime.gamepad_sender import Sender
from mocks.runtime.log_publisher import Publisher as LogPublisher
from mocks.runtime.rpc_client import CallFailed, Client
from mocks.runtime.rpc_server import Server
from mocks.runtime.update_publisher import Publisher as UpdatePublisher

pytestmark = pytest.mark.asyncio

ROLES = ("rpc-server", "rpc-client", "log-publisher", "gamepad-sender", "update-publisher")


class Pipe:
    """An end of a stream in memory; a judge sees the bytes of both ends."""

    def __init__(self, judge: Judge, sender: str) -> None:
        self.judge, self.sender = judge, sender
        self.other: Pipe
        self._coming: asyncio.Queue[bytes] = asyncio.Queue()

    async def read(self) -> bytes:
        return await self._coming.get()

    def write(self, data: bytes) -> None:
        for frame in self.judge.decode(self.sender, data):
            self.judge.frame(None, self.sender, frame)
        self.other._coming.put_nowait(data)

    async def drain(self) -> None:
        await asyncio.sleep(0)

    def tell(self, event: str, text: str, **facts: object) -> None:
        """Ignore log entries."""

    def close(self, why: str = "") -> None:
        self.other._coming.put_nowait(b"")
        self._coming.put_nowait(b"")

    async def closed(self) -> None:
        self.close()


@asynccontextmanager
async def calling() -> AsyncIterator[tuple[Client, Judge]]:
    """Connect a client to a server; yield the client and the judge of the traffic."""
    protocol = protocols.load("runtime")
    judge = Judge(protocol, protocol.roles)
    here, there = Pipe(judge, "rpc-client"), Pipe(judge, "rpc-server")
    here.other, there.other = there, here
    client = Client(DEADLINE)
    serving = asyncio.ensure_future(Server().run(there))  # type: ignore[arg-type]
    running = asyncio.ensure_future(client.run(here))  # type: ignore[arg-type]
    try:
        yield client, judge
    finally:
        here.close()
        await asyncio.gather(serving, running)


async def test_calls_between_both() -> None:
    async with calling() as (client, judge):
        given = [1, "two", {"three": [None]}]
        assert await client.call("echo", given) == given
        assert await client.call("subtract", [3, 10]) == -7
        assert await client.call("nothing", []) is None
        for method, params in (("fail", []), ("absent", []), ("subtract", [1])):
            with pytest.raises(CallFailed) as failed:
                await client.call(method, params)
            assert failed.value.error["message"]
        with pytest.raises(CallFailed, match="no MessagePack has this"):
            await client.call("subtract", [2**64 - 1, -1])
        await client.notify("echo", [1])
        slow = asyncio.ensure_future(client.call("sleep", [0.05]))
        assert await client.call("echo", ["fast"]) == ["fast"]
        assert not slow.done()
        assert await slow is None
        with pytest.raises(CallFailed, match="no response in time"):
            await client.call("sleep", [5], 0.01)
    assert judge.findings == []


async def test_calls_fail_when_the_server_goes() -> None:
    async with calling() as (client, _):
        waiting = asyncio.ensure_future(client.call("sleep", [5]))
        await asyncio.sleep(0)
    with pytest.raises(CallFailed, match="has gone"):
        await waiting


async def test_ids_of_a_client_go_round() -> None:
    async with calling() as (client, judge):
        client.latest = 2**32 - 2
        assert [await client.call("echo", [number]) for number in range(3)] == [[0], [1], [2]]
        assert client.latest == 1
    assert judge.findings == []


class Kept:
    """A stream that keeps a mock's messages."""

    def __init__(self) -> None:
        self.frames: list[Frame] = []

    def write(self, data: bytes) -> None:
        self.frames += Decoder().feed(data)


def sound(sender: str, frames: list[Frame]) -> None:
    protocol = protocols.load("runtime")
    judge = Judge(protocol, protocol.roles)
    for frame in frames:
        judge.frame(None, sender, frame)
    assert frames
    assert judge.findings == []


async def test_log_messages() -> None:
    publisher, kept = LogPublisher(), Kept()
    publisher.stream = kept  # type: ignore[assignment]
    for level in ("debug", "info", "warning", "error", "critical"):
        publisher.log(level, "ä\n", "runtime.a.b", {"n": 1} if level == "info" else {})
    sound("log-publisher", kept.frames)
    assert [frame.value["extra"] for frame in kept.frames] == [{}, {"n": 1}, {}, {}, {}]


async def test_gamepads() -> None:
    kept = Kept()
    sender = Sender(kept)  # type: ignore[arg-type]
    pressed = [number in (0, 16) for number in range(17)]
    sender.gamepads({"0": {"axes": [1, 1, 0, 0], "buttons": pressed}, "3": REST})
    sender.gamepads({})
    sound("gamepad-sender", kept.frames)
    pads = kept.frames[0].value["gamepads"]
    assert pads["0"]["btn"] == 0x10001
    assert pads["0"]["lx"] == pytest.approx(0.5**0.5)
    assert pads["3"] == {"lx": 0.0, "ly": 0.0, "rx": 0.0, "ry": 0.0, "btn": 0}


REST = {"axes": [0, 0, 0, 0], "buttons": [False] * 17}


async def test_updates() -> None:
    kept = Kept()
    publisher = UpdatePublisher(kept, 1.0)  # type: ignore[arg-type]
    publisher.update()
    publisher.connect("42", {"a": 1, "b": 2}, "arm")
    publisher.update()
    publisher.change("42", {"a": 3})
    publisher.update()
    publisher.disconnect("42")
    publisher.update()
    sound("update-publisher", kept.frames)
    updates = [frame.value for frame in kept.frames]
    assert [update["sd"] for update in updates] == [
        {},
        {"42": {"a": 1, "b": 2}},
        {"42": {"a": 3}},
        {},
    ]
    assert [update["aliases"] for update in updates] == [{}, {"42": "arm"}, {"42": "arm"}, {}]
    with pytest.raises(ValueError, match="no device"):
        publisher.change("42", {"a": 1})


# As processes


async def test_at_the_keyboard() -> None:
    """A server and a client, started as commands."""
    async with mock("runtime/rpc-server", "--listen", "127.0.0.1:0") as server:
        words = ("--connect", await place(server), "--call", "subtract", "7", "3", "--call", "fail")
        async with mock("runtime/rpc-client", *words) as client:
            out, _ = await asyncio.wait_for(client.communicate(), DEADLINE)
    assert out.splitlines() == [b"4", b'failed: {"message": "failed as it was asked to"}']
    assert client.returncode == 1


async def test_operations() -> None:
    """The upper tester drives a publisher of updates, and its end ends the publisher."""
    with socket.socket(type=socket.SOCK_DGRAM) as receiver:
        receiver.bind(("127.0.0.1", 0))
        receiver.setblocking(False)
        address = f"127.0.0.1:{receiver.getsockname()[1]}"
        words = ("--connect", address, "--upper-tester", "--period", "0.01")
        async with mock("runtime/update-publisher", *words) as publisher:
            for number, (op, args) in enumerate(
                [("connect", {"uid": "7", "params": {"a": 1}}), ("change", {"uid": "8"}), ("x", {})]
            ):
                request = {"id": number, "op": op, "args": args}
                publisher.stdin.write(json.dumps(request).encode() + b"\n")
            answers = [
                json.loads(await asyncio.wait_for(publisher.stdout.readline(), DEADLINE))
                for _ in range(3)
            ]
            assert {answer["id"]: answer["ok"] for answer in answers} == {
                0: True,
                1: False,
                2: False,
            }
            wanted = encode({"sd": {"7": {"a": 1}}, "aliases": {}})
            loop = asyncio.get_running_loop()
            while await asyncio.wait_for(loop.sock_recv(receiver, 65536), DEADLINE) != wanted:
                pass
            assert await ended(publisher) == 0
