"""Soak test of proxies: compare memory, open files and threads over hours.

    python -m conformance.benchmarks.soak_proxy [--seconds S] [--pause S] [--out FILE]

A `conformance proxy` relays between the mock of each server and its clients. A client's mock
connects repeatedly, and so do visitors that replay captures, including violations (`soak_peers`).

At the end, the program prints a line for each proxy, and one for its judge. A line contains the
states after the first and last periods, and the CPU seconds.
"""

import argparse
import asyncio
import contextlib
import json
import os
import resource
import signal
import sys
import tempfile
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from conformance.benchmarks import soak_peers
from conformance.benchmarks.soak_cast import LISTEN
from conformance.benchmarks.soak_peers import Meter
from conformance.definitions import protocols
from conformance.live.sides import sides

CAST = {
    "deltarobot/server": (
        f"{LISTEN} --rate 5",
        "deltarobot/client --show none --again 2 --connect {}",
    ),
    "openroberta/lab": (
        f"{LISTEN} --unattended --register-hold 5 --push-hold 2",
        "openroberta/robot --sensors 5 --connect {}",
    ),
    "simspark/server": (f"{LISTEN} --pace 0.1", "simspark/agent --connect {}"),
    "runtime/rpc-server": (LISTEN, ""),
}
"""For each server, its options, and the mock of a client with its options."""
_TICK = os.sysconf("SC_CLK_TCK")


@dataclass
class Process:
    """A process under observation; `samples` has its state for each period."""

    name: str
    pid: int
    samples: list[dict[str, Any]] = field(default_factory=list)

    def sample(self) -> dict[str, Any]:
        of = Path("/proc") / str(self.pid)
        times = (of / "stat").read_text("ascii").rpartition(")")[2].split()
        found = {
            "name": self.name,
            "rss": int((of / "statm").read_text("ascii").split()[1]) * resource.getpagesize(),
            "files": len(os.listdir(of / "fd")),
            "threads": len(os.listdir(of / "task")),
            "computed": (int(times[11]) + int(times[12])) / _TICK,
        }
        self.samples.append(found)
        return found


def children(pid: int) -> list[int]:
    """Return the processes that a process has started."""
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


@contextlib.asynccontextmanager
async def started(*words: str) -> AsyncIterator[tuple[int, list[str]]]:
    """Start a process; yield its id, and the addresses that it prints."""
    quiet = asyncio.subprocess.DEVNULL
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", *words), stdin=quiet, stdout=asyncio.subprocess.PIPE, stderr=quiet
    )
    assert process.stdout
    draining = None
    try:
        line = (await process.stdout.readline()).decode() if LISTEN.split()[0] in words else ""
        draining = asyncio.create_task(process.stdout.read())
        yield process.pid, [word for word in line.replace(",", " ").split() if ":" in word]
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(signal.SIGTERM)
        await process.wait()
        if draining:
            draining.cancel()


async def soak(seconds: float, every: float, pause: float, out: Any) -> list[Process]:
    """Run the proxies together; print a line of JSON for each sample."""
    looked: list[Process] = []
    async with contextlib.AsyncExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="conformance-soak-"))
        group = await stack.enter_async_context(asyncio.TaskGroup())
        tasks = []
        for role, (options, client) in CAST.items():
            _, servers = await stack.enter_async_context(
                started("mocks", role, "--quiet", *options.split())
            )
            pid, addresses = await stack.enter_async_context(_proxy(role, servers, folder))
            looked.append(Process(role, pid))
            looked += [Process(f"{role}, its judge", child) for child in children(pid)]
            if client:
                playing = [word.format(addresses[0]) for word in client.split()]
                await stack.enter_async_context(started("mocks", *playing, "--quiet"))
            name, _, server = role.partition("/")
            for side, address in zip(sides(protocols.load(name), server), addresses, strict=True):
                visit = soak_peers.visit(role, side.channel, address, Meter(), pause)
                tasks.append(group.create_task(visit))
        loop = asyncio.get_running_loop()
        began = loop.time()
        while loop.time() < began + seconds:
            await asyncio.sleep(every)
            for process in looked:
                state = {"at": round(loop.time() - began), **process.sample()}
                print(json.dumps(state), file=out, flush=True)
        for task in tasks:
            task.cancel()
    return looked


def _proxy(
    role: str, servers: Sequence[str], folder: str
) -> contextlib.AbstractAsyncContextManager[tuple[int, list[str]]]:
    listen = ",".join(["127.0.0.1:0"] * len(servers))
    words = ["proxy", role, "--listen", listen, "--connect", ",".join(servers)]
    return started("conformance", *words, "--report", f"{folder}/{role.replace('/', '-')}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=3600.0)
    parser.add_argument("--every", type=float, default=60.0, help="seconds between two samples")
    parser.add_argument(
        "--pause", type=float, default=1.0, help="seconds between sessions of a peer"
    )
    parser.add_argument(
        "--out", type=Path, default=Path(os.devnull), help="write each sample as a line of JSON"
    )
    args = parser.parse_args()
    with args.out.open("w", encoding="utf-8") as out:
        looked = asyncio.run(soak(args.seconds, args.every, args.pause, out))
    print(f"{'':32}{'KiB':>15}{'files':>9}{'threads':>9}{'computed':>10}")
    for process in looked:
        first, last = process.samples[0], process.samples[-1]
        columns = f"{first['rss'] // 1024}→{last['rss'] // 1024}".rjust(15)
        columns += "".join(f"{first[n]}→{last[n]}".rjust(9) for n in ("files", "threads"))
        print(f"{process.name:32}{columns}{last['computed'] - first['computed']:10.1f}")


if __name__ == "__main__":
    main()
