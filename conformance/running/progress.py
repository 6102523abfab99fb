"""Prints the progress of a run: a bar on a terminal, lines in a log."""

import asyncio
import contextlib
import sys
import time
from collections.abc import AsyncIterator, Sized

from conformance.conclusions.outcome import Run
from conformance.evidence import Result
from conformance.reporting.text import one_line
from conformance.verdicts import Verdict

HEARTBEAT = 5.0  # seconds between two lines if there is no terminal
_WIDTH = 20  # columns of the bar
_MIN_TESTS = 5  # ended tests after which an estimate of the remaining time is useful


class Progress:
    """The progress of a run on standard error; a terminal shows one line that changes."""

    def __init__(self, run: Run, to_rerun: Sized) -> None:
        """``to_rerun`` are the tests that run again alone at the end."""
        self._run = run
        self._to_rerun = to_rerun
        self._began = time.monotonic()
        self._failed: set[str] = set()

    def show(self) -> None:
        """Print a line: the numbers of ended, failed and remaining tests, and the time left."""
        tests, selected = self._run.tests, max(self._run.collected.selected, 1)
        done = len(tests)
        counts = [
            f"{number} {word}"
            for word, number in (
                ("failed", sum(test.verdict is Verdict.FAIL for test in tests)),
                ("warned", sum(test.verdict is Verdict.WARN for test in tests)),
                ("left", selected - done),
                ("to run again alone", len(self._to_rerun)),
            )
            if number
        ]
        filled = _WIDTH * done // selected
        bar = f"[{'#' * filled}{'-' * (_WIDTH - filled)}]"
        last = ", looking for causes" if done >= selected else ""
        text = f"{self._run.configuration.role} {bar} {done}/{selected} tests{last}"
        self._print(f"{', '.join([text, *counts])}{self._estimate(done, selected)}")

    def _estimate(self, done: int, selected: int) -> str:
        if done < _MIN_TESTS or done == selected:
            return ""
        passed = time.monotonic() - self._began
        return f", about {passed * (selected - done) / done:.0f} s"

    def _print(self, line: str) -> None:
        terminal = sys.stderr.isatty()
        shown = line[:100].rstrip()
        sys.stderr.write(f"\r\x1b[K{shown}" if terminal else f"{shown}\n")
        sys.stderr.flush()

    def add_result(self, result: Result) -> None:
        """Print the first failure of each requirement, and update the bar."""
        if result.verdict is Verdict.FAIL and result.requirement not in self._failed:
            self._failed.add(result.requirement)
            line = one_line(f"FAIL  {result.requirement}: {result.detail}", 160)
            start = "\r\x1b[K" if sys.stderr.isatty() else ""
            sys.stderr.write(f"{start}{line}\n")
        if sys.stderr.isatty():
            self.show()

    def end(self) -> None:
        """Remove the line from a terminal."""
        if sys.stderr.isatty():
            sys.stderr.write("\r\x1b[K")

    @contextlib.asynccontextmanager
    async def heartbeat(self) -> AsyncIterator[None]:
        """Within the block, print a line every `HEARTBEAT` seconds if there is no terminal."""

        async def beat() -> None:
            while True:
                await asyncio.sleep(HEARTBEAT)
                self.show()

        beating = None if sys.stderr.isatty() else asyncio.create_task(beat())
        try:
            yield
        finally:
            if beating:
                beating.cancel()
