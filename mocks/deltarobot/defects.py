"""Defects that either mock can have; the faults of both roles are made of them.

Each overrides one or two methods of a session, and goes before the mock's class among the bases.
"""

import asyncio
import os
import signal
from typing import Any

from conformance.codec import Frame
from conformance.deltarobot.codec import UNKNOWN, Decoder, encode, frame, message
from mocks.deltarobot import misreading
from mocks.deltarobot.session import END, HANDSHAKE, MAGIC, VERSION, Session
from mocks.streams import Stream


def die() -> None:
    """End as a program does that has a grave error."""
    os.kill(os.getpid(), signal.SIGKILL)


def kind(value: Any) -> int:
    return int(value["identifier"], 16)


# What is sent


class BigEndianIdentifiers(Session):
    def send(self, value: Any) -> None:
        data = encode(value)
        self.write(data[1::-1] + data[2:])


class SwappedIdentifiers(Session):
    def send(self, value: Any) -> None:
        identifier = kind(value)
        swapped = (identifier & 0xFFF) << 4 | identifier >> 12
        self.write(swapped.to_bytes(2, "little") + encode(value)[2:])


class BigEndianVersion(Session):
    def send_version(self) -> None:
        self.send(message(VERSION, version=1 << 24))


class VersionOf16Bits(Session):
    def send_version(self) -> None:
        self.write(encode(HANDSHAKE[VERSION])[:4])


class BigEndianReason(Session):
    def announce_end(self, reason: str) -> None:
        data = reason.encode()
        self.write(b"\x06\xf0" + len(data).to_bytes(4, "big") + data)


class ReasonCountsItsLength(Session):
    def announce_end(self, reason: str) -> None:
        data = reason.encode()
        self.write(b"\x06\xf0" + (len(data) + 4).to_bytes(4, "little") + data)


class HalfAnEnd(Session):
    def announce_end(self, reason: str) -> None:
        self.write(encode(message(END, reason=reason))[:-1])


class Counting(Session):
    """Counts the messages that it sends; `sent_one` is called after each."""

    sent = 0

    def send(self, value: Any) -> None:
        super().send(value)
        self.sent += 1
        self.sent_one(self.sent)

    def sent_one(self, count: int) -> None:
        raise NotImplementedError


class UndefinedSize(Counting):
    def sent_one(self, count: int) -> None:
        if count == 3:
            self.write(frame_of(0x5001))


class SendsNull(Counting):
    def sent_one(self, count: int) -> None:
        if count == 3:
            self.write(frame(0x0000, b"\0"))


class SendsUnknown(Counting):
    def sent_one(self, count: int) -> None:
        if count == 3:
            self.write(frame(0x200A, b"\0\0\0\1"))


def frame_of(identifier: int) -> bytes:
    return identifier.to_bytes(2, "little") + bytes(8)


# The handshake, as it is sent


class NoMagic(Session):
    def send_magic(self) -> None:
        pass


class NoVersion(Session):
    def send_version(self) -> None:
        pass


class VersionAfterThePeer(Session):
    """Deadlocks with a peer of its own kind."""

    def greet(self) -> None:
        self.send_magic()

    def handshake(self, frame: Frame) -> None:
        if len(self.missing) == 2:
            self.send_version()
        super().handshake(frame)


class GreetsLater(Session):
    def greet(self) -> None:
        pass

    def handshake(self, frame: Frame) -> None:
        if len(self.missing) == 2:
            super().greet()
        super().handshake(frame)


class ReversedMagic(Session):
    def send_magic(self) -> None:
        self.send(message(MAGIC, magic="rVRatleD"))


class MagicInOtherCase(Session):
    def send_magic(self) -> None:
        self.send(message(MAGIC, magic="DeltaRVR"))


class VersionTwo(Session):
    def send_version(self) -> None:
        self.send(message(VERSION, version=2))


class VersionZeroPadded(Session):
    """Text where a number belongs."""

    def send_version(self) -> None:
        self.write(frame(0x2002, b"1\0\0\0"))


class EmptyEndFirst(Session):
    def greet(self) -> None:
        self.write(frame(0xF006, b""))
        super().greet()


class UnknownFirst(Session):
    def greet(self) -> None:
        self.send_magic()
        self.write(frame(0x1FFF, b"\0\0"))
        self.send_version()


class GreetsAgain(Session):
    def handshake(self, frame: Frame) -> None:
        super().handshake(frame)
        if self.shaken:
            self.greet()


