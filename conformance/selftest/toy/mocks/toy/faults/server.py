"""Faults in the answers of a server."""

from mocks.deviations import fault
from mocks.toy.server import Server


@fault("bytes-swapped", violates="pong.answers", subtle=True)
class BytesSwapped(Server):
    """Answers with swapped bytes of the number, which some numbers do not show."""

    def answer(self, number: int) -> None:
        super().answer(number >> 8 | (number & 0xFF) << 8)
