"""A session with the IUT as a test case sees it: awaits messages, operates, says what is wrong."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from itertools import pairwise, takewhile
from math import inf
from typing import Any

from conformance.harness.instance import Instance
from conformance.harness.links import Link
from conformance.harness.upper import Answer
from conformance.running.patience import AGAIN, CLOSED, LESS_LATE, SHARE, Left, Names, Patience
from conformance.segmentation import Segmentation
from conformance.verdicts import Flooded, Late, Violation
from conformance.wire import Message, Wire

_POLL = 0.02  # seconds between two looks at what shows
_IDLE = 0.4  # seconds after which one that has begun to speak does not merely compute
Within = float | str | Left
"""Seconds, the name of a timing, or what is left of a time that other waits share."""

RESET = "reset the connection"
LAST_WORDS = 0.5  # seconds in which a process that has closed its stream may end


def _any(_: Message) -> bool:
    return True


@dataclass
class _Wait:
    """What is awaited: messages of these names, any of them or a ``certain`` one.

    ``requirement`` is what their absence violates, if not the one that the test decides. ``known``
    are the requirements that have failed for that before, where it is therefore cut short;
    ``brief``: it is cut short, for whatever reason. ``presumes`` is what they rest on besides.
    """

    names: Names
    certain: bool = False
    requirement: str | None = None
    known: set[str] | None = None
    brief: bool = False
    presumes: str | None = None


class Session(Wire):
    """One connection to the IUT, with what is awaited of it."""

    def __init__(
        self,
        instance: Instance,
        link: Link,
        segmentation: Segmentation | None = None,
        peer: str = "",
        memory: dict[str, Any] | None = None,
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
        self.hurried: list[set[str]] = []
        """For each of them that was not waited for in full: the requirements that it decides."""
        self.hasty = False
        """The test has failed already: nothing is waited for in full any more."""
        self.blamed = ""
        """The requirement that whatever does not come is laid to, if not the usual."""
        self._deciding = deciding
        self._cursor = 0
        self._slow: int | None = None  # the event of the latest message that took long

    def seconds(self, timing: str) -> float:
        """A declared timing of the IUT's configuration; longer on a busy machine."""
        return self._patience.seconds(timing, self.instance.configuration.seconds(timing))

    def left(self, *within: float | str) -> Left:
        """Counts down seconds, and those of timings, from now on: what several waits share."""
        return self._patience.left(self.instance.configuration.total(*within))

    @property
    def due(self) -> float:
        """The seconds in which a session shows something: to react in, and to start in before."""
        declared = self.instance.configuration.seconds
        return declared("response") + self._patience.startup((), declared("startup"))

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
        wait = _Wait((what,) if what else names, bool(what) or where is not _any, requirement)
        planned = seconds = declared()
        asked = self.now
        start = self._cursor
        ebb = _Wait((f"more of {', '.join(names)}",), True, flow) if flow else None

        def found() -> bool:
            while self._cursor < len(self.received):
                message = self.received[self._cursor]
                self._cursor += 1
                if (not names or message.name in names) and where(message):
                    return True
            return False

        def deadline() -> float:
            return min(enough(), self._ceased(ebb, names, asked) if ebb else inf)

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
            await self._settled()
            in_time = "" if self._ended else f" within {round(seconds, 2):g} s"
            if lags and not self._ended:
                text = f"expected {expected}{in_time}; the last ones came after {lags:.1f} s"
                raise Late(text, lags)
            if ebb and self.now >= self._ceased(ebb, names, asked):
                wait, requirement = ebb, flow
            elif ebb and (gap := self._gap(names, asked)) > self.seconds("response"):
                raise Late(f"expected {expected}{in_time}; they come after {gap:.1f} s", gap)
            self._miss(wait)
            raise Violation(f"{expected}{in_time}", self._instead(start), requirement)
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

    def _ceased(self, ebb: _Wait, names: Names, asked: float) -> float:
        """When such messages have ceased to come, if none comes until then."""
        latest = next((each.at for each in reversed(self.received) if each.name in names), asked)
        within = (1 + self._patience.late) * self.seconds("response")
        return max(latest, asked) + self._brief(ebb, within)

    def _gap(self, names: Names, since: float) -> float:
        """The longest time without any of these messages."""
        new = takewhile(lambda message: message.at > since, reversed(self.received))
        times = [message.at for message in new if message.name in names]
        return max((later - at for later, at in pairwise([*times, since])), default=0.0)

    def _reacts(self, message: Message) -> bool:
        """Whether it may show how fast the IUT is, as what comes together with a late one cannot.

        It does once something has been sent since.
        """
        if self._slow is None:
            return True
        since = self.events[self._slow : message.event]
        return any(event.sender == self.peer and event.data for event in since)

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
        wait = _Wait((what,) if what else names, bool(what), requirement, presumes=presumes)
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
        wait, asked = _Wait((CLOSED,)), self.now
        await self._until(lambda: self._ended, lambda: asked + self._brief(wait, seconds()), wait)
        self._miss(wait)
        return self._ended

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
        wait = _Wait((what,), True, requirement)
        seconds, asked = self._lasting(within), self.now
        while not await look():
            if self.now > asked + self._brief(wait, seconds()):
                self._miss(wait)
                return False
            await asyncio.sleep(_POLL)
        self._patience.reacted(wait.names, self.now - asked)
        return True

    def _lasting(self, within: Within) -> Callable[[], float]:
        """The seconds that something is awaited from now on, asked again and again."""
        if isinstance(within, str):
            return self._patience.lasting(self.instance.configuration.seconds(within))
        if callable(within):
            left, asked = within, self.now
            return lambda: self.now - asked + left()
        return lambda: within

    def _brief(self, wait: _Wait, seconds: float) -> float:
        """How many of these seconds something is awaited; fewer where that shows nothing new."""
        patience = self._patience
        about = {self._deciding, self.blamed or wait.requirement or self._deciding}
        if self.hasty:
            return SHARE * seconds
        brief = patience.seconds_for(
            wait.names, seconds, about, certain=wait.certain, presumes=wait.presumes
        )
        wait.brief = brief < seconds
        if wait.brief and not patience.rests(self._deciding):
            wait.known = {each for each in about if patience.missed(each, wait.names)}
        return brief

    def _miss(self, wait: _Wait) -> None:
        """Remember that something has not come to the deadline, unless the stream ended."""
        if wait.names and not self._ended:
            (self.sought if wait.certain else self.missed).append(wait.names)
            if wait.known is not None:
                self.hurried.append(wait.known)

    async def _until(
        self, found: Callable[[], bool], deadline: Callable[[], float], wait: _Wait
    ) -> bool:
        """Wait until something was found, or the stream has ended, or the deadline has passed.

        The deadline is asked for again and again: another test may show that the rest is in vain.
        """
        asked, idle = self.now, False
        with contextlib.ExitStack() as stack:
            while not found():
                if self._flooded:
                    raise Flooded(self._flooded, self._size)
                left = deadline() - self.now
                if self._ended or left <= 0:
                    return False
                # What is hardly awaited any more is not expected to come.
                still = wait.brief or self.now > asked + _IDLE
                if not idle and still and self.received:
                    idle = True
                    stack.enter_context(self._patience.idling())
                self._news.clear()
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(min(left, AGAIN)):
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
        return RESET if self._deserted and self._link.broken else ""

    def _instead(self, start: int) -> str:
        names = [message.name for message in self.received[start:]]
        shown = ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
        came = f"came {shown}, then" if names else "came"
        if self.judge.spoiled:
            came += f" bytes that are not a message ({self._noise()!r}), then"
        if not self._ended and (left := self.judge.rest(self.role.name)):
            came += f" {left[0].raw[:60]!r}, whose end has not come, then"
        ending = "the end of the stream" if self._ended else "nothing"
        if self.unserved:
            served = self.instance.served
            since = f" (it has said nothing since connection {served})" if served else ""
            ending += f", upon connection {self.number} with it{since}"
        silent = not (self._size or self._ended or self._patience.started)
        slow = self.instance.slow if silent else ""
        return f"{came} {ending}{self.instance.describe_end()}{slow}"

    def _noise(self) -> bytes:
        """The beginning of the first bytes that are not a message."""
        data = (event.data for event in self.theirs if event.message is None)
        return next((some[:60] for some in data if some), b"")
