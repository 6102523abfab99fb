"""Measure the cost of a judging proxy, against a bare relay of the same bytes.

Both relays are separate processes. There are three measurements:

- A golden session of each protocol is played through them, each write after the one before has
  arrived. The result is the ratio of the median latencies.
- The longest message of the session is sent many times. The result is the ratio of the
  throughputs.
- A server sends its full scene at 50 Hz to 22 agents and 2 monitors. The result is how late the
  scene arrives.
"""

import asyncio
import contextlib
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator, Sequence

from conformance.benchmarks.simspark_reading import text
from conformance.definitions import locations
from conformance.judging import captures
from conformance.simspark.codec import frame

SESSIONS = (  # protocol, pair, the name of its golden session
    ("deltarobot", "deltarobot", "session-exercise"),
    ("simspark", "simspark", "session-monitor"),
    ("vexide", "vexide", "session-many-events"),
    ("runtime", "runtime/rpc-server", "session-rpc"),
)
ROUNDS = 40  # times that a session is played through each relay, alternately
VOLUME = 2 * 1024 * 1024  # bytes of one message after another
CYCLE = 0.02  # seconds between two scenes, as in a match
CYCLES = 250  # scenes, 5 s of a match
AGENTS, MONITORS = 22, 2
_CHUNK = 256 * 1024
_WORDS = [sys.executable, "-m", "conformance"]
_BARE = [sys.executable, "-m", "conformance.benchmarks.live_relay"]

Written = tuple[bool, bytes]  # True if the client wrote the bytes, and the bytes


def main() -> None:
    for protocol, pair, name in SESSIONS:
        asyncio.run(compared(pair, session(protocol, name)))
    asyncio.run(match())


def session(protocol: str, name: str) -> list[Written]:
    """Return the writes of the peers of a golden session."""
    folder = locations.folder("captures", protocol)
    assert folder is not None, "it is one of ours"
    capture = captures.read(folder / f"{name}.jsonl")
    clients = ("client", "monitor", "frontend", "rpc-client")
    return [(event.sender in clients, event.data) for event in capture.events if event.data]


async def compared(pair: str, writes: Sequence[Written]) -> None:
    several = 2 if pair == "simspark" else 1
    async with serving() as (port, arrived):
        with relayed(pair, [port] * several) as ours, bare(port) as theirs:
            ways = {"judging": ours[-1], "bare": theirs}
            latencies: dict[str, list[float]] = {way: [] for way in ways}
            for _ in range(ROUNDS):
                for way, at in ways.items():
                    latencies[way] += await played(at, arrived, writes)
            medians = {way: statistics.median(found) for way, found in latencies.items()}
            by_client, data = max(writes, key=lambda write: len(write[1]))
            rates = {
                way: await rate(at, arrived, by_client, data, writes) for way, at in ways.items()
            }
    print(
        f"{pair}: latency {medians['judging'] * 1e6:.0f} us, bare {medians['bare'] * 1e6:.0f} us, "
        f"ratio {medians['judging'] / medians['bare']:.2f}; throughput "
        f"{rates['judging'] / 1e6:.1f} MB/s, bare {rates['bare'] / 1e6:.1f} MB/s, "
        f"ratio {rates['judging'] / rates['bare']:.2f}"
    )


Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@contextlib.asynccontextmanager
async def serving() -> AsyncIterator[tuple[int, "asyncio.Queue[Streams]"]]:
    """Start a server; yield its port, and a queue of its connections."""
    arrived: asyncio.Queue[Streams] = asyncio.Queue()

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        arrived.put_nowait((reader, writer))

    async with await asyncio.start_server(accept, "127.0.0.1", 0, limit=_CHUNK) as server:
        yield server.sockets[0].getsockname()[1], arrived


async def connected(port: int, arrived: "asyncio.Queue[Streams]") -> tuple[Streams, Streams]:
    """Return both ends of a connection through a relay: the client's, and the server's."""
    client = await asyncio.open_connection("127.0.0.1", port, limit=_CHUNK)
    server = await arrived.get()
    for _, writer in (client, server):
        writer.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return client, server


async def played(
    port: int, arrived: "asyncio.Queue[Streams]", writes: Sequence[Written]
) -> list[float]:
    """Return the seconds that each write of a session takes to arrive."""
    client, server = await connected(port, arrived)
    taken = []
    for by_client, data in writes:
        (_, source), (target, _) = (client, server) if by_client else (server, client)
        began = time.perf_counter()
        source.write(data)
        await target.readexactly(len(data))
        taken.append(time.perf_counter() - began)
    for _, writer in (client, server):
        writer.close()
    return taken