class VersionAgain(Counting):
    def sent_one(self, count: int) -> None:
        if count == 3:
            self.send_version()


# The handshake, as it is received


class MagicFirstOnly(Session):
    def handshake(self, frame: Frame) -> None:
        if frame.name == VERSION and MAGIC in self.missing:
            self.refuse("the version came before the magic")
        else:
            super().handshake(frame)


class SkipsBeforeHandshake(Session):
    def unexpected(self, frame: Frame) -> None:
        pass


class SkipsUnknownBeforeHandshake(Session):
    def unexpected(self, frame: Frame) -> None:
        if frame.name != UNKNOWN:
            super().unexpected(frame)


class SkipsBetween(Session):
    def unexpected(self, frame: Frame) -> None:
        if len(self.missing) == 2:
            super().unexpected(frame)


class EndlessPatience(Session):
    def out_of_patience(self) -> None:
        pass


class ContentWithLittle(Session):
    """Drops only those that say nothing at all."""

    heard = False

    def receive(self, data: bytes) -> None:
        self.heard = True
        super().receive(data)

    def out_of_patience(self) -> None:
        if not self.heard:
            super().out_of_patience()


class ContentWithMagic(Session):
    def out_of_patience(self) -> None:
        if MAGIC in self.missing:
            super().out_of_patience()


class AnyMagic(Session):
    def acceptable(self, name: str, value: Any) -> bool:
        return name == MAGIC or super().acceptable(name, value)


class MagicOfAnyCase(Session):
    def acceptable(self, name: str, value: Any) -> bool:
        if name == MAGIC:
            return bool(value["magic"].lower() == "deltarvr")
        return super().acceptable(name, value)


class SevenOfTheMagic(Session):
    def acceptable(self, name: str, value: Any) -> bool:
        if name == MAGIC:
            return bool(value["magic"][:7] == "DeltaRV")
        return super().acceptable(name, value)


class AnyVersion(Session):
    def acceptable(self, name: str, value: Any) -> bool:
        return name == VERSION or super().acceptable(name, value)


class NewerVersions(Session):
    def acceptable(self, name: str, value: Any) -> bool:
        if name == VERSION:
            return bool(value["version"] >= 1)
        return super().acceptable(name, value)


class VersionOfEitherOrder(Session):
    def acceptable(self, name: str, value: Any) -> bool:
        if name == VERSION:
            return value["version"] in (1, 1 << 24)
        return super().acceptable(name, value)


class Impatient(Session):
    def opened(self) -> None:
        self.patience /= 4
        super().opened()


class ImpatientBetween(Session):
    def handshake(self, frame: Frame) -> None:
        super().handshake(frame)
        if not self.shaken:
            self.later(self.patience / 4, self.out_of_patience)


# The stream, as it is read


class EightBitsAreNone(Session):
    def make_decoder(self) -> Decoder:
        return misreading.EightBitsAreNone()


class SixteenBitsAreOneByte(Session):
    def make_decoder(self) -> Decoder:
        return misreading.SixteenBitsAreOneByte()


class UnknownVectorsAreThree(Session):
    def make_decoder(self) -> Decoder:
        return misreading.UnknownVectorsAreThree()


class BigEndianLengths(Session):
    def make_decoder(self) -> Decoder:
        return misreading.BigEndianLengths()


class ShortLengths(Session):
    def make_decoder(self) -> Decoder:
        return misreading.ShortLengths()


class LengthsWithThemselves(Session):
    def make_decoder(self) -> Decoder:
        return misreading.LengthsWithThemselves()


class NothingIsNotYet(Session):
    def make_decoder(self) -> Decoder:
        return misreading.NothingIsNotYet()


class OneMessageARead(Session):
    def make_decoder(self) -> Decoder:
        return misreading.OneMessageARead()


class FirstOfARead(Session):
    def make_decoder(self) -> Decoder:
        return misreading.FirstOfARead()


class LosesHalfIdentifiers(Session):
    def make_decoder(self) -> Decoder:
        return misreading.LosesHalfIdentifiers()


class LosesHalfLengths(Session):
    def make_decoder(self) -> Decoder:
        return misreading.LosesHalfLengths()


class LosesHalfContents(Session):
    def make_decoder(self) -> Decoder:
        return misreading.LosesHalfContents()


# Messages of no meaning


