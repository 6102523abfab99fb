"""Faults of a client that connects again."""

from conformance.codec import Frame
from mocks.deltarobot.client import Client
from mocks.deviations import fault

_SOON = 0.05  # seconds until it connects again


class Returning(Client):
    """Connects again soon after its first connection; not a fault."""

    def pause(self, again: float | None) -> float | None:
        return _SOON if self.number == 1 else again


@fault("later-no-magic", violates="handshake.magic-sent", subtle=True)
class LaterNoMagic(Returning):
    """Sends no magic in its second connection."""

    def send_magic(self) -> None:
        if self.number == 1:
            super().send_magic()


@fault("later-pings-unanswered", violates="pong.each", subtle=True)
class LaterPingsUnanswered(Returning):
    """Answers no pings in its second connection."""

    def send_pong(self, number: int) -> None:
        if self.number == 1:
            super().send_pong(number)


@fault("later-server-trusted", violates="handshake.closes-different", subtle=True)
class LaterServerTrusted(Returning):
    """Skips whatever comes before the handshake in its second connection."""

    def unexpected(self, frame: Frame) -> None:
        if self.number == 1:
            super().unexpected(frame)
