"""Soak test of mocks: compare memory, tasks, open files, threads and latency over hours.

    python -m conformance.benchmarks.soak [--seconds S] [--pause S] [--out FILE] [ROLE…]

Each mock is a separate process (`soak_mock`), with a user if it takes operations (`soak_cast`).
Peers connect to the servers, and replay the captures of their protocol, including violations
(`soak_peers`). A mock whose session has ended is started again.

At the end, the program prints a line for each mock. The line contains the states after the first
and last periods, and the ratio of the latencies. A latency is that of the fastest tenth of answers,
because slower answers depend on the load of the machine.
"""

import argparse
import asyncio
import contextlib
import itertools
import json
import os
import signal
import sys
from collections import deque
from pathlib import Path
from typing import Any

from conformance.benchmarks import soak_peers
from conformance.benchmarks.soak_cast import CAST, Part
from conformance.benchmarks.soak_peers import Meter, Sink
from conformance.definitions import protocols

ANSWER = 30.0  # seconds for a mock to start, to answer, or to report its state
RESTART_PAUSE = 1.0  # seconds until a mock whose session has ended is started again
PRINTED = 20  # other lines printed by a mock, of which the last are kept
LINE = 1 << 26  # bytes of a line in a mock's log, at most


class Soaked:
    """A mock of a soak test; `samples` are its reported states, with counts of answers."""

    def __init__(self, role: str, part: Part, places: dict[str, str]) -> None:
        self.role = role
        self.samples: list[dict[str, Any]] = []
        self.starts = 0
        self.part = part
        self._places = places
        """The values of placeholders in the options of all mocks."""
        self._meter = Meter()
        self._numbers = itertools.count()
        self._answers: dict[int, asyncio.Future[Any]] = {}
        self._printed: deque[str] = deque(maxlen=PRINTED)
        self._sample: asyncio.Future[dict[str, Any]] | None = None
        self.there = asyncio.Event()
        """The mock has started, and listens if its role does."""

    async def run(self, pause: float) -> None:
        """Play until cancelled; start the mock again after each session."""
        while True:
            options = self.part.options
            async with contextlib.AsyncExitStack() as stack:
                if self.part.sink:
                    address = await stack.enter_async_context(_sink(self.part.sink, self._meter))
                    options = options.replace("{sink}", address)
                await self._life(options, pause)
            await asyncio.sleep(RESTART_PAUSE)

    async def _life(self, options: str, pause: float) -> None:
        """Run one process of the mock until it exits."""
        words = _filled(options, self._places).split()
        pipe = asyncio.subprocess.PIPE
        self._process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "conformance.benchmarks.soak_mock", self.role, *words),
            stdin=pipe if self.part.user else asyncio.subprocess.DEVNULL,
            stdout=pipe,
            stderr=pipe,
            limit=LINE,
        )
        self.starts += 1
        self._places[f"{self.role} pid"] = str(self._process.pid)
        try:
            async with asyncio.TaskGroup() as group:
                hearing = [
                    group.create_task(self._hear(stream))
                    for stream in (self._process.stdout, self._process.stderr)
                    if stream
                ]
                either = [*hearing, asyncio.ensure_future(self.there.wait())]
                await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
                tasks = [group.create_task(task) for task in self._company(pause)]
                await asyncio.wait(hearing)
                for task in tasks:
                    task.cancel()
        finally:
            self._signal(signal.SIGTERM)
            status = await self._process.wait()
            self.there.clear()
            for future in [*self._answers.values(), *filter(None, [self._sample])]:
                future.cancel()
        if status > 1:
            output = "".join(self._printed)
            raise RuntimeError(f"{self.role} exited with status {status}: {output}")

    def _signal(self, number: int) -> None:
        # Signals go to the process id directly. With asyncio's method, the waiting task would miss
        # the exit.
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._process.pid, number)

    def _company(self, pause: float) -> list[Any]:
        """Return the coroutines of the mock's peers: its visitors and its user."""
        known, found = protocols.role(self.role), []
        if known.transports == ("udp",) and known.serves:
            found.append(soak_peers.throw(self.role, self._places[self.role], pause))
        elif known.serves and known.transports != ("none",):
            for channel in known.channels or ("",):
                address = self._places[f"{self.role} {channel}".strip()]
                visit = soak_peers.visit(self.role, channel, address, self._meter, pause)
                found.append(visit)
        if self.part.user:
            found.append(soak_peers.use(self.part.user, self._ask, self._meter, pause))
        return found

    async def _hear(self, stream: asyncio.StreamReader) -> None:
        async for line in stream:
            try:
                self._handle(json.loads(line))
            except ValueError:
                self._printed.append(line.decode(errors="replace"))

    def _handle(self, report: Any) -> None:
        match report:
            case {"event": "listening", "address": address}:
                self._places[self.role] = address
                for channel, place in report.get("addresses", {}).items():
                    self._places[f"{self.role} {channel}"] = place
                self.there.set()
            case {"event": "soaked"} if "--listen" not in self.part.options:
                self.there.set()
            case {"event": "sample"} if self._sample and not self._sample.done():
                self._sample.set_result(report)
            case {"id": int() as number} if number in self._answers:
                answer = self._answers.pop(number)
                if not answer.done():
                    answer.set_result(report)

    async def _ask(self, operation: str, args: Any) -> Any:
        number = next(self._numbers)
        answer = self._answers[number] = asyncio.get_running_loop().create_future()
        asked = {"id": number, "op": operation, "args": args}
        assert self._process.stdin
        self._process.stdin.write(_filled(json.dumps(asked), self._places).encode() + b"\n")
        async with asyncio.timeout(ANSWER):
            return await answer

    async def sample(self) -> dict[str, Any] | None:
        """Ask the mock for its state; None if its session has just ended."""
        if not self.there.is_set():
            return None
        self._sample = asyncio.get_running_loop().create_future()
        try:
            self._signal(signal.SIGUSR2)
            async with asyncio.timeout(ANSWER):
                report = await self._sample
        except asyncio.CancelledError:
            return None
        answered, latency = self._meter.read()
        found = {"role": self.role, "starts": self.starts, "answered": answered, "latency": latency}
        found |= {name: report[name] for name in report if name not in ("event", "text")}
        self.samples.append(found)
        return found


