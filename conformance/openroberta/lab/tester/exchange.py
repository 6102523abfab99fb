"""A request that a lab holds, as a test case waits for its answer."""

from collections.abc import Awaitable, Callable

from conformance.openroberta.naming import is_error, refuses
from conformance.session import Session
from conformance.verdicts import Conclusion, Inconclusive, Violation
from conformance.waiting import Within
from conformance.wire import Message

# What "approximately" five minutes and "roughly" ten seconds may come to, of the declared times.
EARLIEST = {"register_hold": 0.8, "push_hold": 0.5}
LATEST = {"register_hold": 1.2, "push_hold": 1.5}

_ENDS = {"Register": "register.aborted", "Push": "push.answered"}
"""What is violated by a request whose time ends without an answer."""
_ENDING = {"Register": ("Abort", "register_hold"), "Push": ("Repeat", "push_hold")}
"""What answers a request whose time is over, and which time that is."""

TRIES = 3  # of what only its time tells


async def refusal(session: Session) -> str:
    """How the last request is refused at once, in words; empty where it is not."""
    message = await session.watch(within=session.seconds("quiet"))
    if message is None:
        return "the connection was closed" if session.ended else ""
    refused = is_error(message.name, message.value)
    return f"an error of status {message.value['status']} came" if refused else ""


class Exchange:
    """A request that waits for its answer on a connection."""

    def __init__(self, session: Session, name: str) -> None:
        self.session = session
        self.name = name
        self.asked = session.now

    async def answer(
        self, *names: str, within: Within = "response", requirement: str | None = None
    ) -> Message:
        """Its answer. Raises Violation where none comes, or another than one of these."""
        what = f"the answer to {self.name}"
        message = await self.session.expect(
            within=within, to=f"as {what}", requirement=requirement, what=what
        )
        if names and message.name not in names:
            raise self.wrong(" or ".join(names), message, requirement)
        return message

    async def unless_closed(self, requirement: str | None = None) -> Message | None:
        """Its answer; None where the lab closes the connection instead, which is a refusal too.

        Raises Violation where nothing comes, or the lab itself has ended.
        """
        try:
            return await self.answer(requirement=requirement)
        except Violation:
            process = self.session.instance.process
            if self.session.ended and not (process and process.exit):
                return None
            raise

    async def refused(self, requirement: str | None = None) -> None:
        """Raise Violation unless an error is its answer: any, abort at once, or the end.

        Raises Inconclusive where abort comes when a registration's time may be over.
        """
        message = await self.unless_closed(requirement)
        if message is None:
            return
        # Also what is no registration may have been taken for one.
        if self._over(message, "Register"):
            raise self.wrong("an error", message, requirement)
        if not refuses(message.name, message.value):
            raise self.violation("an error", message, requirement)

    async def taken(self) -> None:
        """Raise Violation where it is answered at once, by an error or anything else."""
        message = await self.session.watch(within=self.session.seconds("quiet"))
        if message is not None:
            raise self.wrong("no answer for a while", message, self._unasked(message))

    async def held(self, expected: str) -> None:
        """Raise Violation where what is expected is refused; or else another, if it is answered."""
        before = len(self.session.received)
        refused = await refusal(self.session)
        if refused:
            raise self.failed(expected, refused)
        for message in self.session.received[before:]:
            raise self.wrong("no answer for a while", message, self._unasked(message))

    async def silent(self, seconds: float) -> None:
        """Raise Violation where it is answered within that many seconds after it was sent."""
        left = seconds - (self.session.now - self.asked)
        message = await self.session.watch(within=max(left, 0))
        if message is not None:
            expected = f"no answer within {seconds:.2f} s"
            raise self.wrong(expected, message, self._unasked(message))

    def _unasked(self, message: Message) -> str | None:
        """What this answer violates, whatever a test decides, as nothing had been entered."""
        linked = self.name == "Register" and message.name == "Repeat"
        return "register.not-unasked" if linked else None

    async def between(
        self,
        name: str,
        earliest: float,
        latest: float,
        requirement: str | None = None,
        early: str | None = None,
    ) -> float:
        """Seconds until its answer, which has this name. Raises Violation where it is out of time.

        What is late, but not too late, decides nothing; that is for the test to say. That none
        comes violates the ``requirement``, by default the one that says how its time ends; so does
        another answer, by default of what the test decides, as what comes ``early`` does.
        """
        left = latest - (self.session.now - self.asked)
        what, about = f"the answer to {self.name}", requirement or _ENDS.get(self.name)
        message = await self.session.watch(within=max(left, 0), requirement=about, what=what)
        if message is None:
            came = "the connection was closed" if self.session.ended else "nothing came"
            raise self.failed(f"{name} as {what}", f"{came} within {latest:.1f} s", about)
        took = message.at - self.asked
        if message.name != name or took < earliest:
            other = requirement if message.name != name else early
            raise self.wrong(f"{name}, after {earliest:.2f} s or later,", message, other)
        return took

    def wrong(self, expected: str, message: Message, requirement: str | None = None) -> Conclusion:
        """The violation that this answer is, unless the time of the request was just over."""
        if self._over(message, self.name):
            took, (_, timing) = message.at - self.asked, _ENDING[self.name]
            return Inconclusive(
                f"expected {expected}; the time of {self.name} was over after {took:.2f} s, "
                f"before this could be seen: a longer {timing} would show it"
            )
        return self.violation(expected, message, requirement)

    def _over(self, message: Message, name: str) -> bool:
        """Whether this answer may have come as the time of a request of that name was over."""
        answer, timing = _ENDING.get(name, ("", ""))
        return message.name == answer and (
            message.at - self.asked >= self.session.seconds(timing) * EARLIEST[timing]
        )

    def violation(self, expected: str, message: Message, requirement: str | None) -> Violation:
        """That this answer came instead of what was expected."""
        status = message.value.get("status", 200)
        came = message.name if status == 200 else f"{message.name} of status {status}"
        text = f"{expected} as the answer to {self.name}"
        took = message.at - self.asked
        return self.failed(text, f"{came} came after {took:.2f} s", requirement, message.event)

    def failed(
        self, expected: str, came: str, requirement: str | None = None, event: int | None = None
    ) -> Violation:
        """The violation that something came instead of what was expected, shown by its session."""
        return Violation(expected, came, requirement, event).shown_in(self.session)


async def refused(ask: Callable[[], Awaitable[Exchange]]) -> None:
    """Raise Violation unless what is asked gets an error, even if only at the second or third try.

    A registration that is held until its time is over each time is no error.
    """
    for tries_left in reversed(range(TRIES)):
        exchange = await ask()
        try:
            await exchange.refused()
            return
        except Inconclusive:
            if not tries_left:
                raise exchange.violation("an error", exchange.session.received[-1], None) from None
