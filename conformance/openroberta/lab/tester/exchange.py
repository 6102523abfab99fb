"""A request to a lab, with the means to wait for its answer."""

from collections.abc import Awaitable, Callable

from conformance.openroberta import message_names
from conformance.openroberta.message_names import is_error, is_refusal
from conformance.session import Session, Timeout
from conformance.verdicts import Conclusion, Flooded, Inconclusive, Violation
from conformance.wire import Message

# Tolerances for "approximately" 5 minutes and "roughly" 10 seconds, as fractions of the declared
# times.
EARLIEST = {"register_hold": 0.8, "push_hold": 0.5}
LATEST = {"register_hold": 1.2, "push_hold": 1.5}

_ENDS = {"Register": "register.aborted", "Push": "push.answered"}
"""Requirement that is violated if the hold time of this request ends without an answer."""
_HOLD_ENDS = {"Register": ("Abort", "register_hold"), "Push": ("Repeat", "push_hold")}
"""By request: the answer at the end of the hold time, and its timing."""

TRIES = 3  # requests whose answers only the time distinguishes


async def find_refusal(session: Session) -> str:
    """Return a text if the last request is refused immediately; otherwise an empty string."""
    message = await session.wait_for(within=session.seconds("quiet"))
    if message is None:
        return "the connection was closed" if session.ended else ""
    refused = is_error(message.name, message.value)
    return f"received an error with status {message.value['status']}" if refused else ""


