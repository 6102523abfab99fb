"""How something is awaited in a session: for how long, and what it means that it has not come."""

import asyncio
import contextlib
import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise, takewhile
from typing import Any

from conformance.codec import Frame
from conformance.harness.deadlines import AGAIN, Left, counting, in_time
from conformance.harness.instance import Instance
from conformance.harness.links import Link
from conformance.running.patience import CLOSED, LATE, SHARE, Names, Patience
from conformance.segmentation import Segmentation
from conformance.verdicts import Flooded, Inconclusive, Violation
from conformance.wire import Message, Wire

LAST_WORDS = 0.5  # seconds in which a process that has closed its stream may end
_IDLE = 0.4  # seconds after which one that has begun to speak does not merely compute
Within = float | str | Left
"""Seconds, the name of a timing, or what is left of a time that other waits share."""


@dataclass
class Wait:
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


class Waiting(Wire):
    """One connection to the IUT, and how long a test waits there for what."""

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
        """What fails in it decides nothing more, or nothing yet: nothing is waited for in full."""
        self.blamed = ""
        """The requirement that whatever does not come is laid to, if not the usual."""
        self._deciding = deciding
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

    def _lasting(self, within: Within) -> Callable[[], float]:
        """The seconds that something is awaited from now on, asked again and again."""
        if isinstance(within, str):
            return self._patience.lasting(self.instance.configuration.seconds(within))
        if callable(within):
            left, asked = within, self.now
            return lambda: self.now - asked + left()
        return lambda: within

    def _brief(self, wait: Wait, seconds: float) -> float:
        """How many of these seconds something is awaited; fewer where that shows nothing new."""
        patience = self._patience
        about = {self._deciding, self.blamed or wait.requirement or self._deciding}
        if self.hasty:
            return SHARE * seconds
        if self._explained(about):
            wait.brief = True
            return patience.briefly(wait.names, seconds)
        brief = patience.seconds_for(
            wait.names, seconds, about, certain=wait.certain, presumes=wait.presumes
        )
        wait.brief = brief < seconds
        if wait.brief and not patience.rests(self._deciding):
            wait.known = {each for each in about if patience.missed(each, wait.names)}
        return brief

    def _explained(self, requirements: Collection[str]) -> bool:
        """Whether what violates these in this session would only follow from what was found."""
        found = {finding.requirement for finding in self.judge.findings}
        return bool(found) and all(found & {*self._patience.presumed(r)} for r in requirements)

    def _miss(self, wait: Wait) -> None:
        """Remember that something has not come to the deadline, unless nothing could any more."""
        if wait.names and not (self._ended or self.lost):
            (self.sought if wait.certain else self.missed).append(wait.names)
            if wait.known is not None:
                self.hurried.append(wait.known)

    async def _until(
        self, found: Callable[[], bool], deadline: Callable[[], float], wait: Wait
    ) -> bool:
        """Wait until something was found, or can come no more, or the deadline has passed.

        The deadline is asked for again and again: another test may show that the rest is in vain.
        """
        asked, idle = self.now, False
        lasts = self._patience.lasted(wait.names) > _IDLE
        with contextlib.ExitStack() as stack:
            while not found():
                if self._followed.ended:
                    raise Flooded(self._followed.ended, self.size)
                left = deadline() - self.now
                if self._ended or left <= 0 or (self.lost and wait.names != (CLOSED,)):
                    return False
                # What is hardly awaited any more is not expected to come, or not before long.
                still = wait.brief or lasts or self.now > asked + _IDLE
                if not idle and still and self.received:
                    idle = True
                    stack.enter_context(self._patience.idling())
                self._news.clear()
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(min(left, AGAIN)):
                        await self._news.wait()
            return True

    async def _write(self, data: bytes) -> None:
        """Write it all. Raises Violation where the IUT does not read on, whatever it still does.

        And Inconclusive where it does, but takes longer than anything is waited for. Whoever still
        starts, or computes for a while, has not ceased to read for that.
        """
        seconds, limit = self.instance.configuration.seconds, self.instance.configuration.max_wait
        patience = seconds("response") * (1 + LATE)
        patience += 0 if self.instance.spoke else seconds("startup")
        ceases, ends = self._patience.left(patience), counting(limit)
        unread, ended, reads = math.inf, False, False

        def left() -> float:
            nonlocal ceases, unread, ended, reads
            pending = self._link.pending()
            reads |= pending < unread < math.inf
            if pending < unread or self._ended != ended:
                unread, ended = pending, self._ended
                # One that has closed its side shows no more what it reads, if it does.
                ceases = self._patience.left(seconds("quiet") if ended else patience)
            return min(ceases(), ends())

        looking: asyncio.TimerHandle

        def look() -> None:
            nonlocal looking
            if left() > 0:
                looking = self._loop.call_later(AGAIN, look)
            else:
                giving_up.reschedule(self._loop.time())

        looking = self._loop.call_later(AGAIN, look)
        try:
            # In this task: what answers it is to come after it has returned.
            async with asyncio.timeout(None) as giving_up:
                await super()._write(data)
        except TimeoutError:
            if ended:
                return
            if reads and ceases() > 0:
                slowly = f"{unread} of {len(data)} bytes were left after {limit:g} s"
                raise Inconclusive(
                    f"the IUT reads slowly: {slowly}; --max-wait gives it more time"
                ) from None
            raise Violation(
                "the IUT to read what is sent to it",
                f"{len(data)} bytes were still not read after {min(patience, limit):g} s",
            ) from None
        finally:
            looking.cancel()

    async def settled(self) -> None:
        """Where the stream has ended, give the process a moment to end: how it ends says why."""
        if self._ended and self.instance.process:
            with contextlib.suppress(TimeoutError):
                await in_time(self.instance.process.wait(), self._patience.left(LAST_WORDS))

    @property
    def _late(self) -> float:
        """For how many further deadlines anything is awaited: for none where it decides nothing."""
        return 0.0 if self.judge.spoiled else self._patience.late

    def _ceased(self, ebb: Wait, names: Names, asked: float) -> tuple[float, float]:
        """When such messages came last, and when they have ceased to come, if none comes then."""
        came = next((each.at for each in reversed(self.received) if each.name in names), asked)
        latest, whole = max(came, asked), self.seconds("response")
        seconds = self._brief(ebb, whole)
        if seconds == whole:
            seconds += self._late * whole
        return latest, latest + seconds

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

    def _lacking(
        self, names: Names, expected: str, start: int, requirement: str | None
    ) -> Violation:
        """That no such message has come; or that one has, or has begun, and lacks its end."""
        left = [] if self._ended else self.judge.rest(self.role.name)
        came, event = self._instead(start, left), None
        first = left[0] if left else None
        if first and first.requirement and _in_its_place(first, names):
            requirement, event = first.requirement, len(self.events)
            self._take(first)
        elif first and not first.requirement:
            requirement = self.protocol.schema_requirement
        return Violation(expected, came, requirement, event)

    def _instead(self, start: int, left: Sequence[Frame]) -> str:
        names = groupby(message.name for message in self.received[start:])
        runs = [(name, len(list(run))) for name, run in names]
        told = [f"{name} ({count} times)" if count > 1 else name for name, count in runs]
        shown = ", ".join(told[:8]) + (f" and {len(told) - 8} more" if len(told) > 8 else "")
        came = f"came {shown}, then" if told else "came"
        if self.judge.spoiled:
            came += f" bytes that are not a message ({self._noise()!r}), then"
        if left:
            came += f" {left[0].raw[:60]!r}, {_unended(left[0])}, then"
        ending = "the end of the stream" if self._ended else "nothing"
        if self.unserved:
            served = self.instance.served
            since = f" (it has said nothing since connection {served})" if served else ""
            ending += f", upon connection {self.number} with it{since}"
        silent = not (self.size or self._ended or self._patience.started)
        slow = self.instance.slow if silent else ""
        return f"{came} {ending}{self.instance.describe_end()}{slow}"

    def _noise(self) -> bytes:
        """The beginning of the first bytes that are not a message."""
        data = (event.data for event in self.theirs if event.message is None)
        return next((some[:60] for some in data if some), b"")


def _unended(frame: Frame) -> str:
    """What is wrong with a frame that the end of the stream would complete."""
    if frame.error or not frame.requirement:
        return "whose end has not come"
    return "whole, but with nothing that ends it" if frame.name else "which begins no message"


def _in_its_place(unended: Frame, names: Names) -> bool:
    """Whether what has no end came instead of such messages: one of them, or what begins none."""
    return not names or unended.name in names if unended.name else not unended.error
