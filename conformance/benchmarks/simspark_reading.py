"""Measure how fast our reader and `sexpdata` read the full scene of a match.

Both turn the same text into nested lists. `sexpdata` also converts numbers, and turns other words
into symbols. Only this measurement needs `sexpdata`: `pip install sexpdata`.
"""

import sys
import time
from collections.abc import Callable
from typing import Any

from conformance.simspark.sexp import read
from mocks.simspark.server import Server
from mocks.simspark.settings import Settings
from mocks.streams import Stream

ROUNDS = 5  # of which the best counts
PLAYERS = 22
AIM = 10.0  # our reader must be this many times as fast as sexpdata


class Nowhere(Stream):
    """A stream that discards its bytes, and keeps their number."""

    def __init__(self) -> None:
        self.size = 0

    @property
    def congested(self) -> bool:
        return False

    def write(self, data: bytes) -> None:
        self.size = len(data)


def match(players: int = PLAYERS) -> Server:
    """Return a server with ``players`` robots, all of whose hinges turn."""
    server = Server(Settings())
    for number in range(players):
        agent = server.new_agent()
        agent.stream = Nowhere()
        agent.opened()
        server.effect(agent, ["scene", "nao.rsg"])
        team = ("Lefts", "Rights")[number % 2]
        server.effect(agent, ["init", ["unum", str(number // 2 + 1)], ["teamname", team]])
        if agent.robot is not None:
            agent.robot.speeds = [0.2 * (-1) ** hinge for hinge in range(len(agent.robot.speeds))]
    return server


def text() -> bytes:
    """Return the first message to a monitor of a match whose 22 robots have moved."""
    server = match()
    for _ in range(20):
        server.cycle()
    state = "".join([*server.environment(), *server.full_state()])
    return f"({state}){server.full()}".encode("ascii")


def seconds(run: Callable[[], Any]) -> float:
    """Return the duration of the fastest round."""
    times = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        run()
        times.append(time.perf_counter() - began)
    return min(times)


def main() -> int:
    data = text()
    ours = seconds(lambda: read(data))
    print(f"{len(data):,} bytes, a full scene graph of {PLAYERS} robots")
    print(f"ours      {ours * 1000:9.2f} ms  {len(data) / ours / 1e6:7.1f} MB/s")
    try:
        import sexpdata  # type: ignore[import-not-found,import-untyped,unused-ignore]
    except ImportError:
        print("sexpdata  is not installed: pip install sexpdata", file=sys.stderr)
        return 1
    whole = f"({data.decode('ascii')})"
    theirs = seconds(lambda: sexpdata.loads(whole))
    print(f"sexpdata  {theirs * 1000:9.2f} ms  {len(data) / theirs / 1e6:7.1f} MB/s")
    print(f"ours is {theirs / ours:.1f} times as fast (the aim is {AIM:g})")
    return 0 if theirs / ours >= AIM else 1


if __name__ == "__main__":
    sys.exit(main())
