"""A session with the IUT as a test case sees it: awaits messages, operates, says what is wrong."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

from conformance.harness.upper import Answer
from conformance.running.patience import CLOSED, LESS_LATE, Left
from conformance.verdicts import Late, Violation
from conformance.waiting import Wait, Waiting, Within
from conformance.wire import IN_PIECES, Message

_POLL = 0.02  # seconds between two looks at what shows; at first
_SOON = 0.005
_DENIED = 10  # answers without what is awaited: who had time for them had time to show it
RESET = "reset the connection"


def _any(_: Message) -> bool:
    return True


class Session(Waiting):
    """One connection to the IUT, with what is awaited of it."""

    denied = False
    """The IUT has answered again and again, to the last, and what was awaited did not show."""
    _cursor = 0  # of what was received: what nothing has looked at begins there

    def took(self, what: str, seconds: float) -> None:
        """Tell the run how long something has taken the IUT."""
        self._patience.reacted((what,), seconds)

    def pace(self, what: str, declared: float) -> float:
        """The seconds, at most the declared ones, that it surely takes no longer than."""
        return self._patience.pace((what,), declared)

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
        within: Within | None = None,
        to: str = "",
        requirement: str | None = None,
        what: str = "",
        flow: str | None = None,
    ) -> Message:
        """The next message with one of these names (any, if none), passing over others.

        Raises Violation where the stream ends first or nothing comes in time, Late where it comes
        after that. ``to`` completes "expected NAME …" in the text of the verdict; ``requirement``
        is what its absence violates, if not the one that the test decides. ``what`` says what is
        awaited where the names do not, so that the run knows it again. ``flow`` is the requirement
        that messages of these names keep coming by themselves: where they cease, that is violated.
        ``within`` are seconds, or the name of a timing, or what is ``left``, which are longer by
        what a busy machine takes meanwhile; if none, the time to react in, and to start in before.
        """
        configuration = self.instance.configuration
        alone = unhurried = configuration.seconds("response")
        starting = not (self.received or self.instance.spoke)
        if within is None and starting:
            startup = configuration.seconds("startup")
            unhurried += startup
            declared = self._lasting(alone + self._patience.startup(names, startup))
        else:
            declared = self._lasting("response" if within is None else within)
        lags = self._patience.lags(names) if within is None else 0.0
        wait = Wait((what,) if what else names, bool(what) or where is not _any, requirement)
        planned = seconds = declared()
        asked = self.now
        start = self._cursor
        ebb = Wait((f"more of {', '.join(names)}",), True, flow) if flow else None

        def found() -> bool:
            while self._cursor < len(self.received):
                message = self.received[self._cursor]
                self._cursor += 1
                if (not names or message.name in names) and where(message):
                    return True
            return False

        def deadline() -> float:
            if not ebb:
                return enough()
            latest, ceased = self._ceased(ebb, names, asked)
            # What has not come by then is not to be blamed where it is the flow that has ceased.
            silent = enough() - latest > (ceased - latest) / 2
            return ceased if silent else min(enough(), ceased)

        def enough() -> float:
            nonlocal seconds
            whole = declared()
            if lags:
                seconds = min(whole, unhurried)
                return asked + seconds
            seconds = self._brief(wait, whole)
            if seconds < whole:
                return asked + seconds
            # What was waited for in vain a moment ago is hardly late.
            late = LESS_LATE if wait.names in self.missed else self._patience.late
            # What a busy machine adds to a deadline tells a late one as well.
            return asked + seconds + max(late * min(seconds, alone) - (whole - planned), 0.0)

        expected = f"{' or '.join(names) or 'a message'} {to}".strip()
        if not await self._until(found, deadline, wait):
            await self.settled()
            over = self._ended or self.lost
            in_time = "" if over else f" within {round(seconds, 2):g} s"
            if lags and not over:
                text = f"expected {expected}{in_time}; the last ones came after {lags:.1f} s"
                raise Late(text, lags)
            if self.lost:
                ebb = None
            if ebb and self.now >= self._ceased(ebb, names, asked)[1]:
                wait, requirement = ebb, flow
            elif ebb and (gap := self._gap(names, asked)) > self.seconds("response"):
                raise Late(f"expected {expected}{in_time}; they come after {gap:.1f} s", gap)
            self._miss(wait)
            raise self._lacking(names, f"{expected}{in_time}", start, requirement)
        message = self.received[self._cursor - 1]
        took = message.at - asked
        if not starting:
            self._patience.reacted(wait.names, took)
        if ebb:
            self._patience.reacted(ebb.names, self._gap(names, asked))
        if within is None:
            if took > alone:
                self._slow = message.event
            if took > alone or self._reacts(message):
                self._patience.answered(names, took, alone, unhurried)
        if within is None and took > (most := declared()):
            raise Late(
                f"expected {expected} within {round(most, 2):g} s; it came after {took:.1f} s", took
            )
        return message

    async def watch(
        self,
        *names: str,
        within: Within | None = None,
        requirement: str | None = None,
        what: str = "",
        presumes: str | None = None,
    ) -> Message | None:
        """The first message with one of these names (any, if none) that comes within a window.

        The window is the declared ``quiet`` time. None is an answer here, not a violation; where
        the test takes it for one, ``within``, ``requirement`` and ``what`` are as of ``expect``.
        ``presumes`` is a requirement without which no such messages come: what has missed them.
        """
        wait = Wait((what,) if what else names, bool(what), requirement, presumes=presumes)
        seconds = self._lasting(self.seconds("quiet") if within is None else within)
        asked, starting = self.now, not self.received

        def deadline() -> float:
            # What is to be absent is looked for no less than before.
            return asked + (seconds() if within is None else self._brief(wait, seconds()))

        index = self._cursor

        def found() -> bool:
            nonlocal index
            while index < len(self.received):
                index += 1
                if not names or self.received[index - 1].name in names:
                    return True
            return False

        if not await self._until(found, deadline, wait):
            self._miss(wait)
            return None
        self._cursor = index
        message = self.received[index - 1]
        if not starting:
            self._patience.reacted(wait.names, message.at - asked)
        return message

    def ahead(self, *names: str, where: Callable[[Message], bool] = _any) -> bool:
        """Whether a message with one of these names has come that nothing has looked at yet."""
        coming = self.received[self._cursor :]
        return any(message.name in names and where(message) for message in coming)

    async def until_closed(self, within: Within | None = None) -> bool:
        """Wait for the IUT to close its side; False where it has not done so in time."""
        seconds = self._lasting("response" if within is None else within)
        wait, asked = Wait((CLOSED,)), self.now
        await self._until(lambda: self._ended, lambda: asked + self._brief(wait, seconds()), wait)
        self._miss(wait)
        return self._ended

    async def turned_away(self) -> bool:
        """Whether the IUT ends it before anything is said, as one may that is still busy."""
        if self.number > 1:
            until = self.now + self.seconds("quiet")
            await self._until(lambda: self._ended, lambda: until, Wait((CLOSED,)))
        return self.number > 1 and self._ended

    async def shows(
        self,
        look: Callable[[], Awaitable[bool]],
        what: str,
        within: Within,
        requirement: str | None = None,
    ) -> bool:
        """Whether something comes to be seen in time, at which one has to look again and again.

        ``what``, ``within`` and ``requirement`` are as of ``expect``.
        """
        pause, self.denied, before = _SOON, False, self.instance.upper.answers
        with contextlib.suppress(TimeoutError), self.awaiting(what, within, requirement) as left:
            while not await look():
                if left() < 0:
                    raise TimeoutError
                await asyncio.sleep(pause)
                pause = min(2 * pause, _POLL)
            return True
        # Who is sent pieces may have given up what came too late.
        gone = self._ended or IN_PIECES in self.apart
        self.denied = not gone and self.instance.upper.answers >= before + _DENIED
        return False

    @contextlib.contextmanager
    def awaiting(self, what: str, within: Within, requirement: str | None = None) -> Iterator[Left]:
        """What is left of the time for something that the block awaits by means of its own.

        Where it raises TimeoutError, that has not come: ``what``, ``within`` and ``requirement``
        are as of ``expect``.
        """
        wait = Wait((what,), True, requirement)
        seconds, asked = self._lasting(within), self.now
        try:
            yield lambda: asked + self._brief(wait, seconds()) - self.now
        except TimeoutError:
            self._miss(wait)
            raise
        self._patience.reacted(wait.names, self.now - asked)

    async def unharmed(self, after: str) -> None:
        """Raise Violation if the IUT has died, by a signal or an unhandled error."""
        await self.settled()
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
        if self.deserted and process and process.unhandled:
            return "closed the connection by an error that it did not handle"
        return RESET if self.deserted and self._link.broken else ""
