"""Says how a run goes on: on a terminal after each test, elsewhere now and then."""

import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator, Sized

from conformance.conclusions.outcome import Run
from conformance.evidence import Result
from conformance.verdicts import Verdict

HEARTBEAT = 30.0  # seconds between two lines without a terminal


class Progress:
    """One line on standard error, which a terminal shows in one place."""

    def __init__(self, run: Run, again: Sized) -> None:
        """``again`` are the tests that are to run again alone at the end."""
        self._run = run
        self._again = again

    def show(self, latest: str = "") -> None:
        """Print how many tests ran, and on a terminal the latest one."""
        tests, selected = self._run.tests, self._run.collected.selected
        bad = sum(test.verdict is Verdict.FAIL for test in tests)
        total = f"/{selected}" if selected else ""
        again = f", {len(self._again)} to run again alone" if self._again else ""
        role = self._run.configuration.role
        line = f"{role}  {len(tests)}{total} tests, {bad} failed{again}  {latest}"
        shown = line[:100].rstrip()
        sys.stderr.write(f"\r\x1b[K{shown}" if sys.stderr.isatty() else f"{shown}\n")
        sys.stderr.flush()

    def ended(self, result: Result) -> None:
        """A test has ended."""
        if sys.stderr.isatty():
            self.show(result.id)

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
