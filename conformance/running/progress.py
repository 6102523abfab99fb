"""Says how a run goes on: first failures at once, a bar on a terminal, lines elsewhere."""

import asyncio
import contextlib
import sys
import time
from collections.abc import AsyncIterator, Sized

from conformance.conclusions.outcome import Run
from conformance.evidence import Result
from conformance.reporting.text import one_line
from conformance.verdicts import Verdict

HEARTBEAT = 5.0  # seconds between two lines without a terminal
_WIDTH = 20  # columns of the bar
_ENOUGH = 5  # tests after which the time that is left can be estimated


class Progress:
    """A line on standard error, which a terminal shows in one place."""

    def __init__(self, run: Run, again: Sized) -> None:
        """``again`` are the tests that are to run again alone at the end."""
        self._run = run
        self._again = again
        self._began = time.monotonic()
        self._failed: set[str] = set()

    def show(self) -> None:
        """Print a line: tests that ended, failed, warned and are left, and the time left."""
        tests, selected = self._run.tests, max(self._run.collected.selected, 1)
        done = len(tests)
        counts = [
            f"{number} {word}"
            for word, number in (
                ("failed", sum(test.verdict is Verdict.FAIL for test in tests)),
                ("warned", sum(test.verdict is Verdict.WARN for test in tests)),
                ("left", selected - done),
                ("to run again alone", len(self._again)),
            )
            if number
        ]
        filled = _WIDTH * done // selected
        bar = f"[{'#' * filled}{'-' * (_WIDTH - filled)}]"
        last = ", looking for causes" if done >= selected else ""
        text = f"{self._run.configuration.role} {bar} {done}/{selected} tests{last}"
        self._print(f"{', '.join([text, *counts])}{self._estimate(done, selected)}")

    def _estimate(self, done: int, selected: int) -> str:
        if done < _ENOUGH or done == selected:
            return ""
        passed = time.monotonic() - self._began
        return f", about {passed * (selected - done) / done:.0f} s"

    def _print(self, line: str) -> None:
        terminal = sys.stderr.isatty()
        shown = line[:100].rstrip()
        sys.stderr.write(f"\r\x1b[K{shown}" if terminal else f"{shown}\n")
        sys.stderr.flush()

    def add_result(self, result: Result) -> None:
        """A test has ended; the first failure of each requirement is printed at once."""
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
        """Within the block, print a line now and then if no terminal shows each test."""

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
