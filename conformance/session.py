"""A session with the IUT as a test case sees it: awaits messages, operates, says what is wrong."""

import asyncio
import contextlib
from collections.abc import Callable, Mapping
from typing import Any

from conformance.harness.instance import SLOW, Instance
from conformance.harness.links import Link
from conformance.harness.upper import Answer
from conformance.running.patience import CLOSED, SHARE, Names, Patience
from conformance.segmentation import Segmentation
from conformance.verdicts import Inconclusive, Late, Violation
from conformance.wire import Message, Wire

LAST_WORDS = 0.5  # seconds in which a process that has closed its stream may end


def _any(_: Message) -> bool:
    return True


class Session(Wire):
    """One connection to the IUT, with what is awaited of it."""

    def __init__(
        self,
        instance: Instance,
        link: Link,
        segmentation: Segmentation | None = None,
        peer: str = "",
        memory: Mapping[str, Any] | None = None,
        patience: Patience | None = None,
        deciding: str = "",
    ) -> None:
        """``segmentation`` and ``peer`` (the role that the suite plays) where not the usual.

        ``memory`` is what tests have found out about the IUT in this run, ``patience`` what has
        not come in it before, and ``deciding`` the requirement that the test decides.
        """
        super().__init__(instance, link, segmentation, peer, patience or Patience())
        self.memory = {} if memory is None else memory
        self.missed: list[Names] = []
        """The names of messages that were awaited without success while the stream was open."""
        self.sought: list[Names] = []
        """The same of those that had to be certain ones of their names: others may have come."""
        self.hurried = False
        """Some of them were not waited for in full, as the run had no hope for them."""
        self.hasty = False
        """The test has failed already: nothing is waited for in full any more."""
        self._deciding = deciding
        self._cursor = 0

    def seconds(self, timing: str) -> float:
        """A declared timing of the IUT's configuration; longer on a busy machine."""
        return self._patience.seconds(timing, self.instance.configuration.seconds(timing))

    async def operate(self, operation: str, **arguments: Any) -> Answer:
        """Run an operation of the upper tester; the transcript keeps it and its result.

        Raises NotExercised where nothing provides it.
        """
        self.note(operation, self.peer, **({"arguments": arguments} if arguments else {}))
        answer = await self.instance.upper(operation, **arguments)
        self.note(f"{operation} answered", self.role.name, **answer.told)
        return answer

    async def expect(
        self,
        *names: str,
        where: Callable[[Message], bool] = _any,
        within: float | None = None,
        to: str = "",
        requirement: str | None = None,
    ) -> Message:
        """The next message with one of these names (any, if none), passing over others.

        Raises Violation where the stream ends first or nothing comes in time, Late where it comes
        after that. ``to`` completes "expected NAME …" in the text of the verdict; ``requirement``
        is what its absence violates, if not the one that the test decides.
        """
        seconds = self.seconds("response") if within is None else within
        if not (self.received or self.instance.spoke) and within is None:
            # A fresh process may still be starting.
            seconds += self._patience.startup(names, self.seconds("startup"))
        allowed = seconds
        lags = self._patience.lags(names) if within is None else 0.0
        seconds *= SHARE if lags else self.share(names, certain=where is not _any)
        asked = self.now
        start = self._cursor

        def found() -> bool:
            while self._cursor < len(self.received):
                message = self.received[self._cursor]
                self._cursor += 1
                if (not names or message.name in names) and where(message):
                    return True
            return False

        expected = f"{' or '.join(names) or 'a message'} {to}".strip()
        late = self._patience.late(names) * min(seconds, self.seconds("response"))
        late *= not lags
        if not await self._until(found, asked + seconds + late):
            await self._settled()
            in_time = "" if self._ended else f" within {seconds:g} s"
            if lags and not self._ended:
                text = f"expected {expected}{in_time}; the last ones came after {lags:.1f} s"
                raise Late(text, lags)
            if where is _any:
                self._miss(names)
            elif not self._ended:
                self.sought.append(names)
            raise Violation(f"{expected}{in_time}", self._instead(start), requirement)
        message = self.received[self._cursor - 1]
        took = message.at - asked
        if within is None:
            self._patience.answered(names, took, self.seconds("response"), allowed)
        if took > seconds and within is None:
            text = f"expected {expected} within {seconds:g} s; it came after {took:.1f} s"
            raise Late(text, took)
        return message

    async def watch(self, *names: str, within: float | None = None) -> Message | None:
        """The first message with one of these names (any, if none) that comes within a window.

        The window is the declared ``quiet`` time. None is an answer here, not a violation.
        """
        seconds = self.seconds("quiet") if within is None else within
        # What is to be absent is looked for no less than before.
        seconds *= 1 if within is None else self.share(names)
        index = self._cursor

        def found() -> bool:
            nonlocal index
            while index < len(self.received):
                index += 1
                if not names or self.received[index - 1].name in names:
                    return True
            return False

        if not await self._until(found, self.now + seconds):
            self._miss(names)
            return None
        self._cursor = index
        return self.received[index - 1]

    def ahead(self, *names: str, where: Callable[[Message], bool] = _any) -> bool:
        """Whether a message with one of these names has come that nothing has looked at yet."""
        coming = self.received[self._cursor :]
        return any(message.name in names and where(message) for message in coming)

    async def until_closed(self, within: float | None = None) -> bool:
        """Wait for the IUT to close its side; False where it has not done so in time."""
        seconds = self.seconds("response") if within is None else within
        seconds *= self.share((CLOSED,))
        await self._until(lambda: self._ended, self.now + seconds)
        self._miss((CLOSED,))
        return self._ended

    def share(self, names: Names = (), *, certain: bool = False) -> float:
        """What part of a deadline is waited for these messages, or for a certain one of them."""
        if self.hasty:
            return SHARE
        return self._patience.share(self._deciding, names, certain=certain)

    def _miss(self, names: Names) -> None:
        """Remember that these messages have not come to the deadline, unless the stream ended."""
        if names and not self._ended:
            self.missed.append(names)
            self.hurried = self.hurried or self._patience.hopeless(self._deciding, names)

    async def _until(self, found: Callable[[], bool], deadline: float) -> bool:
        """Wait until something was found, or the stream has ended, or the deadline has passed."""
        while not found():
            if self._flooded:
                raise Inconclusive(self._flooded)
            left = deadline - self.now
            if self._ended or left <= 0:
                return False
            self._news.clear()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(left):
                    await self._news.wait()
        return True

    async def _settled(self) -> None:
        """Where the stream has ended, give the process a moment to end: how it ends says why."""
        if self._ended and self.instance.process:
            await self.instance.process.wait(LAST_WORDS)

    async def unharmed(self, after: str) -> None:
        """Raise Violation if the IUT has died, by a signal or an unhandled error."""
        await self._settled()
        if self.instance.process and self.instance.process.crashed:
            raise Violation(
                f"the {self.role.name} to survive {after}",
                f"it died{self.instance.describe_end()}",
            )

    @property
    def death(self) -> str:
        """How the IUT died in this session, once its instance was stopped; empty where it did not.

        One that goes on behind a connection which it has lost by an error has died for that.
        """
        process = self.instance.process
        if process and process.death:
            return process.death
        if self._deserted and process and process.unhandled:
            return "closed the connection by an error that it did not handle"
        return "reset the connection" if self._deserted and self._link.broken else ""

    def _instead(self, start: int) -> str:
        names = [message.name for message in self.received[start:]]
        shown = ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
        came = f"came {shown}, then" if names else "came"
        if self.judge.spoiled:
            came += f" bytes that are not a message ({self._noise()!r}), then"
        if not self._ended and (left := self.judge.rest(self.role.name)):
            came += f" {left[0].raw[:60]!r}, whose end has not come, then"
        ending = "the end of the stream" if self._ended else "nothing"
        process = self.instance.process
        silent = not (self._size or self._ended) and process and not process.exit
        return f"{came} {ending}{self.instance.describe_end()}" + (f"; {SLOW}" if silent else "")

    def _noise(self) -> bytes:
        """The beginning of the first bytes that are not a message."""
        data = (event.data for event in self.theirs if event.message is None)
        return next((some[:60] for some in data if some), b"")
