"""Faults with unknown types, the null type, and known types of other sizes."""

import struct

from conformance.codec import Frame
from conformance.deltarobot.codec import UNKNOWN, frame
from mocks.deltarobot.client import Client
from mocks.deltarobot.faults.building import AfterThird
from mocks.deltarobot.session import Session
from mocks.deviations import fault


def _is_null(frame: Frame) -> bool:
    return bool(frame.value["identifier"].endswith("000"))


@fault("closes-upon-variable", violates="messages.unknown-skipped", subtle=True)
class ClosesUponVariable(Session):
    """Closes the connection after an unknown message of variable length."""

    def skip(self, frame: Frame) -> None:
        if frame.value["identifier"].startswith("0xf") and not _is_null(frame):
            self.end(f"{frame.value['identifier']} is unknown")


@fault("closes-upon-highest", violates="messages.unknown-skipped", subtle=True)
class ClosesUponHighest(Session):
    """Closes the connection after a message of the type 0xFFF."""

    def skip(self, frame: Frame) -> None:
        if frame.value["identifier"].endswith("fff"):
            self.end("a type out of range")


@fault("skips-five-hundred", violates="messages.unknown-skipped", subtle=True)
class SkipsFiveHundred(Session):
    """Closes the connection after it has skipped 500 messages."""

    skipped = 0

    def skip(self, frame: Frame) -> None:
        self.skipped += 1
        if self.skipped > 500:
            self.end("too many unknown messages")


@fault("ends-by-type-alone", violates="messages.whole-identifier")
class EndsByTypeAlone(Session):
    """Takes a message of the type 0x006 and any size for an end of transmission."""

    def skip(self, frame: Frame) -> None:
        if frame.name == UNKNOWN and frame.value["identifier"].endswith("006"):
            self.close()


@fault("large-ends", violates="messages.whole-identifier", subtle=True)
class LargeEnds(Session):
    """Takes a message 0x4006 for an end of transmission."""

    def skip(self, frame: Frame) -> None:
        if frame.name == UNKNOWN and frame.value["identifier"] == "0x4006":
            self.close()


@fault("sends-null", violates="messages.null-not-sent")
class SendsNull(AfterThird):
    """Sends one message of the null type."""

    def after_third(self) -> None:
        self.write(frame(0x0000, b"\0"))


@fault("sends-unknown", violates="messages.defined-only")
class SendsUnknown(AfterThird):
    """Sends one message of a type that version 1 does not define."""

    def after_third(self) -> None:
        self.write(frame(0x200A, b"\0\0\0\1"))


@fault("closes-upon-empty-null", violates="messages.null-skipped", subtle=True)
class ClosesUponEmptyNull(Session):
    """Closes the connection after a null message without contents."""

    def skip(self, frame: Frame) -> None:
        if frame.name == UNKNOWN and _is_null(frame) and not frame.value["data"]:
            self.end("an invalid null message")


@fault("ends-by-low-byte", violates="messages.type-identifier", subtle=True)
class EndsByLowByte(Session):
    """Takes any message with an identifier 0xF?06 for an end of transmission."""

    def skip(self, frame: Frame) -> None:
        if frame.name == UNKNOWN and int(frame.value["identifier"], 16) & 0xF0FF == 0xF006:
            self.close()


class Guessing(Client):
    """Identifies a message by only a part of its identifier; not a fault."""

    part: int

    def skip(self, frame: Frame) -> None:
        super().skip(frame)
        if frame.name != UNKNOWN:
            return
        contents = bytes.fromhex(frame.value["data"])
        kind = int(frame.value["identifier"], 16) & self.part
        if kind == 0x3004 & self.part and len(contents) >= 8:
            self.guessed_ping(int.from_bytes(contents[:8], "little"))
        if kind == 0x4003 & self.part and len(contents) >= 12:
            self.guessed_position(list(struct.unpack("<3f", contents[:12])))

    def guessed_ping(self, number: int) -> None:
        pass

    def guessed_position(self, position: list[float]) -> None:
        pass


@fault("pongs-by-low-byte", violates="messages.type-identifier", subtle=True)
class PongsByLowByte(Guessing):
    """Answers any message with an identifier 0x3?04."""

    part = 0xF0FF

    def guessed_ping(self, number: int) -> None:
        self.send_pong(number)


@fault("position-by-low-byte", violates="messages.type-identifier", subtle=True)
class PositionByLowByte(Guessing):
    """Takes any message with an identifier 0x4?03 for a position."""

    part = 0xF0FF

    def guessed_position(self, position: list[float]) -> None:
        self.view.position = position


@fault("pongs-by-type-alone", violates="messages.whole-identifier", subtle=True)
class PongsByTypeAlone(Guessing):
    """Answers any message of the type 0x004 that is long enough."""

    part = 0x0FFF

    def guessed_ping(self, number: int) -> None:
        self.send_pong(number)


@fault("position-by-type-alone", violates="messages.whole-identifier", subtle=True)
class PositionByTypeAlone(Guessing):
    """Takes any message of the type 0x003 that is long enough for a position."""

    part = 0x0FFF

    def guessed_position(self, position: list[float]) -> None:
        self.view.position = position