def _filled(text: str, places: dict[str, str]) -> str:
    for name, place in places.items():
        text = text.replace(f"{{{name}}}", place)
    return text


@contextlib.asynccontextmanager
async def _sink(kind: str, meter: Meter) -> Any:
    """Listen as the receiver of a publisher; yield the address."""
    loop = asyncio.get_running_loop()
    if kind == "udp":
        place = ("127.0.0.1", 0)
        transport, _ = await loop.create_datagram_endpoint(lambda: Sink(meter), local_addr=place)
        host, port = transport.get_extra_info("sockname")
        yield f"{host}:{port}"
        transport.close()
    else:
        server = await loop.create_server(lambda: Sink(meter), "127.0.0.1", 0)
        host, port = server.sockets[0].getsockname()
        yield f"{host}:{port}"
        server.close()


async def soak(
    roles: list[str], seconds: float, every: float, pause: float, out: Any
) -> list[Soaked]:
    """Run mocks and the mocks that they need; print each sample as JSON."""
    loop = asyncio.get_running_loop()
    places: dict[str, str] = {}
    mocks = {role: Soaked(role, CAST[role], places) for role in _with_company(roles)}
    playing: list[asyncio.Task[None]] = []
    if this := asyncio.current_task():
        # The mocks must exit before this program.
        loop.add_signal_handler(signal.SIGTERM, this.cancel)
    try:
        for mock in mocks.values():
            playing.append(asyncio.create_task(mock.run(pause)))
            waiting = asyncio.ensure_future(mock.there.wait())
            await asyncio.wait([waiting, playing[-1]], return_when=asyncio.FIRST_COMPLETED)
        began = loop.time()
        for period in itertools.count(1):
            await asyncio.sleep(began + period * every - loop.time())
            for mock in mocks.values():
                if found := await mock.sample():
                    print(
                        json.dumps({"at": round(loop.time() - began), **found}),
                        file=out,
                        flush=True,
                    )
            for task in playing:
                if task.done():
                    task.result()
            if loop.time() - began >= seconds:
                return list(mocks.values())
        raise AssertionError
    finally:
        for task in playing:
            task.cancel()
        await asyncio.gather(*playing, return_exceptions=True)


def _with_company(roles: list[str]) -> list[str]:
    """Return the roles, and the roles that their options refer to, in the order of the cast."""
    wanted = set(roles)
    for role in roles:
        part = CAST[role]
        text = part.options + json.dumps(part.user)
        wanted |= {other for other in CAST if f"{{{other}" in text}
    return [role for role in CAST if role in wanted]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("roles", nargs="*", metavar="ROLE", default=list(CAST))
    parser.add_argument("--seconds", type=float, default=3600.0)
    parser.add_argument("--every", type=float, default=60.0, help="seconds between two samples")
    parser.add_argument("--trace", action="store_true", help="write to FILE where memory grows")
    parser.add_argument(
        "--pause", type=float, default=1.0, help="seconds between sessions of a peer"
    )
    parser.add_argument(
        "--out", type=Path, default=Path(os.devnull), help="write each sample as a line of JSON"
    )
    args = parser.parse_args()
    if args.trace:
        os.environ["SOAK_TRACED"] = "1"
    with args.out.open("w", encoding="utf-8") as out:
        mocks = asyncio.run(soak(args.roles, args.seconds, args.every, args.pause, out))
    print(f"{'':26}{'KiB':>15}{'blocks':>15}{'tasks':>9}{'files':>9}{'latency':>9}  starts")
    for mock in mocks:
        if mock.samples:
            print(_line(mock))


def _line(mock: Soaked) -> str:
    first, last = mock.samples[0], mock.samples[-1]

    def both(name: str, unit: int = 1) -> str:
        return f"{first[name] // unit}→{last[name] // unit}"

    early, late = first["latency"], last["latency"]
    ratio = late / early if early else float("nan")
    columns = f"{both('rss', 1024):>15}{both('blocks'):>15}{both('tasks'):>9}"
    return f"{mock.role:26}{columns}{both('files'):>9}{ratio:9.2f}  {mock.starts}"


if __name__ == "__main__":
    main()
