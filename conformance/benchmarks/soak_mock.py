"""A mock that tells of itself: `python -m conformance.benchmarks.soak_mock PROTOCOL/ROLE …`.

On SIGUSR2 it tells on standard error, as an entry `sample`, its resident memory in bytes, how many
blocks of memory, tasks, open files and threads it has; where SOAK_TRACED is set, also its traced
memory in bytes, and where that has grown most since the first of them, at twice the costs.
"""

from mocks.__main__ import play  # isort: skip  first, for it decides what asyncio imports

import asyncio
import gc
import os
import resource
import signal
import sys
import threading
import tracemalloc
from pathlib import Path
from typing import Any

from mocks.run import Entry, Lines

MOST = 8  # places that are told
_first: dict[Any, int] = {}


def sample() -> dict[str, Any]:
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
    found: dict[str, Any] = {
        "rss": pages * resource.getpagesize(),
        "blocks": sys.getallocatedblocks(),
        "tasks": len(asyncio.all_tasks()),
        "files": len(os.listdir("/proc/self/fd")),
        "threads": threading.active_count(),
    }
    if tracemalloc.is_tracing():
        found |= {"traced": tracemalloc.get_traced_memory()[0], "grown": _grown()}
    return found


def _grown() -> list[str]:
    """Where memory has grown since the first time, the most first."""
    statistics = tracemalloc.take_snapshot().statistics("lineno")
    sizes = {stat.traceback: stat.size for stat in statistics}
    if not _first:
        _first.update(sizes)
    grown = {place: size - _first.get(place, 0) for place, size in sizes.items()}
    most = sorted(grown, key=lambda place: -grown[place])[:MOST]
    return [f"{grown[place]:+} {place}" for place in most if grown[place] > 0]


def main(argv: list[str]) -> None:
    tell = Lines("json")

    def asked(number: int, frame: object) -> None:
        # In the loop, for whoever is interrupted here may just be telling something.
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return  # it has not begun
        loop.call_soon_threadsafe(lambda: tell(Entry("sample", "", facts=sample())))

    signal.signal(signal.SIGUSR2, asked)
    tell(Entry("soaked", "tells of itself when asked"))
    if "SOAK_TRACED" in os.environ:
        tracemalloc.start()
    play([argv[0], "--judge", "--log", "json", *argv[1:]])


if __name__ == "__main__":
    main(sys.argv[1:])
