"""Faults with unknown types, the null type, and known types of other sizes."""

import struct

from conformance.codec import Frame
from conformance.deltarobot.codec import UNKNOWN, frame
from mocks.deltarobot.client import Client
from mocks.deltarobot.faults.building import named
from mocks.deltarobot.session import Session
from mocks.deviations import Fault, Subtle, Table, fault
from mocks.steps import When, after, call, nth, then, write

NULL = When(lambda _, frame: frame.value["identifier"].endswith("000"))
EMPTY = When(lambda _, frame: not frame.value["data"])
ASCII = When(lambda _, frame: bytes.fromhex(frame.value["data"]).isascii())


def identified(start: str = "", end: str = "") -> When:
    """If the identifier of a skipped message, such as 0xf006, begins and ends like this."""

    def holds(_: Session, frame: Frame) -> bool:
        identifier = frame.value["identifier"]
        return bool(identifier.startswith(start) and identifier.endswith(end))

    return When(holds)


def stop_reading(peer: Session, _: Frame) -> None:
    """Read nothing more, like a program whose reading thread has ended; continue to send."""
    peer.receive = lambda data: None  # type: ignore[method-assign]


FAULTS = Table(Session)

FAULTS["messages.unknown-skipped"] = {
    "closes-upon-variable": Subtle(
        "Closes the connection after an unknown message of variable length.",
        then(
            "skip",
            lambda peer, frame: peer.end(f"{frame.value['identifier']} is unknown"),
            identified("0xf") & ~NULL,
        ),
    ),
    "closes-upon-highest": Subtle(
        "Closes the connection after a message of the type 0xFFF.",
        then("skip", call("end", "a type out of range"), identified(end="fff")),
    ),
    "unknown-bytes-deafen": Subtle(
        "Reads nothing after an unknown message of variable length that contains no ASCII text.",
        then("skip", stop_reading, identified("0xf") & ~NULL & ~ASCII),
    ),
    "skips-five-hundred": Subtle(
        "Closes the connection after it has skipped 500 messages.",
        then("skip", call("end", "too many unknown messages"), after(500)),
    ),
}

FAULTS["messages.whole-identifier"] = {
    "ends-by-type-alone": Fault(
        "Takes a message of the type 0x006 and any size for an end of transmission.",
        then("skip", "close", named(UNKNOWN) & identified(end="006")),
    ),
    "large-ends": Subtle(
        "Takes a message 0x4006 for an end of transmission.",
        then("skip", "close", named(UNKNOWN) & identified("0x4006")),
    ),
}

FAULTS["messages.null-not-sent"] = {
    "sends-null": Fault(
        "Sends one message of the null type.", then("send", write(frame(0x0000, b"\0")), nth(3))
    ),
}

FAULTS["messages.defined-only"] = {
    "sends-unknown": Fault(
        "Sends one message of a type that version 1 does not define.",
        then("send", write(frame(0x200A, b"\0\0\0\1")), nth(3)),
    ),
}

FAULTS["messages.null-skipped"] = {
    "closes-upon-empty-null": Subtle(
        "Closes the connection after a null message without contents.",
        then("skip", call("end", "an invalid null message"), named(UNKNOWN) & NULL & EMPTY),
    ),
}

FAULTS["messages.type-identifier"] = {
    "ends-by-low-byte": Subtle(
        "Takes any message with an identifier 0xF?06 for an end of transmission.",
        then("skip", "close", named(UNKNOWN) & identified("0xf", "06")),
    ),
}


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
