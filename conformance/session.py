"""A session with the IUT as a test case uses it: waits, operations and violations."""

import asyncio
import contextlib
import math
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

from conformance.codec import Frame
from conformance.expectation import Expectation, Wait
from conformance.harness.deadlines import RECHECK_INTERVAL, Countdown, countdown_from, in_time
from conformance.harness.instance import Instance
from conformance.harness.links import Link
from conformance.harness.upper_tester import Answer
from conformance.running.timeouts import CLOSED, GRACE, Names, Timeouts
from conformance.segmentation import Segmentation
from conformance.verdicts import Flooded, Inconclusive, NotRepeated, Violation
from conformance.wire import IN_PIECES, Message, Wire

EXIT_TIME = 0.5  # seconds in which a process that has closed its stream can exit
_IDLE = 0.4  # seconds of waiting after which the test counts as idle: most reactions take less
_FIRST_POLL = 0.005  # seconds until the second check of a state; the pause doubles each time
_LONGEST_POLL = 0.02  # seconds between two checks of a state, at most
_MIN_ANSWERS = 10  # answers without the awaited state that show that the IUT had enough time
CLOSED_STREAM = "closed the stream"

Timeout = float | str | Countdown
"""Seconds, the name of a timing, or a countdown that several waits share."""


def _any(_: Message) -> bool:
    return True