async def rate(
    port: int,
    arrived: "asyncio.Queue[Streams]",
    by_client: bool,
    data: bytes,
    before: Sequence[Written],
) -> float:
    """Return the bytes per second of a repeated message, after the beginning of its session."""
    client, server = await connected(port, arrived)
    for early, first in before:
        (_, source), (target, _) = (client, server) if early else (server, client)
        source.write(first)
        await target.readexactly(len(first))
    (_, source), (target, _) = (client, server) if by_client else (server, client)
    block = data * (_CHUNK // len(data) + 1)
    size = len(block) * (VOLUME // len(block) + 1)
    began = time.perf_counter()

    async def write() -> None:
        for _ in range(size // len(block)):
            source.write(block)
            await source.drain()

    writing = asyncio.create_task(write())
    left = size
    while left:
        left -= len(await target.read(_CHUNK))
    await writing
    seconds = time.perf_counter() - began
    for _, writer in (client, server):
        writer.close()
    return size / seconds


async def match() -> None:
    """Print how late the scenes of a match arrive through each relay."""
    scene = frame(text())
    async with serving() as (port, arrived):
        with relayed("simspark", [port, port]) as ours, bare(port) as theirs:
            for way, ports in {"judging": ours, "bare": [theirs, theirs]}.items():
                late = await lateness(scene, ports, arrived)
                median, most = (1e3 * late[len(late) * part // 100] for part in (50, 99))
                print(
                    f"match, {way}: {len(scene)} bytes at 50 Hz to {MONITORS} monitors, with "
                    f"{AGENTS} agents: median {median:.1f} ms, p99 {most:.1f} ms of "
                    f"{CYCLE * 1e3:.0f} ms"
                )


async def lateness(
    scene: bytes, ports: Sequence[int], arrived: "asyncio.Queue[Streams]"
) -> list[float]:
    """Return the seconds that each scene of a match takes to arrive, sorted."""
    agents, monitors = ports
    ends = [await connected(agents, arrived) for _ in range(AGENTS)]
    ends += [await connected(monitors, arrived) for _ in range(MONITORS)]
    late: list[float] = []
    sent: list[float] = []

    async def take(reader: asyncio.StreamReader) -> None:
        for number in range(CYCLES):
            await reader.readexactly(len(scene))
            late.append(time.perf_counter() - sent[number])

    taking = [asyncio.create_task(take(client[0])) for client, _ in ends[AGENTS:]]
    effector = frame(b"(he1 0.5)(syn)")
    scene = frame(b"(time (now 1.00))(GS (t 0.00) (pm BeforeKickOff))")
    began = time.perf_counter()
    for number in range(CYCLES):
        await asyncio.sleep(max(0.0, began + number * CYCLE - time.perf_counter()))
        sent.append(time.perf_counter())
        for client, server in ends[:AGENTS]:
            server[1].write(scene)
            client[1].write(effector)
        for _, server in ends[AGENTS:]:
            server[1].write(scene)
    await asyncio.gather(*taking)
    for client, server in ends:
        client[1].close()
        server[1].close()
    return sorted(late)


@contextlib.contextmanager
def relayed(pair: str, ports: Sequence[int]) -> Iterator[list[int]]:
    """Start our proxy in front of a server; yield the ports for clients."""
    with tempfile.TemporaryDirectory() as folder:
        words = [*_WORDS, "proxy", pair, "--report", folder]
        words += ["--listen", ",".join(["127.0.0.1:0"] * len(ports))]
        words += ["--connect", ",".join(f"127.0.0.1:{port}" for port in ports)]
        with listening(words) as found:
            yield found


@contextlib.contextmanager
def bare(port: int) -> Iterator[int]:
    with listening([*_BARE, str(port)]) as [found]:
        yield found


@contextlib.contextmanager
def listening(words: list[str]) -> Iterator[list[int]]:
    """Start a relay's process; yield the ports that it prints."""
    quiet = subprocess.DEVNULL
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=quiet, text=True) as process:
        assert process.stdout
        try:
            addresses = process.stdout.readline().split()[-1]
            yield [int(address.rpartition(":")[2]) for address in addresses.split(",")]
        finally:
            # The proxy is killed, because judging its backlog would take longer than everything
            # else.
            process.kill()


async def relay(target: int) -> None:
    """Pass bytes on unchanged."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        server = await asyncio.open_connection("127.0.0.1", target, limit=_CHUNK)
        for each in (writer, server[1]):
            each.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        await asyncio.gather(move(reader, server[1]), move(server[0], writer))

    async def move(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError):
            while data := await reader.read(_CHUNK):
                writer.write(data)
                await writer.drain()
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0, limit=_CHUNK) as server:
        print(f"listening at 127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(relay(int(sys.argv[1]))) if sys.argv[1:] else main()
