"""Variants of the end of a session."""

from typing import Any

from conformance.deltarobot.codec import encode, message
from mocks.deltarobot.client import Client
from mocks.deltarobot.server import Server
from mocks.deltarobot.session import END, Session
from mocks.deviations import variant


@variant("leaves-without-a-word", of="end.announced")
class LeavesWithoutAWord(Session):
    """Closes the connection without an end of transmission."""

    def announce_end(self, reason: str) -> None:
        pass


@variant("no-reason", of="end.reason-optional")
class NoReason(Session):
    """Gives no reason in its end of transmission."""

    def announce_end(self, reason: str) -> None:
        super().announce_end("")


@variant("end-cut-by-a-reset", of="end.announced")
class EndCutByAReset(Session):
    """Resets the connection at its end, which cuts its last message."""

    def announce_end(self, reason: str) -> None:
        self.write(encode(message(END, reason=reason))[:-1])

    def close(self, why: str = "") -> None:
        if not self.ended:
            self.stream.reset()
        super().close(why)


@variant("reason-of-c", of="end.reason-ascii")
class ReasonOfC(Session):
    """Includes the terminating NUL of a C string in its reason."""

    def announce_end(self, reason: str) -> None:
        super().announce_end(f"{reason}\0")


@variant("leaves-the-close-to-the-peer", of="end.closes")
class LeavesTheCloseToThePeer(Session):
    """Leaves the connection open after its end of transmission, until the peer closes it."""

    quiet = False

    def end(self, reason: str) -> None:
        if self.shaken and not self.quiet:
            self.announce_end(reason)
            self.quiet = True
        elif not self.quiet:
            super().end(reason)

    def write(self, data: bytes) -> None:
        if not self.quiet:
            super().write(data)


@variant("says-more-after-the-end", of="end.nothing-after")
class SaysMoreAfterTheEnd(Session):
    """Sends a second end of transmission with a further reason."""

    def announce_end(self, reason: str) -> None:
        super().announce_end(reason)
        self.send(message(END, reason="that is all"))


@variant("waits-for-the-close", of="end.received")
class WaitsForTheClose(Session):
    """Waits for the peer's close after the peer's end of transmission, and sends nothing more."""

    quiet = False

    def peer_ends(self, value: Any) -> None:
        self.quiet = True

    def write(self, data: bytes) -> None:
        if not self.quiet:
            super().write(data)


@variant("serves-until-the-close", of="end.heeded")
class ServesUntilTheClose(Session):
    """Goes on as before after the peer's end of transmission, until the peer closes."""

    def peer_ends(self, value: Any) -> None:
        pass


@variant("ends-after-three-pings", of="end.announced")
class EndsAfterThreePings(Client):
    """Ends each session in an orderly way after it has answered three pings."""

    answered = 0

    def send_pong(self, number: int) -> None:
        super().send_pong(number)
        self.answered += 1
        if self.answered == 3:
            self.end("the patient has seen enough")


@variant("ends-after-a-while", of="end.announced")
class EndsAfterAWhile(Server):
    """Ends each session in an orderly way soon after its beginning."""

    def welcome(self) -> None:
        super().welcome()
        self.call_later(0.7, lambda: self.end("the exercise is over"))
