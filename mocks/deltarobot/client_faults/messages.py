"""Faults of the client with messages of no meaning."""

import struct

from conformance.codec import Frame
from conformance.deltarobot.codec import UNKNOWN
from mocks.deltarobot.both_faults.messages import *  # noqa: F403  both roles have the same
from mocks.deltarobot.client import Client
from mocks.deviations import fault


class Guessing(Client):
    """Takes a message for what a part of its identifier says; not a fault."""

    part: int

    def skip(self, frame: Frame) -> None:
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


@fault("pongs-by-low-byte", violates="messages.unknown-skipped", subtle=True)
class PongsByLowByte(Guessing):
    """Answers any message whose identifier is 0x3?04."""

    part = 0xF0FF

    def guessed_ping(self, number: int) -> None:
        self.send_pong(number)


@fault("position-by-low-byte", violates="messages.unknown-skipped", subtle=True)
class PositionByLowByte(Guessing):
    """Takes any message for a position whose identifier is 0x4?03."""

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
    """Takes any message of the type 0x003 for a position that is long enough."""

    part = 0x0FFF

    def guessed_position(self, position: list[float]) -> None:
        self.view.position = position
