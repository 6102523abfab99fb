"""A session with the IUT as a test case sees it: awaits messages, operates, says what is wrong."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from typing import Any

from conformance.harness.deadlines import Left
from conformance.harness.upper import Answer
from conformance.running.patience import CLOSED, LESS_LATE, Names
from conformance.verdicts import Conclusion, Late, Violation
from conformance.waiting import Wait, Waiting, Within
from conformance.wire import IN_PIECES, Message

_POLL = 0.02  # seconds between two looks at what shows; at first
_SOON = 0.005
_DENIED = 10  # answers without what is awaited: who had time for them had time to show it
RESET = "reset the connection"


def _any(_: Message) -> bool:
    return True


@dataclass
class _Awaited:
    """A message that is expected: which, since when and for how long.

    ``flow`` is that such messages keep coming, where something rests on that. ``alone`` are the
    seconds to react in, ``allowed`` with those to start in before, where it is ``starting``;
    ``usual``: these are meant. ``declared`` tells the seconds that it may take, ``planned`` of them
    at first; ``seconds`` it was really awaited. ``lags`` are those after which such messages come
    too late again and again, else 0.
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
    lags: float
    seconds: float = 0.0


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
        expected = f"{' or '.join(names) or 'a message'} {to}".strip()
        certain = bool(what) or where is not _any
        wait = Wait((what,) if what else names, certain, requirement)
        awaited = self._awaited(names, wait, within, flow)
        start = self._cursor

        def found() -> bool:
            while self._cursor < len(self.received):
                message = self.received[self._cursor]
                self._cursor += 1
                if (not names or message.name in names) and where(message):
                    return True
            return False

        if await self._until(found, lambda: self._deadline(awaited), wait):
            message = self.received[self._cursor - 1]
            self._arrived(awaited, expected, message)
            return message
        await self.settled()
        raise self._absent(awaited, expected, start)

    def _awaited(
        self, names: Names, wait: Wait, within: Within | None, flow: str | None
    ) -> _Awaited:
        """A message of these names that is awaited from now on, as of ``expect``."""
        configuration = self.instance.configuration
        alone = allowed = configuration.seconds("response")
        starting = not (self.received or self.instance.spoke)
        if within is None and starting:
            startup = configuration.seconds("startup")
            allowed += startup
            declared = self._lasting(alone + self._patience.startup(names, startup))
        else:
            declared = self._lasting("response" if within is None else within)
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
            self._patience.lags(names) if within is None else 0.0,
        )

    def _deadline(self, awaited: _Awaited) -> float:
        """Until when it is awaited, as it seems now."""
        enough = self._enough(awaited)
        if awaited.flow is None:
            return enough
        latest, ceased = self._ceased(awaited.flow, awaited.names, awaited.asked)
        # What has not come by then is not to be blamed where it is the flow that has ceased.
        silent = enough - latest > (ceased - latest) / 2
        return ceased if silent else min(enough, ceased)

    def _enough(self, awaited: _Awaited) -> float:
        """The same, whatever else comes meanwhile."""
        whole = awaited.declared()
        if awaited.lags:
            awaited.seconds = min(whole, awaited.allowed)
            return awaited.asked + awaited.seconds
        awaited.seconds = self._brief(awaited.wait, whole)
        if awaited.seconds < whole:
            return awaited.asked + awaited.seconds
        # What was waited for in vain a moment ago is hardly late.
        late = min(LESS_LATE, self._late) if awaited.wait.names in self.missed else self._late
        grace = late * min(awaited.seconds, awaited.alone)
        # What a busy machine adds to a deadline tells a late one as well.
        return awaited.asked + awaited.seconds + max(grace - (whole - awaited.planned), 0.0)

    def _arrived(self, awaited: _Awaited, expected: str, message: Message) -> None:
        """Tell the run how long a message has taken. Raises Late where that was too long."""
        took = message.at - awaited.asked
        if not awaited.starting:
            self._patience.reacted(awaited.wait.names, took)
        if awaited.flow:
            gap = self._gap(awaited.names, awaited.asked)
            self._patience.reacted(awaited.flow.names, gap)
        if not awaited.usual:
            return
        if took > awaited.alone:
            self._slow = message.event
        if took > awaited.alone or self._reacts(message):
            self._patience.answered(awaited.names, took, awaited.alone, awaited.allowed)
        if took > (most := awaited.declared()):
            raise Late(
                f"expected {expected} within {round(most, 2):g} s; it came after {took:.1f} s", took
            )

    def _absent(self, awaited: _Awaited, expected: str, start: int) -> Conclusion:
        """What it means that nothing has come, of what was received from ``start`` on."""
        over, missed, names = self._ended or self.lost, awaited.wait, awaited.names
        in_time = "" if over else f" within {round(awaited.seconds, 2):g} s"
        if awaited.lags and not over:
            text = f"expected {expected}{in_time}; the last ones came after {awaited.lags:.1f} s"
            return Late(text, awaited.lags)
        if awaited.flow and not over:
            gap = self._gap(names, awaited.asked)
            if self.now >= self._ceased(awaited.flow, names, awaited.asked)[1]:
                missed = awaited.flow
            elif gap > self.seconds("response"):
                return Late(f"expected {expected}{in_time}; they come after {gap:.1f} s", gap)
        self._miss(missed)
        return self._lacking(names, f"{expected}{in_time}", start, missed.requirement)

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

    def ahead(self, *names: str, where: Callable[[Message], bool] = _any) -> list[Message]:
        """The messages with one of these names that have come and nothing has looked at yet."""
        coming = self.received[self._cursor :]
        return [message for message in coming if message.name in names and where(message)]

    async def until_closed(self, within: Within | None = None) -> bool:
        """Wait for the IUT to close its side; False where it has not done so in time."""
        seconds = self._lasting("response" if within is None else within)
        wait, asked = Wait((CLOSED,)), self.now
        await self._until(lambda: self._ended, lambda: asked + self._brief(wait, seconds()), wait)
        self._miss(wait)
        return self._ended

    @contextlib.contextmanager
    def inattentive(self) -> Iterator[None]:
        """Within the block no more is read of its stream than is under way."""
        self._link.attentive.clear()
        try:
            yield
        finally:
            self._link.attentive.set()

    async def turned_away(self, known: Callable[[], bool] = lambda: False) -> bool:
        """Whether the IUT ends it before anything is said, as one may that is still busy.

        What comes may make that ``known`` sooner.
        """
        if self.number > 1:
            until = self.now + self.seconds("quiet")
            await self._until(lambda: self._ended or known(), lambda: until, Wait((CLOSED,)))
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

    async def break_off(self) -> None:
        """Reset the connection once what was sent is read, as if we were killed.

        Whether the IUT survives that, what follows shows.
        """
        await self.taken()
        await self.close(reset=True)

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
        cut = self.deserted and self._link.broken and not self.judge.parted(self.role.name)
        return RESET if cut else ""
