"""Warnings on standard error: lines that plain operations do not write."""

import asyncio
import re

from conformance.runtime.memory.tester import Tester

_NUMBER = re.compile(r"[-+]?\d[\d.]*(?:e[-+]?\d+)?")
_POLL = 0.02  # seconds between two looks; an operation takes about a millisecond


class LogLines:
    """The unusual lines of an IUT's log. A program can log every operation."""

    def __init__(self, tester: Tester) -> None:
        self._tester = tester
        self._usual: set[str] = set()

    async def learn(self) -> None:
        """Treat all lines so far as usual, and later ones with other numbers or names."""
        await self._tester.session.drain()
        self._usual = {self._shape(line) for line in self._lines()}

    def unusual(self) -> list[str]:
        """Return the unusual lines so far."""
        return [line for line in self._lines() if self._shape(line) not in self._usual]

    async def has_more_than(self, before: list[str]) -> bool:
        """Return True if more unusual lines than before arrive within the time `quiet`."""
        left = self._tester.session.countdown("quiet")
        while self.unusual() == before:
            if left() < 0:
                return False
            await asyncio.sleep(_POLL)
        return True

    def _lines(self) -> list[str]:
        process = self._tester.session.instance.process
        return process.stderr.complete_lines if process else []

    def _shape(self, line: str) -> str:
        """Return a line without numbers, and without names of buffers and parameters."""
        types = self._tester.catalog
        params = {param.name for type_ in types.values() for param in type_.params}
        names = {*types, *params, *(buffer.name for buffer in self._tester.buffers)}
        for name in sorted(names, key=len, reverse=True):
            line = re.sub(rf"\b{re.escape(name)}\b", "#", line)
        return _NUMBER.sub("#", line)
