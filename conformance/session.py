"""A session with the IUT as a test case sees it: waits, operations, and what went wrong."""

import asyncio
import contextlib
import math
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise, takewhile
from typing import Any

from conformance.codec import Frame
from conformance.harness.deadlines import AGAIN, Countdown, countdown_from, in_time
from conformance.harness.instance import Instance
from conformance.harness.links import Link
from conformance.harness.upper_tester import Answer
from conformance.running.timeouts import CLOSED, GRACE, Names, Timeouts
from conformance.segmentation import Segmentation
from conformance.verdicts import Conclusion, Flooded, Inconclusive, Late, NotRepeated, Violation
from conformance.wire import IN_PIECES, Message, Wire

LAST_WORDS = 0.5  # seconds in which a process that has closed its stream can end
_IDLE = 0.4  # seconds of waiting after which the IUT hardly computes any more
_POLL = 0.02  # seconds between two looks at a state; at first
_POLL_FIRST = 0.005
_DENIED = 10  # answers without the awaited state: enough time to show it has passed
CLOSED_STREAM = "closed the stream"
RESET = "reset the connection"

Timeout = float | str | Countdown
"""Seconds, the name of a timing, or the rest of a time that several waits share."""


def _any(_: Message) -> bool:
    return True


@dataclass(frozen=True)
class Wait:
    """The messages that a test waits for: any of these names, or a ``certain`` one of them.

    ``requirement`` is violated by their absence, if it is not the one that the test decides.
    """

    names: Names
    certain: bool = False
    requirement: str | None = None


@dataclass
class _Awaited:
    """A message that is expected: its names, the start of the wait and its length in seconds.

    ``flow`` is given if such messages keep coming by themselves and a requirement says so.
    ``alone`` is the time to react in, ``allowed`` also counts the time to start in, if the IUT is
    ``starting``. ``declared`` returns the length of the wait, which was ``planned`` at first;
    ``usual``: the caller gave no other time. ``seconds`` is the full wait without grace.
    """

    names: Names
    wait: Wait
    flow: Wait | None
    asked: float
    starting: bool
    usual: bool
    alone: float
    allowed: float
    declared: Callable[[], float]
    planned: float
    seconds: float = 0.0


