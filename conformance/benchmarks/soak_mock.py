"""Run a mock that reports its own state: `python -m conformance.benchmarks.soak_mock ROLE …`.

On SIGUSR2, the mock logs an entry `sample` to standard error. The entry contains the resident
memory in bytes, and the numbers of memory blocks, tasks, open files and threads. If SOAK_TRACED is
set, the entry also contains the traced memory in bytes, and the places where memory has grown most.
Tracing doubles the CPU time.
"""

from mocks.__main__ import play  # isort: skip  first, because it changes what asyncio imports

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

MAX_PLACES = 8  # places where memory has grown that are reported
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
    """Return where memory has grown since the first sample, the largest growth first."""
    statistics = tracemalloc.take_snapshot().statistics("lineno")
    sizes = {stat.traceback: stat.size for stat in statistics}
    if not _first:
        _first.update(sizes)
    grown = {place: size - _first.get(place, 0) for place, size in sizes.items()}
    most = sorted(grown, key=lambda place: -grown[place])[:MAX_PLACES]
    return [f"{grown[place]:+} {place}" for place in most if grown[place] > 0]


def main(argv: list[str]) -> None:
    tell = Lines("json")

    def asked(number: int, frame: object) -> None:
        # The loop takes the sample, because the signal can interrupt a log entry.
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return  # the loop has not started yet
        loop.call_soon_threadsafe(lambda: tell(Entry("sample", "", facts=sample())))

    signal.signal(signal.SIGUSR2, asked)
    tell(Entry("soaked", "reports its state on SIGUSR2"))
    if "SOAK_TRACED" in os.environ:
        tracemalloc.start()
    play([argv[0], "--judge", "--log", "json", *argv[1:]])


if __name__ == "__main__":
    main(sys.argv[1:])
