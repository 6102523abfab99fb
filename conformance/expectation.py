"""An expected message: how long a session waits for it, and what its absence means."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise, takewhile
from typing import TYPE_CHECKING

from conformance.codec import Frame
from conformance.running.timeouts import GRACE, Names
from conformance.verdicts import Conclusion, Late, Violation
from conformance.wire import Message

if TYPE_CHECKING:
    from conformance.session import Session

_MAX_RUNS = 8  # messages, or runs of equal messages, that a text lists


@dataclass(frozen=True)
class Wait:
    """The messages that a test waits for.

    Any message of these names ends the wait. If ``certain``, the test waits for one of several
    such messages. ``requirement`` is violated if none comes. None means the requirement that the
    test decides.
    """

    names: Names
    certain: bool = False
    requirement: str | None = None


class Expectation:
    """A wait for a message that has to come. Times are in seconds since the session began."""

    def __init__(
        self,
        session: "Session",
        text: str,
        names: Names,
        wait: Wait,
        length: Callable[[], float],
        first: int,
        *,
        flow: str | None = None,
        can_be_late: bool = False,
    ) -> None:
        """Begin to wait.

        - ``text``: what is expected, for a reader
        - ``names``: the names of the messages; without names, any message counts
        - ``length``: returns the length of the wait without the grace period, at the moment
        - ``first``: the index of the first received message that can end the wait
        - ``flow``: the requirement that such messages keep coming, if there is one
        - ``can_be_late``: a message in the grace period is too late
        """
        self._session = session
        self._text = text
        self._names = names
        self._wait = wait
        self._flow = Wait((f"more of {', '.join(names)}",), True, flow) if flow else None
        self._length = length
        self._can_be_late = can_be_late
        self._began = session.now
        self._first = first
        self._response = session.instance.configuration.seconds("response")
        self._planned = self._seconds = length()

    @property
    def deadline(self) -> float:
        """The end of the wait, at the moment."""
        whole = self._seconds = self._length()
        grace = self._grace * min(whole, self._response)
        # The time that a busy machine adds to a wait serves as a grace period, too.
        deadline = self._began + whole + max(grace - (whole - self._planned), 0.0)
        if self._flow is None:
            return deadline
        latest, stopped = self._flow_times()
        # If the flow has stopped, its requirement is to blame, not the awaited message.
        silent = deadline - latest > (stopped - latest) / 2
        return stopped if silent else min(deadline, stopped)

    @property
    def _grace(self) -> float:
        """The grace period in declared times; 0 in a spoiled session, which decides nothing."""
        return 0.0 if self._session.judge.spoiled else GRACE

    def _flow_times(self) -> tuple[float, float]:
        """The time of the latest such message, and the time when their flow counts as stopped."""
        received, since = self._session.received, self._began
        came = next((each.at for each in reversed(received) if each.name in self._names), since)
        latest = max(came, since)
        return latest, latest + (1 + self._grace) * self._session.seconds("response")

    def _longest_pause(self) -> float:
        """The longest time without any of these messages, in seconds."""
        new = takewhile(lambda each: each.at > self._began, reversed(self._session.received))
        times = [message.at for message in new if message.name in self._names]
        return max((later - at for later, at in pairwise([*times, self._began])), default=0.0)

    def check_in_time(self, message: Message) -> None:
        """Raise Late if the awaited message took longer than declared."""
        took = message.at - self._began
        if self._can_be_late and took > (most := self._length()):
            text = f"expected {self._text} within {round(most, 2):g} s; it came after {took:.1f} s"
            raise Late(text, took).shown_in(self._session)

    def absence(self) -> Conclusion:
        """The conclusion if no such message came; the session records it as missed."""
        session, missed = self._session, self._wait
        over = session.ended or session.is_unreadable
        in_time = "" if over else f" within {round(self._seconds, 2):g} s"
        if self._flow and not over:
            pause = self._longest_pause()
            if session.now >= self._flow_times()[1]:
                missed = self._flow
            elif pause > session.seconds("response"):
                text = f"expected {self._text}{in_time}; they come after {pause:.1f} s"
                return Late(text, pause).shown_in(session)
        others = any(each.name in self._names for each in session.received[self._first :])
        session.miss(missed, came_otherwise=others and not over and missed is self._wait)
        return self._violation(f"{self._text}{in_time}", missed.requirement).shown_in(session)

    def _violation(self, expected: str, requirement: str | None) -> Violation:
        """The violation that no such message came, or only its beginning."""
        session, event = self._session, None
        begun = session.take_unended()
        came = _text_instead(session, session.received[self._first :], begun)
        if begun and begun.requirement and _can_be_one_of(begun, self._names):
            requirement, event = begun.requirement, session.record_unended(begun)
        elif begun and not begun.requirement:
            requirement = session.protocol.schema_requirement
        return Violation(expected, came, requirement, event)


def unfinished_message(session: "Session", expected: str) -> Violation | None:
    """Return the violation that only the beginning of a message came; None if none began.

    Call this after the last wait: the session decodes no further bytes of the IUT.
    """
    begun = session.take_unended()
    if begun is None:
        return None
    requirement = begun.requirement or session.protocol.schema_requirement
    came = f"received {_unended_text(begun)}, then nothing"
    return Violation(expected, came, requirement).shown_in(session)


def _text_instead(session: "Session", messages: Sequence[Message], begun: Frame | None) -> str:
    """Describe in words the messages that came instead."""
    runs = [(name, len(list(run))) for name, run in groupby(message.name for message in messages)]
    shown = [f"{name} ({count} times)" if count > 1 else name for name, count in runs]
    listed = ", ".join(shown[:_MAX_RUNS])
    listed += f" and {len(shown) - _MAX_RUNS} more" if len(shown) > _MAX_RUNS else ""
    came = f"received {listed}, then" if shown else "received"
    if session.judge.spoiled:
        data = (event.data for event in session.iut_events if event.message is None)
        noise = next((some[:60] for some in data if some), b"")
        came += f" bytes that are not a message ({noise!r}), then"
    if begun:
        came += f" {_unended_text(begun)}, then"
    ending = "the end of the stream" if session.ended else "nothing"
    if session.is_unserved:
        ending += f" on connection {session.number} to this process"
    slow = session.instance.slow_hint if session.is_first_silence else ""
    return f"{came} {ending}{session.instance.describe_end()}{slow}"


def _unended_text(frame: Frame) -> str:
    """The last bytes, which the end of the stream would complete, and their error."""
    error = "complete, but without its terminator" if frame.name else "which begins no message"
    if frame.error or not frame.requirement:
        error = "whose end did not come"
    return f"{frame.raw[:60]!r}, {error}"


def _can_be_one_of(unended: Frame, names: Names) -> bool:
    """True if an unended frame can be one of the awaited messages."""
    return not names or unended.name in names if unended.name else not unended.error
