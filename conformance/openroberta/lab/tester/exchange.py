"""A request that a lab holds, as a test case waits for its answer."""

from conformance.session import Message, Session
from conformance.verdicts import Conclusion, Inconclusive, Violation

# What "approximately" five minutes and "roughly" ten seconds may come to, of the declared times.
EARLIEST = {"register_hold": 0.8, "push_hold": 0.5}
LATEST = {"register_hold": 1.2, "push_hold": 1.5}


class Exchange:
    """A request that waits for its answer on a connection."""

    def __init__(self, session: Session, name: str) -> None:
        self.session = session
        self.name = name
        self.asked = session.now

    async def answer(
        self, *names: str, within: float | None = None, requirement: str | None = None
    ) -> Message:
        """Its answer. Raises Violation where none comes, or another than one of these."""
        seconds = self.session.seconds("response") if within is None else within
        message = await self.session.expect(
            within=seconds, to=f"as the answer to {self.name}", requirement=requirement
        )
        if names and message.name not in names:
            raise self.wrong(" or ".join(names), message, requirement)
        return message

    async def refused(self, requirement: str | None = None) -> Message:
        """The error that is its answer. Raises Violation where another comes, or none."""
        message = await self.answer(requirement=requirement)
        if message.name != "Refusal":
            raise self.violation("an error", message, requirement)
        return message

    async def taken(self) -> None:
        """Raise Violation where it is answered at once, by an error or anything else."""
        message = await self.session.watch(within=self.session.seconds("quiet"))
        if message is not None:
            raise self.wrong("no answer for a while", message)

    async def silent(self, seconds: float) -> None:
        """Raise Violation where it is answered within so many seconds after it was sent."""
        left = seconds - (self.session.now - self.asked)
        message = await self.session.watch(within=max(left, 0))
        if message is not None:
            raise self.wrong(f"no answer within {seconds:.2f} s", message)

    async def between(self, name: str, earliest: float, latest: float) -> float:
        """Seconds until its answer, which has this name. Raises Violation where it is out of time.

        What is late, but not too late, decides nothing; that is for the test to say.
        """
        left = latest - (self.session.now - self.asked)
        message = await self.session.watch(within=max(left, 0))
        if message is None:
            what = "the connection was closed" if self.session.ended else "nothing came"
            expected = f"{name} as the answer to {self.name}"
            raise self._violation(expected, f"{what} within {latest:.1f} s")
        took = message.at - self.asked
        if message.name != name or took < earliest:
            raise self.wrong(f"{name}, after {earliest:.2f} s or later,", message)
        return took

    def wrong(self, expected: str, message: Message, requirement: str | None = None) -> Conclusion:
        """The violation that this answer is, unless the registration's time was just over."""
        took = message.at - self.asked
        over = self.session.seconds("register_hold") * EARLIEST["register_hold"]
        if self.name == "Register" and message.name == "Abort" and took >= over:
            return Inconclusive(
                f"expected {expected}; the registration's time was over after {took:.2f} s, "
                "before this could be seen: a longer register_hold would show it"
            )
        return self.violation(expected, message, requirement)

    def violation(self, expected: str, message: Message, requirement: str | None) -> Violation:
        """That this answer came instead of what was expected."""
        status = message.value.get("status", 200)
        came = message.name if status == 200 else f"{message.name} of status {status}"
        text = f"{expected} as the answer to {self.name}"
        took = message.at - self.asked
        return self._violation(text, f"{came} came after {took:.2f} s", requirement, message.event)

    def _violation(
        self, expected: str, came: str, requirement: str | None = None, event: int | None = None
    ) -> Violation:
        violation = Violation(expected, came, requirement, event)
        violation.session = self.session
        return violation
