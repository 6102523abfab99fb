"""Says how a run goes on: on a terminal after each test, elsewhere now and then."""

import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator, Sized

from conformance.conclusions.outcome import Run
from conformance.verdicts import Verdict

HEARTBEAT = 30.0  # seconds between two lines where there is no terminal


class Progress:
    """One line on standard error, which a terminal shows in one place."""

    def __init__(self, run: Run, doubted: Sized) -> None:
        """``doubted`` are the tests that are to be held again."""
        self._run = run
        self._doubted = doubted

    def tell(self, latest: str = "") -> None:
        """Say how many tests were held, and on a terminal which was the latest."""
        tests, selected = self._run.tests, self._run.collected.selected
        bad = sum(test["verdict"] == Verdict.FAIL for test in tests)
        total = f"/{selected}" if selected else ""
        # They may fail, too: what was missed on a busy machine is held again at the end.
        again = f", {len(self._doubted)} to be held again" if self._doubted else ""
        role = self._run.configuration.role
        line = f"{role}  {len(tests)}{total} tests, {bad} failed{again}  {latest}"
        shown = line[:100].rstrip()
        sys.stderr.write(f"\r\x1b[K{shown}" if sys.stderr.isatty() else f"{shown}\n")
        sys.stderr.flush()

    def held(self, test: str) -> None:
        """A test has ended."""
        if sys.stderr.isatty():
            self.tell(test)

    def end(self) -> None:
        """Nothing more is said."""
        if sys.stderr.isatty():
            sys.stderr.write("\r\x1b[K")

    @contextlib.asynccontextmanager
    async def heartbeat(self) -> AsyncIterator[None]:
        """Say now and then that the run goes on, where no terminal shows each test."""

        async def beat() -> None:
            while True:
                await asyncio.sleep(HEARTBEAT)
                self.tell()

        beating = None if sys.stderr.isatty() else asyncio.create_task(beat())
        try:
            yield
        finally:
            if beating:
                beating.cancel()