class Session(Wire):
    """A connection to the IUT, and the waits of a test on it."""

    answered_without_showing = False
    """The IUT answered all operations of a wait, and the awaited state did not show."""
    _cursor = 0  # the first received message that no wait has looked at

    def __init__(
        self,
        instance: Instance,
        link: Link,
        segmentation: Segmentation | None = None,
        peer: str = "",
        facts: dict[str, Any] | None = None,
        timeouts: Timeouts | None = None,
        requirement_id: str = "",
    ) -> None:
        """Begin a session.

        - ``segmentation`` and ``peer``: see `Wire`.
        - ``facts``: facts about the IUT that tests of this run have found
        - ``timeouts``: the timeouts of the run
        - ``requirement_id``: the requirement that the test decides
        """
        super().__init__(instance, link, segmentation, peer, timeouts or Timeouts())
        self.facts = {} if facts is None else facts
        self.missed: list[Names] = []
        """The names of messages that did not come before the timeout or the end of the stream."""
        self.came_otherwise: set[Names] = set()
        """The missed messages of which others with the same names came during the wait."""
        self.operating: list[str] = []
        """The operations that the IUT has not answered."""
        self._requirement_id = requirement_id

    # Lengths of waits

    def seconds(self, timing: str) -> float:
        """A declared timing of the IUT's configuration; longer on a busy machine."""
        return self._timeouts.seconds(timing, self.instance.configuration.seconds(timing))

    def countdown(self, *within: float | str) -> Countdown:
        """Return a countdown of seconds and timings that begins now; several waits can share it."""
        return self._timeouts.countdown(self.instance.configuration.total(*within))

    @property
    def reaction_time(self) -> float:
        """The time in which an IUT reacts that can still be starting, in seconds."""
        declared = self.instance.configuration.seconds
        return declared("response") + declared("startup")

    def _timeout_of(self, within: Timeout) -> Callable[[], float]:
        """A function that returns the length of a wait that begins now, in seconds."""
        if isinstance(within, str):
            return self._timeouts.growing_timeout(self.instance.configuration.seconds(within))
        if callable(within):
            left, began = within, self.now
            return lambda: self.now - began + left()
        return lambda: within

    def _raise_if_timed_out_before(self, wait: Wait) -> None:
        """Raise NotRepeated if the same wait of another test of this requirement timed out."""
        about = wait.requirement or self._requirement_id
        if self._requirement_id and (
            test := self._timeouts.test_that_timed_out(self._requirement_id, about, wait.names)
        ):
            names = " or ".join(wait.names) or "a message"
            raise NotRepeated(f"not repeated: the wait for {names} timed out before; see {test}")

    async def _wait_until(
        self, found: Callable[[], bool], deadline: Callable[[], float], wait: Wait
    ) -> bool:
        """Wait until ``found`` or the deadline, which a busy machine moves; return whether found.

        Returns False early if no message can come any more. Raises Flooded.
        """
        began, idle = self.now, False
        with contextlib.ExitStack() as stack:
            while not found():
                if self._reading.why_ended:
                    raise Flooded(self._reading.why_ended, self.size)
                left = deadline() - self.now
                if self.ended or left <= 0 or (self.is_unreadable and wait.names != (CLOSED,)):
                    return False
                if not idle and self.now > began + _IDLE and self.received:
                    idle = True
                    stack.enter_context(self._timeouts.count_as_idle())
                self._news.clear()
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(min(left, RECHECK_INTERVAL)):
                        await self._news.wait()
            return True

    def miss(self, wait: Wait, *, came_otherwise: bool = False) -> None:
        """Record that messages did not come, or only others with the same names."""
        if wait.names:
            self.missed.append(wait.names)
        if came_otherwise:
            self.came_otherwise.add(wait.names)

    async def _write(self, data: bytes) -> None:
        """Write all of the data.

        Raises Violation if the IUT stops reading. Raises Inconclusive if the IUT continues to read
        but takes longer than ``max_wait``. The time to start counts if the IUT can be starting.
        """
        seconds, limit = self.instance.configuration.seconds, self.instance.configuration.max_wait
        read_timeout = seconds("response") * (1 + GRACE)
        read_timeout += 0 if self.instance.has_spoken else seconds("startup")
        next_read, end = self._timeouts.countdown(read_timeout), countdown_from(limit)
        unread, ended, has_read = math.inf, False, False

        def left() -> float:
            nonlocal next_read, unread, ended, has_read
            pending = self._link.unread_bytes()
            has_read |= pending < unread < math.inf
            if pending < unread or self.ended != ended:
                unread, ended = pending, self.ended
                # After the IUT has closed its side, nothing shows whether the IUT reads.
                next_read = self._timeouts.countdown(seconds("quiet") if ended else read_timeout)
            return min(next_read(), end())

        timer: asyncio.TimerHandle

        def check() -> None:
            nonlocal timer
            if left() > 0:
                timer = self._loop.call_later(RECHECK_INTERVAL, check)
            else:
                timeout.reschedule(self._loop.time())

        timer = self._loop.call_later(RECHECK_INTERVAL, check)
        try:
            # In this task, so that answers come after the write has returned.
            async with asyncio.timeout(None) as timeout:
                await super()._write(data)
        except TimeoutError:
            if ended:
                return
            if has_read and next_read() > 0:
                rest = f"{unread} of {len(data)} bytes were left after {limit:g} s"
                raise Inconclusive(
                    f"the IUT reads slowly: {rest}; --max-wait gives more time"
                ) from None
            raise Violation(
                "the IUT to read what is sent to it",
                f"{len(data)} bytes were still not read after {min(read_timeout, limit):g} s",
            ).shown_in(self) from None
        finally:
            timer.cancel()

    async def settle_process(self) -> None:
        """If the stream has ended, wait `EXIT_TIME` for the exit, which can be the reason."""
        if self.ended and self.instance.process:
            with contextlib.suppress(TimeoutError):
                await in_time(self.instance.process.wait(), self._timeouts.countdown(EXIT_TIME))

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
        """The next message with one of these names; other messages are skipped.

        Without names, any message counts.

        - ``where``: a further condition for the message
        - ``to`` completes "expected NAME …" in the text of the verdict.
        - ``requirement``: the requirement that is violated if no message comes. The default is the
          requirement that the test decides.
        - ``what``: a description of the message, if the name alone is not enough
        - ``flow``: the requirement that such messages keep coming. It is violated if they stop.
        - ``within``: seconds, the name of a timing, or a countdown; a busy machine extends it. The
          default is the time of a response, plus the time to start if the IUT can be starting.

        Raises Violation if the stream ends first, or if the wait times out. Raises Late if the
        message comes in the grace period. Raises NotRepeated if the same wait of another test of
        the same requirement timed out.
        """
        expected = f"{' or '.join(names) or 'a message'} {to}".strip()
        certain = bool(what) or where is not _any
        wait = Wait((what,) if what else names, certain, requirement)
        late = within is None
        if within is None and not (self.received or self.instance.is_ready):
            within = self._timeouts.countdown(self.reaction_time)
        length = self._timeout_of("response" if within is None else within)
        awaited = Expectation(
            self, expected, names, wait, length, self._cursor, flow=flow, can_be_late=late
        )

        def find() -> bool:
            while self._cursor < len(self.received):
                message = self.received[self._cursor]
                self._cursor += 1
                if (not names or message.name in names) and where(message):
                    return True
            return False

        came = find()
        if not (came or self.ended or flow):
            self._raise_if_timed_out_before(wait)
        if came or await self._wait_until(find, lambda: awaited.deadline, wait):
            message = self.received[self._cursor - 1]
            awaited.check_in_time(message)
            return message
        await self.settle_process()
        raise awaited.absence()

    @property
    def is_first_silence(self) -> bool:
        """True if nothing has come in this session, and no message in the run."""
        return not (self.size or self.ended or self._timeouts.started)

    def take_unended(self) -> Frame | None:
        """Return the message that has begun and has no end, if there is one.

        The session decodes no further bytes of the IUT.
        """
        left = [] if self.ended else self.judge.take_rest(self.role.name)
        return left[0] if left else None

    def record_unended(self, frame: Frame) -> int:
        """Record the result of `take_unended` as an event; return its index."""
        self._take(frame)
        return len(self.events) - 1

    async def wait_for(
        self,
        *names: str,
        within: Timeout | None = None,
        requirement: str | None = None,
        what: str = "",
    ) -> Message | None:
        """The first message with one of these names in a time window, or None.

        Without names, any message counts. Without ``within`` the window is the declared ``quiet``
        time, in which no message should come. With ``within``, ``requirement`` and ``what`` are as
        for `expect`.
        """
        wait = Wait((what,) if what else names, bool(what), requirement)
        seconds = self._timeout_of(self.seconds("quiet") if within is None else within)
        began, index = self.now, self._cursor

        def find() -> bool:
            nonlocal index
            while index < len(self.received):
                index += 1
                if not names or self.received[index - 1].name in names:
                    return True
            return False

        if not await self._wait_until(find, lambda: began + seconds(), wait):
            if within is not None:
                self.miss(wait)
            return None
        self._cursor = index
        return self.received[index - 1]

    async def drain(self, within: Timeout = "quiet") -> None:
        """Wait for the whole time, so that messages in transit are received."""
        began, seconds = self.now, self._timeout_of(within)
        await self._wait_until(lambda: False, lambda: began + seconds(), Wait(()))

    def unread_messages(
        self, *names: str, where: Callable[[Message], bool] = _any
    ) -> list[Message]:
        """The received messages with one of these names that no wait has looked at yet."""
        unread = self.received[self._cursor :]
        return [message for message in unread if message.name in names and where(message)]

    def pass_over(self) -> None:
        """Skip all received messages, so that the next wait is for a later message."""
        self._cursor = len(self.received)

    async def until_closed(self, within: Timeout | None = None) -> bool:
        """Wait for the IUT to close its side; return whether this happened in time."""
        seconds = self._timeout_of("response" if within is None else within)
        wait, began = Wait((CLOSED,)), self.now
        if not await self._wait_until(lambda: self.ended, lambda: began + seconds(), wait):
            self.miss(wait)
        return self.ended

    @contextlib.contextmanager
    def stop_reading(self) -> Iterator[None]:
        """Within the block, read no further bytes from the IUT."""
        self._link.is_attentive.clear()
        try:
            yield
        finally:
            self._link.is_attentive.set()

    async def is_refused(self, known: Callable[[], bool] = lambda: False) -> bool:
        """True if the IUT closes this connection because it is busy with an earlier session.

        The wait ends early if ``known`` returns True.
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
        """Poll until ``look`` returns True; return False after the timeout.

        ``what``, ``within`` and ``requirement`` are as for `expect`.
        """
        self.answered_without_showing = False
        pause, before = _FIRST_POLL, self.instance.upper.answers
        if await look():
            return True
        self._raise_if_timed_out_before(Wait((what,), True, requirement))
        with contextlib.suppress(TimeoutError), self.deadline(what, within, requirement) as left:
            while not await look():
                if left() < 0:
                    raise TimeoutError
                await asyncio.sleep(pause)
                pause = min(2 * pause, _LONGEST_POLL)
            return True
        # If a message was sent in pieces, the IUT can be waiting for the rest of it.
        can_have_read = not self.ended and IN_PIECES not in self.multi_read_sends
        enough = self.instance.upper.answers >= before + _MIN_ANSWERS
        self.answered_without_showing = can_have_read and enough
        return False

    @contextlib.contextmanager
    def deadline(
        self, what: str, within: Timeout, requirement: str | None = None
    ) -> Iterator[Countdown]:
        """A countdown for a state that the block awaits in its own way.

        A TimeoutError of the block means that the state did not come. ``what``, ``within`` and
        ``requirement`` are as for `expect`.
        """
        seconds, began = self._timeout_of(within), self.now
        try:
            yield lambda: began + seconds() - self.now
        except TimeoutError:
            self.miss(Wait((what,), True, requirement))
            raise

    def is_end(self, event: int | None) -> bool:
        """True if the event of this index is the end of a stream."""
        shown = [] if event is None else self.events[event : event + 1]
        return any(each.event == "closed" for each in shown)

    def _is_cut_by_end(self, event: int | None) -> bool:
        """True if the event of this index is the beginning of a message that the end cut off."""
        if event is None or not self.is_end(event + 1):
            return False
        data, end = self.events[event : event + 2]
        return data.message is None and data.sender == end.sender

    def excuse_end(self) -> None:
        """Withdraw the judge's findings about the end, because its reason is known or lawful."""
        self.judge.found = [
            finding
            for finding in self.judge.found
            if not (self.is_end(finding.event) or self._is_cut_by_end(finding.event))
        ]

    async def assert_alive(self, after: str) -> None:
        """Raise Violation if the IUT has crashed, by a signal or an unhandled error.

        A process that exchanges datagrams has no stream to close, so each exit counts.
        """
        await self.settle_process()
        process = self.instance.process
        if process and (process.exit if self._link.datagrams else process.has_crashed):
            raise Violation(
                f"the {self.role.name} to survive {after}",
                self.instance.describe_end().removeprefix("; "),
            ).shown_in(self)

    async def break_off(self) -> None:
        """Reset the connection after the IUT has read everything, like a killed peer."""
        await self.wait_until_taken()
        await self.close(reset=True)

    @property
    def crash(self) -> str:
        """Description of an end by mistake, known after the instance has stopped, or empty.

        The process crashed, or it lost the connection by an error and continues. A process that
        exchanges datagrams has no stream to close, so each exit that nobody asked for counts.
        """
        process = self.instance.process
        if process and self._link.datagrams:
            return process.early_exit
        if process and process.crash:
            return process.crash
        if self.closed_by_iut and process and process.has_unhandled_error:
            return "closed the connection because of an unhandled error"
        return ""
