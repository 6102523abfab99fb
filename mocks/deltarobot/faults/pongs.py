"""Faults of the client in its pongs, and in its other messages."""

import secrets
from typing import Any

from conformance.deltarobot.codec import encode, message
from mocks.deltarobot.client import Client
from mocks.deltarobot.faults import frames
from mocks.deltarobot.faults.building import Tiring, die
from mocks.deviations import fault


@fault("no-pongs", violates="pong.each")
class NoPongs(Client):
    """Answers no ping."""

    def ping(self, value: Any) -> None:
        pass


@fault("last-ping-of-a-read", violates="frame.segmentation", subtle=True)
class LastPingOfARead(Client):
    """Answers only the last of several pings that arrive together."""

    latest: int | None = None

    def receive(self, data: bytes) -> None:
        super().receive(data)
        if self.latest is not None and not self.ended:
            self.send_pong(self.latest)
        self.latest = None

    def ping(self, value: Any) -> None:
        self.latest = value["number"]


@fault("hundred-pongs", violates="pong.each", subtle=True)
class HundredPongs(Client):
    """Answers only the first hundred pings of a connection."""

    answered = 0

    def ping(self, value: Any) -> None:
        self.answered += 1
        if self.answered <= 100:
            super().ping(value)


@fault("tenth-ping-lost", violates="pong.each", subtle=True)
class TenthPingLost(Client):
    """Answers nine of ten pings."""

    asked = 0

    def ping(self, value: Any) -> None:
        self.asked += 1
        if self.asked % 10:
            super().ping(value)


@fault("pongs-as-text", violates="pong.number", subtle=True)
class PongsAsText(Client):
    """Sends the bytes of a pong as letters in UTF-8."""

    def send_pong(self, number: int) -> None:
        self.write(encode(message("Pong", number=number)).decode("latin-1").encode())


@fault("tires", violates="pong.each", subtle=True)
class Tires(Tiring, Client):
    """Stops answering after 1.5 times its patience for a handshake, if only pings arrive."""

    PINGS = "Ping"

    def ping(self, value: Any) -> None:
        if not self.tired:
            super().ping(value)


@fault("each-number-once", violates="pong.each", subtle=True)
class EachNumberOnce(Client):
    """Does not answer a ping whose number it has answered before."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.answered: set[int] = set()

    def send_pong(self, number: int) -> None:
        if number not in self.answered:
            super().send_pong(number)
        self.answered.add(number)


@fault("no-pong-to-zero", violates="pong.each", subtle=True)
class NoPongToZero(Client):
    """Ignores a ping with the number 0."""

    def send_pong(self, number: int) -> None:
        if number:
            super().send_pong(number)


@fault("two-pongs", violates="pong.each", subtle=True)
class TwoPongs(Client):
    """Sends two pongs to every third ping."""

    count = 0

    def ping(self, value: Any) -> None:
        super().ping(value)
        self.count += 1
        if self.count % 3 == 0:
            super().ping(value)


@fault("no-pongs-during-exercise", violates="pong.each", subtle=True)
class NoPongsDuringExercise(Client):
    """Answers no pings after it has received a curve and a position."""

    def ping(self, value: Any) -> None:
        if self.view.curve is None or self.view.position is None:
            super().ping(value)


@fault("own-numbers", violates="pong.number")
class OwnNumbers(Client):
    """Puts its own random numbers into its pongs."""

    def send_pong(self, number: int) -> None:
        super().send_pong(secrets.randbits(64))


@fault("numbers-of-32-bits", violates="pong.number", subtle=True)
class NumbersOf32Bits(Client):
    """Keeps only the lower 32 bits of the number."""

    def send_pong(self, number: int) -> None:
        super().send_pong(number % 2**32)


@fault("numbers-of-53-bits", violates="pong.number", subtle=True)
class NumbersOf53Bits(Client):
    """Keeps the number in a double, as JavaScript does."""

    def send_pong(self, number: int) -> None:
        super().send_pong(min(int(float(number)), 2**64 - 1))


@fault("numbers-of-63-bits", violates="pong.number", subtle=True)
class NumbersOf63Bits(Client):
    """Loses the highest bit, which is the sign of a signed number."""

    def send_pong(self, number: int) -> None:
        super().send_pong(number % 2**63)


@fault("numbers-saturate", violates="pong.number", subtle=True)
class NumbersSaturate(Client):
    """Limits numbers to the largest signed number."""

    def send_pong(self, number: int) -> None:
        super().send_pong(min(number, 2**63 - 1))


@fault("big-endian-pongs", violates="pong.number", subtle=True)
class BigEndianPongs(Client):
    """Reads numbers in little-endian and writes them in big-endian."""

    def send_pong(self, number: int) -> None:
        super().send_pong(int.from_bytes(number.to_bytes(8, "little"), "big"))


@fault("pongs-of-32-bits", violates="frame.fixed-lengths", subtle=True)
class PongsOf32Bits(Client):
    """Sends four bytes of number under an identifier that announces eight."""

    def send_pong(self, number: int) -> None:
        self.write(b"\x05\x30" + (number % 2**32).to_bytes(4, "little"))


@fault("slow-pongs", violates="pong.prompt")
class SlowPongs(Client):
    """Needs 1.15 s for a pong."""

    def send_pong(self, number: int) -> None:
        self.call_later(1.15, lambda: Client.send_pong(self, number))


@fault("pings-back", violates="messages.own-direction")
class PingsBack(Client):
    """Sends a ping after the handshake."""

    def welcome(self) -> None:
        super().welcome()
        self.send(message("Ping", number=1))


@fault("echoes-curves", violates="messages.own-direction", subtle=True)
class EchoesCurves(Client):
    """Sends a curve back, as if to acknowledge it."""

    def curve(self, value: Any) -> None:
        super().curve(value)
        self.send(message("Curve", points=[]))


@fault("big-endian-lengths-read", violates="frame.byte-order", subtle=True)
class BigEndianLengthsRead(Client):
    """Sends its version correctly, but reads lengths in big-endian."""

    Reader = frames.BigEndianLengths.Reader


@fault("dies-of-pongs", violates="robustness.foreign-messages", subtle=True)
class DiesOfPongs(Client):
    """Crashes on a pong from the server with the largest number."""

    def skip(self, frame: Any) -> None:
        if frame.name == "Pong" and frame.value["number"] == 2**64 - 1:
            die()


@fault("storms", violates="end.no-storm")
class Storms(Client):
    """Connects again at once, whatever the reason of the end."""

    def pause(self, again: float | None) -> float | None:
        return 0.001
