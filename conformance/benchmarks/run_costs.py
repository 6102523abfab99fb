"""Measure the cost of a run: CPU time, starts of the IUT, and the reasons for waiting.

    python -m conformance.benchmarks.run_costs [--against FOLDER] [ROLE…]
    python -m conformance.benchmarks.run_costs [--against FOLDER] ROLE -- COMMAND

The IUT is the role's mock, or COMMAND starts it. With --against, each run is repeated with the
checkout in FOLDER, which comes first.

Each role runs in a separate process with a sampling thread. While the event loop is idle, the
thread notes every few milliseconds the function in which each test case waits. The columns are:

- the duration of the run in seconds
- the CPU seconds of the suite, and of the IUT
- how often the suite started the IUT
- the ratio of the duration to all CPU seconds
- the share of the time in which the suite is idle
- the most frequent waits, and their shares of all waits; many waits overlap
"""

import argparse
import asyncio
import atexit
import json
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from itertools import count
from types import CodeType, FrameType
from typing import Any

from conformance import cli
from conformance.definitions import locations, protocols
from conformance.harness.process import Process

EVERY = 0.005  # seconds between two samples
MAX_KINDS = 4  # kinds of waits that are printed


class Waits(threading.Thread):
    """Notes the waits of all tasks of the main thread's loop while it is idle."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.kinds: Counter[str] = Counter()
        self.idle = self.looks = 0
        self.spent = 0.0
        """CPU seconds of the sampling itself, which do not belong to the run."""
        self._main = threading.main_thread().ident or 0

    def run(self) -> None:
        while True:
            time.sleep(EVERY)
            self.looks += 1
            frame = sys._current_frames().get(self._main)
            if frame and frame.f_code.co_name == "select":
                self.idle += 1
                for kind in self._waiting(frame):
                    self.kinds[kind] += 1
            self.spent = time.thread_time()

    def _waiting(self, frame: FrameType) -> Iterator[str]:
        loop = next((each for each in _above(frame) if hasattr(each, "run_forever")), None)
        try:
            tasks = asyncio.all_tasks(loop) if loop else set()
        except RuntimeError:  # the set of tasks is changing
            return
        for task in tasks:
            if kind := _kind(task.get_coro()):
                yield kind


def _above(frame: FrameType) -> Iterator[Any]:
    """Yield the objects whose methods are on the stack, the innermost first."""
    at: FrameType | None = frame
    while at:
        yield at.f_locals.get("self")
        at = at.f_back


def _kind(waiting: Any) -> str:
    """Return the suite's function in which a test case waits; empty for other tasks."""
    called_by_test = False
    while waiting is not None:
        code: CodeType | None = getattr(waiting, "cr_code", None) or getattr(
            waiting, "ag_code", None
        )
        if code and "/conformance/" in code.co_filename:
            name = code.co_filename.rpartition("/")[2]
            is_test = name.startswith("test_")
            if called_by_test and not is_test and name not in ("__init__.py", "tester.py"):
                return code.co_qualname
            called_by_test = called_by_test or is_test
        waiting = getattr(waiting, "cr_await", None) or getattr(waiting, "ag_await", None)
    return ""


def inside(role: str, command: list[str]) -> None:
    """Run a role in this process; print one line of JSON at exit.

    At exit, all processes that the run has started have ended, so their CPU time is known.
    """
    waits, starts = Waits(), count()
    start = Process.start

    def counted(*args: Any, **options: Any) -> Any:
        next(starts)
        return start(*args, **options)

    Process.start = counted  # type: ignore[method-assign]
    began = time.perf_counter()

    @atexit.register
    def tell() -> None:
        ours, theirs = (
            sum(resource.getrusage(whose)[:2])
            for whose in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
        )
        ours -= waits.spent
        result = {"took": took, "suite": ours, "iut": theirs, "starts": next(starts)}
        kinds = waits.kinds.most_common()
        print(json.dumps({**result, "kinds": kinds, "idle": waits.idle / max(waits.looks, 1)}))

    waits.start()
    with tempfile.TemporaryDirectory(prefix="conformance-") as folder:
        iut = ["--", *command] if command else ["--mock"]
        cli.main(["run", role, "--report", folder, *iut])
    took = time.perf_counter() - began


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("roles", metavar="ROLE", nargs="*", help="default: all")
    parser.add_argument("--against", metavar="FOLDER", help="another checkout")
    parser.add_argument("--inside", metavar="ROLE", help=argparse.SUPPRESS)
    given, command = cli.split_words(sys.argv[1:])
    args = parser.parse_args(given)
    if args.inside:
        inside(args.inside, command)
        return
    trees = [args.against, None] if args.against else [None]
    columns = "".join(f"{name:>8}" for name in ("s", "suite", "IUT", "starts", "ratio", "idle"))
    print(f"{'':26}{columns}  share of all waits")
    sums: dict[str | None, list[float]] = {tree: [0.0] * 4 for tree in trees}
    for role in args.roles or protocols.roles():
        for tree in trees:
            result = _measured(role, command, tree)
            parts = [result[name] for name in ("took", "suite", "iut", "starts")]
            sums[tree] = [a + b for a, b in zip(sums[tree], parts, strict=True)]
            total = sum(number for _, number in result["kinds"]) or 1
            most = result["kinds"][:MAX_KINDS]
            kinds = ", ".join(f"{name} {number / total:.0%}" for name, number in most)
            ratio = parts[0] / (parts[1] + parts[2])
            print(f"{role:26}{_row(parts)}{ratio:8.2f}{result['idle']:8.2f}  {kinds}", flush=True)
    for tree in trees:
        print(f"{'sum ' + (tree or ''):26}{_row(sums[tree])}")


def _measured(role: str, command: list[str], tree: str | None) -> dict[str, Any]:
    # Without -P, the checkout in the working folder would come before PYTHONPATH.
    words = [sys.executable, "-P", "-m", "conformance.benchmarks.run_costs", "--inside", role]
    words += ["--", *command] if command else []
    env = {**os.environ, "PYTHONPATH": tree} if tree else None
    # The mocks are taken from the working folder; a command of the user can name files in it.
    folder = None if command else tree
    done = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True, env=env, cwd=folder)
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def _row(parts: list[float]) -> str:
    return f"{parts[0]:8.1f}{parts[1]:8.1f}{parts[2]:8.1f}{parts[3]:8.0f}"


if __name__ == "__main__":
    locations.extend_packages()
    main()