class ClosesUponUnknown(Session):
    def skip(self, frame: Frame) -> None:
        if frame.name == UNKNOWN and not _is_null(frame):
            self.end(f"{frame.value['identifier']} is unknown")


class ClosesUponVariable(Session):
    def skip(self, frame: Frame) -> None:
        if frame.value["identifier"].startswith("0xf") and not _is_null(frame):
            self.end(f"{frame.value['identifier']} is unknown")


class ClosesUponHighest(Session):
    def skip(self, frame: Frame) -> None:
        if frame.value["identifier"].endswith("fff"):
            self.end("a type out of range")


class SkipsFiveHundred(Session):
    skipped = 0

    def skip(self, frame: Frame) -> None:
        self.skipped += 1
        if self.skipped > 500:
            self.end("too many unknown messages")


def _is_null(frame: Frame) -> bool:
    return bool(frame.value["identifier"].endswith("000"))


class ClosesUponNull(Session):
    def skip(self, frame: Frame) -> None:
        if frame.name == UNKNOWN and _is_null(frame):
            self.end("an invalid null message")


class ClosesUponEmptyNull(Session):
    def skip(self, frame: Frame) -> None:
        if frame.name == UNKNOWN and _is_null(frame) and not frame.value["data"]:
            self.end("an invalid null message")


class EndsByTypeAlone(Session):
    """Takes any message of the type 0x006 for an end of transmission."""

    def skip(self, frame: Frame) -> None:
        if frame.name == UNKNOWN and frame.value["identifier"].endswith("006"):
            self.close()


class LargeEnds(Session):
    """Takes that of 128 bits for one."""

    def skip(self, frame: Frame) -> None:
        if frame.name == UNKNOWN and frame.value["identifier"] == "0x4006":
            self.close()


class ClosesUponForeign(Session):
    def skip(self, frame: Frame) -> None:
        if frame.name != UNKNOWN and frame.name not in (MAGIC, VERSION):
            self.end(f"{frame.name} is not for this side")


# The end


class NoWordAtTheEnd(Session):
    def announce_end(self, reason: str) -> None:
        pass


class ReasonInLatin1(Session):
    def announce_end(self, reason: str) -> None:
        self.send(message(END, reason=f"{reason} \xab\xe9\xbb"))


class StaysOpen(Session):
    def end(self, reason: str) -> None:
        if self.shaken:
            self.announce_end(reason)
        else:
            super().end(reason)


class OneMoreWord(Session):
    def announce_end(self, reason: str) -> None:
        super().announce_end(reason)
        super().announce_end("really")


class IgnoresEnds(Session):
    """Not even that the peer closes makes it close."""

    async def run(self, stream: Stream) -> None:
        self.stream = stream
        self.opened()
        while data := await stream.read():
            self.receive(data)
        if not self.ended:
            await asyncio.Event().wait()

    def peer_ends(self, value: Any) -> None:
        pass


class WantsAReason(Session):
    def peer_ends(self, value: Any) -> None:
        if value["reason"]:
            super().peer_ends(value)


class DiesOfReason(Session):
    def peer_ends(self, value: Any) -> None:
        if not value["reason"].isascii():
            die()
        super().peer_ends(value)


class DiesOfAbruptEnds(Session):
    def input_ended(self) -> None:
        die()


class DiesInsideMessages(Session):
    """Not between them."""

    def input_ended(self) -> None:
        if self.decoder.end():
            die()
        super().input_ended()


# Robustness


class DiesOfSecondHandshake(Session):
    def skip(self, frame: Frame) -> None:
        if frame.name in (MAGIC, VERSION):
            die()


class DiesOfOtherVersion(Session):
    def skip(self, frame: Frame) -> None:
        if frame.name == VERSION and frame.value["version"] != 1:
            die()


class SignedLengths(Session):
    def take(self, frame: Frame) -> None:
        if frame.name == "Oversized" and frame.value["length"] >= 1 << 31:
            die()
        super().take(frame)


class DiesOfHugeCurves(Session):
    def take(self, frame: Frame) -> None:
        if frame.name == "Oversized" and frame.value["identifier"] == "0xf009":
            die()
        super().take(frame)


class DiesOfUndefined(Session):
    def undecodable(self, frame: Frame) -> None:
        die()


class DiesOfLastUndefined(Session):
    def undecodable(self, frame: Frame) -> None:
        if "0xe006" in (frame.error or ""):
            die()
        super().undecodable(frame)
