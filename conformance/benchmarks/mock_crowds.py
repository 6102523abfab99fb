"""Measure a mock's CPU time per message with many peers, in two source trees.

    python -m conformance.benchmarks.mock_crowds TREE

The peers run in this process. They are 500 robots that push at one lab, 22 agents and a monitor of
a simulation at 50 Hz, or 200 clients of an RPC server. The mocks of both trees run alternately. The
mock of this tree also runs with its judge, as in `conformance mock`. A ratio below 1 means that
this tree is faster.
"""

import asyncio
import contextlib
import os
import statistics
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import msgpack

from conformance.benchmarks.openroberta_polling import Peer, data, linked
from conformance.harness.links import free_port
from conformance.openroberta import message_names
from conformance.simspark.codec import encode

HERE = Path(__file__).resolve().parents[2]
SECONDS = 4.0  # seconds of each measurement
ROUNDS = 3  # of which the median counts
ROBOTS, AGENTS, CLIENTS = 500, 22, 200
CALL_INTERVAL = 0.2  # seconds from the answer to one call to the client's next call
TICKS = os.sysconf("SC_CLK_TCK")

Crowd = Callable[[list[int], "Counter"], Awaitable[list[asyncio.Task[None]]]]


class Counter:
    """Counts the messages that the mock has sent."""

    def __init__(self) -> None:
        self.count = 0


async def robots(ports: list[int], counter: Counter) -> list[asyncio.Task[None]]:
    """Link robots that push again after each answer, which comes after a second."""
    user = await Peer.connect(ports[0])
    there = [await linked(ports[0], user, number) for number in range(ROBOTS)]

    async def push(robot: Peer, number: int) -> None:
        while True:
            robot.send(message_names.PUSHCMD, data(number, "push"))
            await robot.answer()
            counter.count += 1

    return [asyncio.create_task(push(robot, number)) for number, robot in enumerate(there)]


async def agents(ports: list[int], counter: Counter) -> list[asyncio.Task[None]]:
    """Start agents that turn a hinge after each perception, and one monitor."""

    async def play(number: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", ports[0])
        writer.write(encode([["scene", "rsg/agent/nao/nao.rsg"]]))
        team = ("Lefts", "Rights")[number % 2]
        writer.write(encode([["init", ["unum", str(number // 2 + 1)], ["teamname", team]]]))
        act = encode([["he1", "0.5"]])
        while await reader.read(1 << 16):
            counter.count += 1
            writer.write(act)

    async def look() -> None:
        reader, _ = await asyncio.open_connection("127.0.0.1", ports[1])
        while await reader.read(1 << 20):
            pass

    return [asyncio.create_task(look()), *(asyncio.create_task(play(n)) for n in range(AGENTS))]


async def clients(ports: list[int], counter: Counter) -> list[asyncio.Task[None]]:
    """Start clients that call, wait for the result, pause, and call again."""

    async def call() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", ports[0])
        for number in range(1 << 31):
            writer.write(msgpack.packb([0, number, "echo", ["text", number]]))
            await reader.read(1 << 16)
            counter.count += 1
            await asyncio.sleep(CALL_INTERVAL)

    return [asyncio.create_task(call()) for _ in range(CLIENTS)]


LISTEN = ["--listen", "{address}"]
CROWDS: dict[str, tuple[Crowd, list[str]]] = {
    f"{ROBOTS} robots": (robots, ["openroberta/lab", *LISTEN, "--push-hold", "1"]),
    f"{AGENTS} agents": (
        agents,
        ["simspark/server", "--agent-port", "{0}", "--monitor-port", "{1}"],
    ),
    f"{CLIENTS} clients": (clients, ["runtime/rpc-server", *LISTEN]),
}


async def cost(tree: Path, words: list[str], crowd: Crowd) -> float:
    """Return a mock's CPU time, in microseconds, for each message to its peers."""
    ports = [free_port(), free_port()]
    places = {"{address}": f"127.0.0.1:{ports[0]}", "{0}": str(ports[0]), "{1}": str(ports[1])}
    mock = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "mocks", *(places.get(word, word) for word in words)),
        cwd=tree,
        env={**os.environ, "PYTHONPATH": str(tree)},
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )
    counter, tasks = Counter(), []
    try:
        for port in ports[: 2 if "{1}" in words else 1]:
            await _accepts(mock, port)
        tasks = await crowd(ports, counter)
        await asyncio.sleep(1.5)
        began, before = cpu(mock.pid), counter.count
        await asyncio.sleep(SECONDS)
        assert counter.count > before, f"{words[0]} of {tree} does not answer"
        return 1e6 * (cpu(mock.pid) - began) / (counter.count - before)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        mock.terminate()
        await mock.wait()


async def _accepts(mock: asyncio.subprocess.Process, port: int) -> None:
    while mock.returncode is None:
        with contextlib.suppress(OSError):
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.close()
            return
        await asyncio.sleep(0.1)
    raise RuntimeError(f"a mock exited with status {mock.returncode}")


def cpu(pid: int) -> float:
    """Return the CPU seconds that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def main() -> None:
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    before = Path(sys.argv[1]).resolve()
    for name, (crowd, words) in CROWDS.items():
        ratios: dict[str, list[float]] = {"": [], "judging": []}
        for _ in range(ROUNDS):
            earlier = asyncio.run(cost(before, words, crowd))
            for kind, found in ratios.items():
                now = asyncio.run(cost(HERE, [*words, *(["--judge"] if kind else [])], crowd))
                found.append(now / earlier)
                print(
                    f"{name}: other tree {earlier:.0f} µs each, this {kind} {now:.0f}",
                    flush=True,
                )
        for kind, found in ratios.items():
            print(f"ratio {statistics.median(found):.2f}  {name} {kind} (median of {ROUNDS})")


if __name__ == "__main__":
    main()