class Exchange:
    """A request that waits for its answer on a connection."""

    def __init__(self, session: Session, name: str) -> None:
        self.session = session
        self.name = name
        self.asked = session.now

    async def answer(
        self, *names: str, within: Timeout = "response", requirement: str | None = None
    ) -> Message:
        """Return the answer. Raises Violation if none comes or the name is not one of these."""
        what = f"the answer to {self.name}"
        message = await self.session.expect(
            within=within, to=f"as {what}", requirement=requirement, what=what
        )
        if names and message.name not in names:
            raise self.wrong(" or ".join(names), message, requirement)
        return message

    async def unless_closed(self, requirement: str | None = None) -> Message | None:
        """Return the answer; None if the lab closes the connection, which is a refusal, too.

        Raises Violation if nothing comes or the lab has exited.
        """
        try:
            return await self.answer(requirement=requirement)
        except Violation:
            process = self.session.instance.process
            if self.session.ended and not (process and process.exit):
                return None
            raise

    async def check_refused(self, requirement: str | None = None) -> None:
        """Raise Violation unless the request is refused: by an error, an abort, or a disconnect.

        Raises Inconclusive if abort comes when the hold time of a registration can be over.
        """
        message = await self.unless_closed(requirement)
        if message is None:
            return
        # The lab may have taken a malformed request for a registration.
        if self._can_end_hold(message, "Register"):
            raise self.wrong("an error", message, requirement)
        if not is_refusal(message.name, message.value):
            raise self.violation("an error", message, requirement)

    async def assert_unanswered(self) -> None:
        """Raise Violation if the request is answered immediately, even with an error."""
        message = await self.session.wait_for(within=self.session.seconds("quiet"))
        if message is not None:
            raise self.wrong("no immediate answer", message, self._early_requirement(message))

    async def assert_held(self, expected: str) -> None:
        """Raise Violation if the request is refused or answered immediately.

        `expected` is the text for a refusal.
        """
        before = len(self.session.received)
        refusal = await find_refusal(self.session)
        if refusal:
            raise self.failed(expected, refusal)
        for message in self.session.received[before:]:
            raise self.wrong("no immediate answer", message, self._early_requirement(message))

    async def assert_silent(self, seconds: float) -> None:
        """Raise Violation if the request is answered within these seconds after it was sent.

        Raises Inconclusive if repeat answers a push, because a lab can have one timer for all
        pushes.
        """
        left = seconds - (self.session.now - self.asked)
        message = await self.session.wait_for(within=max(left, 0))
        if message is not None:
            expected = f"no answer within {seconds:.2f} s"
            if (self.name, message.name) == ("Push", "Repeat"):
                raise Inconclusive(str(self.violation(expected, message, None)))
            raise self.wrong(expected, message, self._early_requirement(message))

    async def check_idle(self) -> None:
        """Raise Violation if this push receives a command although the user has done nothing."""
        within = self.session.seconds("quiet")
        message = await self.session.wait_for(*message_names.CALLS, within=within)
        if message is not None:
            expected = "no command without an action of the user"
            raise self.violation(expected, message, "push.answered")

    def _early_requirement(self, message: Message) -> str | None:
        """Return the requirement that a repeat without an entered token violates, or None."""
        linked = self.name == "Register" and message.name == "Repeat"
        return "register.not-unasked" if linked else None

    async def time_until(
        self,
        name: str,
        earliest: float,
        latest: float,
        requirement: str | None = None,
        early: str | None = None,
    ) -> float:
        """Return the seconds until the answer.

        Raises Violation if it is early, missing or another one.

        - `earliest`, `latest`: seconds after the request; a caller judges answers that are late but
          before `latest`
        - `requirement`: violated by a missing or another answer
        - `early`: violated by an answer before `earliest`

        Without `requirement`, a missing or another answer violates the requirement about the end of
        the hold. An answer with another command violates commands.lab.
        """
        left = latest - (self.session.now - self.asked)
        what, about = f"the answer to {self.name}", requirement or _ENDS.get(self.name)
        message = await self.session.wait_for(within=max(left, 0), requirement=about, what=what)
        if message is None:
            came = "the connection was closed" if self.session.ended else "received nothing"
            raise self.failed(f"{name} as {what}", f"{came} within {latest:.1f} s", about)
        took = message.at - self.asked
        if message.name != name or took < earliest:
            other = requirement or ("commands.lab" if has_unknown_command(message) else about)
            other = early if message.name == name else other
            raise self.wrong(f"{name}, after {earliest:.2f} s or later,", message, other)
        return took

    def wrong(self, expected: str, message: Message, requirement: str | None = None) -> Conclusion:
        """Return the conclusion for this wrong answer.

        The conclusion is Inconclusive if the hold time of the request was just over.
        """
        if self._can_end_hold(message, self.name):
            took, (_, timing) = message.at - self.asked, _HOLD_ENDS[self.name]
            return Inconclusive(
                f"expected {expected}; the hold of {self.name} ended after {took:.2f} s, "
                f"before this was visible; a longer {timing} would show it"
            )
        return self.violation(expected, message, requirement)

    def _can_end_hold(self, message: Message, name: str) -> bool:
        """True if this answer can be the end of the hold of such a request."""
        answer, _ = _HOLD_ENDS.get(name, ("", ""))
        return message.name == answer and self.was_held(message, name)

    def was_held(self, message: Message, name: str) -> bool:
        """True if such a request was held before this answer."""
        _, timing = _HOLD_ENDS[name]
        return message.at - self.asked >= self.session.seconds(timing) * EARLIEST[timing]

    def violation(self, expected: str, message: Message, requirement: str | None) -> Violation:
        """Return the violation that this answer was received instead."""
        status = message.value.get("status", 200)
        came = message.name if status == 200 else f"{message.name} with status {status}"
        text = f"{expected} as the answer to {self.name}"
        took = message.at - self.asked
        return self.failed(text, f"received {came} after {took:.2f} s", requirement, message.event)

    def failed(
        self, expected: str, came: str, requirement: str | None = None, event: int | None = None
    ) -> Violation:
        """Return a violation that refers to the session of this request."""
        return Violation(expected, came, requirement, event).shown_in(self.session)


def has_unknown_command(message: Message) -> bool:
    """Return True if this answer has a command that the protocol does not define."""
    return message.name == message_names.RESPONSE and "cmd" in message.value.get("json", {})


async def assert_refused(ask: Callable[[], Awaitable[Exchange]]) -> None:
    """Raise Violation unless the request gets an error in one of three tries.

    A registration that is held until its time is over in each try is no error.
    """
    for tries_left in reversed(range(TRIES)):
        exchange = await ask()
        try:
            await exchange.check_refused()
            return
        except Flooded:
            raise
        except Inconclusive:
            if not tries_left:
                raise exchange.violation("an error", exchange.session.received[-1], None) from None
