"""The deltarobot mocks: as sound peers of each other, and as standalone programs."""

import asyncio
from typing import Any

import pytest

from conformance.codec import Frame
from conformance.definitions import protocols
from conformance.deltarobot.codec import Decoder, encode, message
from conformance.judging.judge import Judge
from conformance.selftest.standing import DEADLINE, ask, ended, mock, place
from mocks import deviations
from mocks.deltarobot.exercise import CURVES, Hand
from mocks.deltarobot.machine import vector
from mocks.deltarobot.picture import draw
from mocks.deltarobot.session import HANDSHAKE

pytestmark = pytest.mark.asyncio

HELLO = encode(message("ProtocolMagic", magic="DeltaRVr")) + encode(
    message("ProtocolVersion", version=1)
)


@pytest.mark.parametrize("role", ["deltarobot/server", "deltarobot/client"])
async def test_each_message_of_the_peer_is_handled(role: str) -> None:
    """Handlers of a mock name exactly the messages that its peer can send."""
    protocol, party = protocols.load("deltarobot"), protocols.role(role).peer
    names = {name for sender, name in protocol.messages if sender == party}
    assert {*HANDSHAKE, *deviations.role_module(role).PEER.HANDLERS} == names


async def test_an_exercise_between_both() -> None:
    """The client sees the server's exercise to its end, and the traffic has no violation."""
    protocol = protocols.load("deltarobot")
    judge = Judge(protocol, protocol.roles)
    options = ("--exercise", "line", "--duration", "0.5", "--ping", "0.05", "--rate", "50")
    async with mock("deltarobot/server", "--listen", "127.0.0.1:0", *options) as server:
        host, _, port = (await place(server)).partition(":")

        async def between(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            onward = await asyncio.open_connection(host, int(port))

            async def pump(
                source: asyncio.StreamReader, sink: asyncio.StreamWriter, sender: str
            ) -> None:
                while data := await source.read(65536):
                    for frame in judge.decode(sender, data):
                        judge.frame(None, sender, frame)
                    sink.write(data)
                judge.closed(None, sender)
                sink.close()

            await asyncio.gather(
                pump(reader, onward[1], "client"), pump(onward[0], writer, "server")
            )

        proxy = await asyncio.start_server(between, "127.0.0.1", 0)
        here = proxy.sockets[0].getsockname()[1]
        words = ("--connect", f"127.0.0.1:{here}", "--show", "lines", "--every", "0.1")
        async with mock("deltarobot/client", *words) as client:
            out, err = await asyncio.wait_for(client.communicate(), DEADLINE)
        proxy.close()
    assert client.returncode == 0
    assert b"curve of 64 points; at " in out
    assert b"the exercise is finished" in err
    assert judge.findings == []
    assert {"pong.each", "ping.random", "end.announced"} <= judge.exercised


async def test_operations_of_a_server() -> None:
    async with mock("deltarobot/server", "--listen", "127.0.0.1:0", "--upper-tester") as server:
        host, _, port = (await place(server, "stderr")).partition(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(HELLO)
        assert (await ask(server, "exercise", curve=[[0, 0, 0], [1, 2, -3]]))["ok"]
        state = {"position": [1, -2.5, 0.125], "current": [0, 0, -1], "desired": [0.5, -0.5, 0.25]}
        assert (await ask(server, "progress", **state))["ok"]
        assert not (await ask(server, "progress", position=[1]))["ok"]
        assert not (await ask(server, "dance"))["ok"]
        decoder = Decoder()
        seen: list[Frame] = []
        wanted = message("CurrentActuatorPosition", x=1.0, y=-2.5, z=0.125, u=0.0)
        while wanted not in [frame.value for frame in seen]:
            seen += decoder.feed(await asyncio.wait_for(reader.read(65536), DEADLINE))
        assert [f.name for f in seen[:2]] == ["ProtocolMagic", "ProtocolVersion"]
        assert (await ask(server, "stop"))["ok"]
        assert (await ask(server, "close"))["ok"]
        while data := await asyncio.wait_for(reader.read(65536), DEADLINE):
            seen += decoder.feed(data)
        assert seen[-1].value["reason"] == "the server shuts down"
        writer.close()
        assert await ended(server) == 0


async def test_operations_of_a_client() -> None:
    arrived: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

    async def accept(reader: Any, writer: Any) -> None:
        arrived.set_result((reader, writer))

    listener = await asyncio.start_server(accept, "127.0.0.1", 0)
    port = listener.sockets[0].getsockname()[1]
    words = ("deltarobot/client", "--connect", f"127.0.0.1:{port}", "--upper-tester")
    async with mock(*words) as client:
        reader, writer = await asyncio.wait_for(arrived, DEADLINE)
        messages = [
            message("Curve", points=[[1.0, 2.0, "NaN"]]),
            message("DesiredDirectionVector", x=0.0, y=-0.0, z="Infinity", u="NaN"),
            message("Ping", number=2**64 - 1),
        ]
        writer.write(HELLO + b"".join(map(encode, messages)))
        assert await asyncio.wait_for(reader.readexactly(26), DEADLINE) == HELLO + encode(
            message("Pong", number=2**64 - 1)
        )
        state = (await ask(client, "state"))["result"]
        assert state["curve"] == [[1.0, 2.0, "NaN"]]
        assert str(state["desired"]) == "[0.0, -0.0, 'Infinity']"
        assert state["position"] is None
        assert (await ask(client, "close"))["ok"]
        end = await asyncio.wait_for(reader.read(), DEADLINE)
        assert end == encode(message("EndOfTransmission", reason="the user has left"))
        writer.close()
        assert await ended(client) == 0
    listener.close()


@pytest.mark.parametrize("words", [("deltarobot/server",), ("deltarobot/client",)])
async def test_an_address_is_needed(words: tuple[str, ...]) -> None:
    async with mock(*words) as process:
        _, err = await asyncio.wait_for(process.communicate(), DEADLINE)
        assert process.returncode == 2
        assert b"needs --" in err


@pytest.mark.parametrize("name", CURVES)
async def test_the_hand_follows_the_curve(name: str) -> None:
    hand = Hand(CURVES[name]())
    seen = []
    for _ in range(2000):
        hand.step(0.01)
        seen.append(hand.state)
    assert all(abs(sum(c * c for c in state.current) - 1) < 1e-9 for state in seen)
    spread = max(state.position[0] for state in seen) - min(state.position[0] for state in seen)
    assert spread > 0.1


async def test_a_hand_without_a_curve() -> None:
    for curve in ([], [["NaN", 0.0, 0.0]], [[1.0, 1.0, 1.0]]):
        hand = Hand(curve)
        hand.step(0.1)
        assert len(hand.state.position) == 3


async def test_pictures() -> None:
    picture = draw([[0, 0, 0], [1, 1, 0], ["NaN", 0, 0], [1e30, 0, 0]], [0.5, 0.5, 0])
    assert picture.count(".") == 2
    assert picture.count("O") == 1
    assert draw([], None) == ""


async def test_vectors_of_the_upper_tester() -> None:
    assert vector([1, 2.5, "NaN"]) == [1.0, 2.5, "NaN"]
    for wrong in ([1, 2], "abc", None):
        with pytest.raises(ValueError, match="not an array of X, Y and Z"):
            vector(wrong)