class Session(Wire):
    """A connection to the IUT, and the waits of a test on it."""

    answered_without_showing = False
    """The IUT answered operations to the last, and the awaited state did not show."""
    _cursor = 0  # the first received message that no wait has looked at

    def __init__(
        self,
        instance: Instance,
        link: Link,
        segmentation: Segmentation | None = None,
        peer: str = "",
        memory: dict[str, Any] | None = None,
        timeouts: Timeouts | None = None,
        requirement_id: str = "",
    ) -> None:
        """``segmentation`` and ``peer`` (the role that the suite plays) if not the usual ones.

        ``memory`` holds facts about the IUT that tests of this run have found, ``timeouts`` those
        of the run; ``requirement_id`` is the requirement that the test decides.
        """
        super().__init__(instance, link, segmentation, peer, timeouts or Timeouts())
        self.memory = {} if memory is None else memory
        self.missed: list[Names] = []
        """The names of messages that did not come in the full time, or before the stream ended."""
        self.operating: list[str] = []
        """The operations that the IUT has not answered."""
        self._requirement_id = requirement_id

    # Lengths of waits

    def seconds(self, timing: str) -> float:
        """A declared timing of the IUT's configuration; longer on a busy machine."""
        return self._timeouts.seconds(timing, self.instance.configuration.seconds(timing))

    def countdown(self, *within: float | str) -> Countdown:
        """Counts down seconds, and those of timings, from now on: a time that waits can share."""
        return self._timeouts.countdown(self.instance.configuration.total(*within))

    @property
    def reaction_time(self) -> float:
        """The seconds in which an IUT that can still be starting reacts."""
        declared = self.instance.configuration.seconds
        return declared("response") + declared("startup")

    def _timeout_of(self, within: Timeout) -> Callable[[], float]:
        """The length of a wait that begins now, to be asked again and again."""
        if isinstance(within, str):
            return self._timeouts.growing_timeout(self.instance.configuration.seconds(within))
        if callable(within):
            left, asked = within, self.now
            return lambda: self.now - asked + left()
        return lambda: within

    @property
    def _grace(self) -> float:
        """The further deadlines of a wait; none if the session is spoiled and decides nothing."""
        return 0.0 if self.judge.spoiled else GRACE

    def _raise_if_expired(self, wait: Wait) -> None:
        """Raise NotRepeated if a test of this requirement has waited for it in full already."""
        about = wait.requirement or self._requirement_id
        if self._requirement_id and (
            test := self._timeouts.test_that_waited(self._requirement_id, about, wait.names)
        ):
            names = " or ".join(wait.names) or "a message"
            raise NotRepeated(f"not repeated: {names} did not come in full time; see {test}")

    async def _wait_until(
        self, found: Callable[[], bool], deadline: Callable[[], float], wait: Wait
    ) -> bool:
        """Wait until something was found, or can come no more, or the deadline has passed.

        The deadline is asked for again and again, because a busy machine moves it.
        """
        asked, idle = self.now, False
        with contextlib.ExitStack() as stack:
            while not found():
                if self._reading.why_ended:
                    raise Flooded(self._reading.why_ended, self.size)
                left = deadline() - self.now
                if self.ended or left <= 0 or (self.is_unreadable and wait.names != (CLOSED,)):
                    return False
                if not idle and self.now > asked + _IDLE and self.received:
                    idle = True
                    stack.enter_context(self._timeouts.count_as_idle())
                self._news.clear()
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(min(left, AGAIN)):
                        await self._news.wait()
            return True

    def _miss(self, wait: Wait) -> None:
        """Remember that messages did not come."""
        if wait.names:
            self.missed.append(wait.names)

    async def _write(self, data: bytes) -> None:
        """Write all of the data.

        Raises Violation if the IUT stops reading, and Inconclusive if the IUT reads on but takes
        longer than ``max_wait``. An IUT that still starts has time to start first.
        """
        seconds, limit = self.instance.configuration.seconds, self.instance.configuration.max_wait
        limit_to_read = seconds("response") * (1 + GRACE)
        limit_to_read += 0 if self.instance.has_spoken else seconds("startup")
        ceases, ends = self._timeouts.countdown(limit_to_read), countdown_from(limit)
        unread, ended, reads = math.inf, False, False

        def left() -> float:
            nonlocal ceases, unread, ended, reads
            pending = self._link.unread_bytes()
            reads |= pending < unread < math.inf
            if pending < unread or self.ended != ended:
                unread, ended = pending, self.ended
                # An IUT that has closed its side no longer shows what it reads.
                ceases = self._timeouts.countdown(seconds("quiet") if ended else limit_to_read)
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
            # In this task, so that the answers come after the write has returned.
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
                f"{len(data)} bytes were still not read after {min(limit_to_read, limit):g} s",
            ).shown_in(self) from None
        finally:
            looking.cancel()

    async def settle_process(self) -> None:
        """Give the process a moment to end if the stream has ended: how it ends says why."""
        if self.ended and self.instance.process:
            with contextlib.suppress(TimeoutError):
                await in_time(self.instance.process.wait(), self._timeouts.countdown(LAST_WORDS))

    # Waits

    async def operate(self, operation: str, **arguments: Any) -> Answer:
        """Run an operation of the upper tester; the transcript keeps it and its result.

        Raises Violation if the IUT crashes instead of an answer, and NotExercised if nothing
        provides the operation.
        """
        self.note(operation, self.peer, **({"arguments": arguments} if arguments else {}))
        self.operating.append(operation)
        answer = await self.instance.upper(operation, **arguments)
        self.operating.remove(operation)
        self.note(f"{operation} answered", self.role.name, **answer.details)
        return answer

    async def expect(
        self,
        *names: str,
        where: Callable[[Message], bool] = _any,
        within: Timeout | None = None,
        to: str = "",
        requirement: str | None = None,
        what: str = "",
        flow: str | None = None,
    ) -> Message:
        """The next message with one of these names (any, if none), passing over others.

        - ``to`` completes "expected NAME …" in the text of the verdict.
        - ``requirement`` is violated by its absence, if it is not the one that the test decides.
        - ``what`` names the awaited message if its name alone does not.
        - ``flow`` is the requirement that such messages keep coming by themselves: if they stop,
          that requirement is violated.
        - ``within`` are seconds, the name of a timing, or a rest of time. A busy machine adds to
          it. Without it, the IUT has the time to react in, and before that the time to start in.

        Raises Violation if the stream ends first or nothing comes in full time. Raises Late if the
        message comes in the grace period, and NotRepeated if a test of the same requirement has
        waited for it before.
        """
        expected = f"{' or '.join(names) or 'a message'} {to}".strip()
        certain = bool(what) or where is not _any
        wait = Wait((what,) if what else names, certain, requirement)
        start = self._cursor

        def found() -> bool:
            while self._cursor < len(self.received):
                message = self.received[self._cursor]
                self._cursor += 1
                if (not names or message.name in names) and where(message):
                    return True
            return False

        came = found()
        if not (came or self.ended or flow):
            self._raise_if_expired(wait)
        awaited = self._awaited(names, wait, within, flow)
        if came or await self._wait_until(found, lambda: self._deadline(awaited), wait):
            message = self.received[self._cursor - 1]
            self._raise_if_late(awaited, expected, message)
            return message
        await self.settle_process()
        raise self._absence(awaited, expected, start).shown_in(self)

    def _awaited(
        self, names: Names, wait: Wait, within: Timeout | None, flow: str | None
    ) -> _Awaited:
        """A message of these names that is awaited from now on."""
        configuration = self.instance.configuration
        alone = allowed = configuration.seconds("response")
        starting = not (self.received or self.instance.is_ready)
        if within is None and starting:
            allowed += configuration.seconds("startup")
            declared = self._timeout_of(self._timeouts.countdown(allowed))
        else:
            declared = self._timeout_of("response" if within is None else within)
        return _Awaited(
            names,
            wait,
            Wait((f"more of {', '.join(names)}",), True, flow) if flow else None,
            self.now,
            starting,
            within is None,
            alone,
            allowed,
            declared,
            declared(),
        )

    def _deadline(self, awaited: _Awaited) -> float:
        """The end of the wait, as of now."""
        enough = self._deadline_alone(awaited)
        if awaited.flow is None:
            return enough
        latest, ceased = self._flow_stopped(awaited.names, awaited.asked)
        # If the flow has stopped, the missing message is not to blame.
        silent = enough - latest > (ceased - latest) / 2
        return ceased if silent else min(enough, ceased)

    def _deadline_alone(self, awaited: _Awaited) -> float:
        """The end of the wait, whatever other messages come meanwhile."""
        whole = awaited.seconds = awaited.declared()
        grace = self._grace * min(whole, awaited.alone)
        # The time that a busy machine adds to a deadline tells a late answer as well.
        return awaited.asked + whole + max(grace - (whole - awaited.planned), 0.0)

    def _flow_stopped(self, names: Names, asked: float) -> tuple[float, float]:
        """When such messages came last, and when their flow has stopped if none comes by then."""
        came = next((each.at for each in reversed(self.received) if each.name in names), asked)
        latest = max(came, asked)
        return latest, latest + (1 + self._grace) * self.seconds("response")

    def _longest_pause(self, names: Names, since: float) -> float:
        """The longest time in seconds without any of these messages."""
        new = takewhile(lambda message: message.at > since, reversed(self.received))
        times = [message.at for message in new if message.name in names]
        return max((later - at for later, at in pairwise([*times, since])), default=0.0)

    def _raise_if_late(self, awaited: _Awaited, expected: str, message: Message) -> None:
        """Raise Late if a message took longer than declared."""
        took = message.at - awaited.asked
        if awaited.usual and took > (most := awaited.declared()):
            text = f"expected {expected} within {round(most, 2):g} s; it came after {took:.1f} s"
            raise Late(text, took).shown_in(self)

    def _absence(self, awaited: _Awaited, expected: str, start: int) -> Conclusion:
        """The conclusion from an absence; messages were received from ``start`` on."""
        over, missed, names = self.ended or self.is_unreadable, awaited.wait, awaited.names
        in_time = "" if over else f" within {round(awaited.seconds, 2):g} s"
        if awaited.flow and not over:
            gap = self._longest_pause(names, awaited.asked)
            if self.now >= self._flow_stopped(names, awaited.asked)[1]:
                missed = awaited.flow
            elif gap > self.seconds("response"):
                return Late(f"expected {expected}{in_time}; they come after {gap:.1f} s", gap)
        self._miss(missed)
        return self._missing_violation(names, f"{expected}{in_time}", start, missed.requirement)

    def _missing_violation(
        self, names: Names, expected: str, start: int, requirement: str | None
    ) -> Violation:
        """The violation that no such message came, or only the beginning of one."""
        left = [] if self.ended else self.judge.rest(self.role.name)
        came, event = self._messages_instead(start, left), None
        first = left[0] if left else None
        if first and first.requirement and _is_in_place_of(first, names):
            requirement, event = first.requirement, len(self.events)
            self._take(first)
        elif first and not first.requirement:
            requirement = self.protocol.schema_requirement
        return Violation(expected, came, requirement, event)

    def _messages_instead(self, start: int, left: Sequence[Frame]) -> str:
        """The messages that came instead, in words."""
        names = groupby(message.name for message in self.received[start:])
        runs = [(name, len(list(run))) for name, run in names]
        shown = [f"{name} ({count} times)" if count > 1 else name for name, count in runs]
        listed = ", ".join(shown[:8])
        listed += f" and {len(shown) - 8} more" if len(shown) > 8 else ""
        came = f"received {listed}, then" if shown else "received"
        if self.judge.spoiled:
            came += f" bytes that are not a message ({self._noise()!r}), then"
        if left:
            came += f" {left[0].raw[:60]!r}, {_unended_error(left[0])}, then"
        ending = "the end of the stream" if self.ended else "nothing"
        if self.is_unserved:
            ending += f" on connection {self.number} to this process"
        silent = not (self.size or self.ended or self._timeouts.started)
        slow = self.instance.slow_hint if silent else ""
        return f"{came} {ending}{self.instance.describe_end()}{slow}"

    def _noise(self) -> bytes:
        """The beginning of the first bytes that are not a message."""
        data = (event.data for event in self.iut_events if event.message is None)
        return next((some[:60] for some in data if some), b"")

    async def wait_for(
        self,
        *names: str,
        within: Timeout | None = None,
        requirement: str | None = None,
        what: str = "",
    ) -> Message | None:
        """The first message with one of these names (any, if none) within a window, or None.

        Without ``within`` the window is the declared ``quiet`` time, and None is the good answer.
        With it, ``requirement`` and ``what`` are as for `expect`.
        """
        wait = Wait((what,) if what else names, bool(what), requirement)
        seconds = self._timeout_of(self.seconds("quiet") if within is None else within)
        asked, index = self.now, self._cursor

        def found() -> bool:
            nonlocal index
            while index < len(self.received):
                index += 1
                if not names or self.received[index - 1].name in names:
                    return True
            return False

        if not await self._wait_until(found, lambda: asked + seconds(), wait):
            if within is not None:
                self._miss(wait)
            return None
        self._cursor = index
        return self.received[index - 1]

    def unread_messages(
        self, *names: str, where: Callable[[Message], bool] = _any
    ) -> list[Message]:
        """The received messages with one of these names that no wait has looked at yet."""
        coming = self.received[self._cursor :]
        return [message for message in coming if message.name in names and where(message)]

    def pass_over(self) -> None:
        """Pass over all messages that have come: the next wait is for a later one."""
        self._cursor = len(self.received)

    async def until_closed(self, within: Timeout | None = None) -> bool:
        """Wait for the IUT to close its side; False if the IUT has not done so in time."""
        seconds = self._timeout_of("response" if within is None else within)
        wait, asked = Wait((CLOSED,)), self.now
        if not await self._wait_until(lambda: self.ended, lambda: asked + seconds(), wait):
            self._miss(wait)
        return self.ended

    @contextlib.contextmanager
    def stop_reading(self) -> Iterator[None]:
        """Within the block, read no more of the IUT's stream than is under way."""
        self._link.is_attentive.clear()
        try:
            yield
        finally:
            self._link.is_attentive.set()

    async def is_refused(self, known: Callable[[], bool] = lambda: False) -> bool:
        """True if the IUT, still busy with another session, ends this one before any message.

        ``known`` can end the wait earlier.
        """
        if self.number > 1:
            until = self.now + self.seconds("quiet")
            await self._wait_until(lambda: self.ended or known(), lambda: until, Wait((CLOSED,)))
        return self.number > 1 and self.ended

    async def poll_until(
        self,
        look: Callable[[], Awaitable[bool]],
        what: str,
        within: Timeout,
        requirement: str | None = None,
    ) -> bool:
        """True if a state comes in time for which one has to look again and again.

        ``what``, ``within`` and ``requirement`` are as for `expect`.
        """
        pause, self.answered_without_showing, before = (
            _POLL_FIRST,
            False,
            self.instance.upper.answers,
        )
        if await look():
            return True
        self._raise_if_expired(Wait((what,), True, requirement))
        with contextlib.suppress(TimeoutError), self.deadline(what, within, requirement) as left:
            while not await look():
                if left() < 0:
                    raise TimeoutError
                await asyncio.sleep(pause)
                pause = min(2 * pause, _POLL)
            return True
        # An IUT that is sent pieces can have given up on the rest of a message.
        gone = self.ended or IN_PIECES in self.multi_read_sends
        self.answered_without_showing = not gone and self.instance.upper.answers >= before + _DENIED
        return False

    @contextlib.contextmanager
    def deadline(
        self, what: str, within: Timeout, requirement: str | None = None
    ) -> Iterator[Countdown]:
        """The rest of the time for a state that the block awaits by means of its own.

        A TimeoutError of the block means that the state did not come. ``what``, ``within`` and
        ``requirement`` are as for `expect`.
        """
        seconds, asked = self._timeout_of(within), self.now
        try:
            yield lambda: asked + seconds() - self.now
        except TimeoutError:
            self._miss(Wait((what,), True, requirement))
            raise

    async def assert_alive(self, after: str) -> None:
        """Raise Violation if the IUT has died, by a signal or an unhandled error."""
        await self.settle_process()
        if self.instance.process and self.instance.process.has_crashed:
            raise Violation(
                f"the {self.role.name} to survive {after}",
                f"it died{self.instance.describe_end()}",
            ).shown_in(self)

    async def break_off(self) -> None:
        """Reset the connection once all that was sent is read, as a killed peer would."""
        await self.wait_until_taken()
        await self.close(reset=True)

    @property
    def death(self) -> str:
        """How the IUT ended this session by mistake, once its instance was stopped, or empty.

        The process died, or it lost the connection by an error and goes on.
        """
        process = self.instance.process
        if process and process.death:
            return process.death
        if self.closed_by_iut and process and process.has_unhandled_error:
            return "closed the connection by an error that it did not handle"
        cut = (
            self.closed_by_iut
            and self._link.broken
            and not self.judge.has_said_goodbye(self.role.name)
        )
        return RESET if cut else ""


def _unended_error(frame: Frame) -> str:
    """The error of a frame that the end of the stream would complete."""
    if frame.error or not frame.requirement:
        return "whose end did not come"
    return "whole, but with nothing that ends it" if frame.name else "which begins no message"


def _is_in_place_of(unended: Frame, names: Names) -> bool:
    """True if an unended frame stands in the place of such messages."""
    return not names or unended.name in names if unended.name else not unended.error
