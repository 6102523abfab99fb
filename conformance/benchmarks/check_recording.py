"""Measure how fast `check` judges the traffic of a monitor, against the codec alone.

Both read the same capture of a match: a full scene of 22 robots, and the updates of many cycles.
"""

import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from conformance.benchmarks.simspark_reading import Nowhere, match
from conformance.definitions import protocols
from conformance.judging import captures, recordings
from conformance.judging.captures import Capture, Event

CYCLES = 60  # of the match, which give a capture of some megabytes
ROUNDS = 3  # of which the median counts
PROTOCOL = "simspark"


class Kept(Nowhere):
    """A stream that keeps the written bytes."""

    def __init__(self) -> None:
        super().__init__()
        self.written: list[bytes] = []

    def write(self, data: bytes) -> None:
        self.written.append(data)


def session() -> Capture:
    """Return a capture of the bytes that a server sends to a monitor."""
    server = match()
    stream = Kept()
    monitor = server.new_monitor()
    monitor.stream = stream
    monitor.opened()
    for _ in range(CYCLES):
        server.cycle()
    events = [Event(0.0, None, event="connected", details={"transport": "tcp"})]
    events += [Event(n * 0.02, "server", data) for n, data in enumerate(stream.written)]
    return Capture(PROTOCOL, "a match", "recorded", (), tuple(events), {"running": True})


def decoded(capture: Capture) -> None:
    """Read the capture with the codec alone."""
    decoder = protocols.load(PROTOCOL).decoder("server")
    for event in capture.events:
        decoder.feed(event.data or b"")


def seconds(run: Callable[[], object]) -> float:
    began = time.process_time()
    run()
    return time.process_time() - began


def main() -> None:
    capture = session()
    size = sum(len(event.data or b"") for event in capture.events)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "match.jsonl"
        captures.write(path, capture)
        found: Sequence[object] = recordings.read(path).findings
        rounds = [
            (seconds(lambda: recordings.read(path)), seconds(lambda: decoded(capture)))
            for _ in range(ROUNDS)
        ]
    checked, alone = (statistics.median(column) for column in zip(*rounds, strict=True))
    print(f"{size / 1e6:.1f} MB in {len(capture.events)} events, {len(found)} findings")
    print(
        f"check {size / 1e6 / checked:.1f} MB/s, codec alone {size / 1e6 / alone:.1f} MB/s, "
        f"ratio {alone / checked:.2f}"
    )


if __name__ == "__main__":
    main()
