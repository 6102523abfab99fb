"""Measure one lab with many robots: held requests, memory, times from run to download.

    python -m conformance.benchmarks.openroberta_polling [ROBOTS]

The lab is a separate process. Each robot keeps one connection; the user acts through the lab's
page. First the lab holds the requests of all robots, then programs are run one by one. At the end,
all robots poll as fast as a period of one second allows.
"""

import asyncio
import random
import statistics
import sys
from pathlib import Path
from typing import Any

from conformance.openroberta import message_names
from conformance.openroberta.codec import Decoder, encode, request
from conformance.openroberta.message_names import MANDATORY

ROBOTS = 500
RUNS = 1000
PERIOD = 1.0  # seconds that the lab holds a push
POLLING = 10.0  # seconds of polling that are measured


class Peer:
    """A persistent connection to the lab, with its answers."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._decoder = Decoder()

    @classmethod
    async def connect(cls, port: int) -> "Peer":
        return cls(*await asyncio.open_connection("127.0.0.1", port))

    def send(self, path: str, body: Any) -> None:
        self._writer.write(encode(request("POST", path, {}, body)))

    async def answer(self) -> Any:
        while True:
            frames = self._decoder.feed(await self._reader.read(65536))
            if frames:
                return frames[0].value

    async def ask(self, path: str, body: Any) -> Any:
        self.send(path, body)
        return await self.answer()


def data(number: int, cmd: str) -> dict[str, Any]:
    return {**dict.fromkeys(MANDATORY, "x"), "token": f"R{number}", "cmd": cmd}


async def linked(port: int, user: Peer, number: int) -> Peer:
    """Connect a robot, register it, and enter its token as the user."""
    robot = await Peer.connect(port)
    robot.send(message_names.PUSHCMD, data(number, "register"))
    refused = True
    while refused:
        entered = await user.ask("/user/pair", {"token": f"R{number}"})
        refused = entered["status"] != 200
    await robot.answer()
    return robot


def memory(pid: int) -> int:
    """Return the resident memory of a process in bytes."""
    lines = Path(f"/proc/{pid}/status").read_text("ascii").splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("VmRSS"))


async def runs(robots: list[Peer], user: Peer) -> list[float]:
    """Return the seconds from each click on run to the command at its robot.

    The robot then fetches the program and pushes again.
    """
    loop, chosen = asyncio.get_running_loop(), random.Random(1)
    took = []
    for _ in range(RUNS):
        number = chosen.randrange(len(robots))
        began = loop.time()
        clicked = asyncio.create_task(user.ask("/user/run", {"token": f"R{number}"}))
        while (await robots[number].answer())["json"]["cmd"] != "download":
            robots[number].send(message_names.PUSHCMD, data(number, "push"))
        took.append(loop.time() - began)
        await clicked
        await robots[number].ask(message_names.DOWNLOAD, data(number, "push"))
        robots[number].send(message_names.PUSHCMD, data(number, "push"))
    return took


async def polls(robots: list[Peer], number: int, until: float) -> int:
    """Count the pushes of a robot that are answered before ``until``."""
    loop, count = asyncio.get_running_loop(), 0
    while loop.time() < until:
        await robots[number].answer()
        robots[number].send(message_names.PUSHCMD, data(number, "push"))
        count += 1
    return count


async def started(hold: float) -> tuple[asyncio.subprocess.Process, int]:
    words = ["-m", "mocks", "openroberta/lab", "--listen", "127.0.0.1:0", "--push-hold", str(hold)]
    lab = await asyncio.create_subprocess_exec(
        sys.executable, *words, stderr=asyncio.subprocess.PIPE
    )
    assert lab.stderr
    line = await lab.stderr.readline()
    lab_says = asyncio.create_task(lab.stderr.read())
    lab_says.add_done_callback(lambda _: None)
    return lab, int(line.rpartition(b":")[2])


async def measure(count: int, hold: float) -> None:
    lab, port = await started(hold)
    try:
        before = memory(lab.pid)
        user = await Peer.connect(port)
        robots = [await linked(port, user, number) for number in range(count)]
        for number, robot in enumerate(robots):
            robot.send(message_names.PUSHCMD, data(number, "push"))
        if hold > PERIOD:
            tokens = [f"R{number}" for number in range(count)]
            seen = (await user.ask("/user/robots", {"tokens": tokens}))["json"]["result"]["robots"]
            held = sum(entry["state"] == "waiting" for entry in seen.values())
            taken = memory(lab.pid) - before
            print(f"held: {held} of {count} pushes")
            print(f"memory: {before >> 10} KiB before, {taken / count / 1024:.1f} KiB a robot")
            took = sorted(await runs(robots, user))
            for name, value in (
                ("median", statistics.median(took)),
                ("p99", took[int(len(took) * 0.99)]),
                ("longest", took[-1]),
            ):
                print(f"run to download, {name} of {RUNS}: {value * 1000:.2f} ms")
            return
        until = asyncio.get_running_loop().time() + POLLING
        done = sum(await asyncio.gather(*(polls(robots, n, until) for n in range(count))))
        print(f"polling, each push held {hold:g} s: {done / POLLING:.0f} pushes a second answered")
    finally:
        lab.terminate()
        await lab.wait()


async def main(count: int) -> None:
    await measure(count, 600.0)
    await measure(count, PERIOD)


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else ROBOTS))
