"""Faults at the end of a session, and in the robustness against unusual input."""

import asyncio
from typing import Any

from conformance.codec import Frame
from conformance.deltarobot.codec import UNKNOWN, message
from mocks.deltarobot.faults.building import die
from mocks.deltarobot.session import END, MAGIC, VERSION, Session
from mocks.deviations import fault
from mocks.streams import Stream


@fault("no-word-at-the-end", violates="end.announced")
class NoWordAtTheEnd(Session):
    """Announces that it refuses a handshake, but never the end of a session."""

    def announce_end(self, reason: str) -> None:
        if not self.shaken:
            super().announce_end(reason)


@fault("answers-after-the-end", violates="end.heeded")
class AnswersAfterTheEnd(Session):
    """Goes on sending after the peer's end of transmission, as if only receiving ended."""

    over = False

    def peer_ends(self, value: Any) -> None:
        self.over = True

    def take(self, frame: Frame) -> None:
        if not self.over or frame.name == "Ping":
            super().take(frame)


@fault("reason-in-latin-1", violates="end.reason-ascii")
class ReasonInLatin1(Session):
    """Puts letters that are not ASCII into its reason."""

    def announce_end(self, reason: str) -> None:
        self.send(message(END, reason=f"{reason} \xab\xe9\xbb"))


@fault("reason-in-utf-16", violates="end.reason-ascii", subtle=True)
class ReasonInUtf16(Session):
    """Sends the reason in UTF-16, the memory format of a QString."""

    def announce_end(self, reason: str) -> None:
        self.send(message(END, reason=reason.encode("utf-16-le").decode("latin-1")))


@fault("reason-as-qstring", violates="end.reason-ascii", subtle=True)
class ReasonAsQString(Session):
    """Sends the reason as QDataStream writes a QString: its length, then UTF-16."""

    def announce_end(self, reason: str) -> None:
        text = reason.encode("utf-16-le")
        contents = len(text).to_bytes(4, "little") + text
        self.send(message(END, reason=contents.decode("latin-1")))


@fault("reason-with-its-length", violates="end.reason-ascii", subtle=True)
class ReasonWithItsLength(Session):
    """Puts a byte with the length of the reason before it, as a BinaryWriter does."""

    def announce_end(self, reason: str) -> None:
        self.send(message(END, reason=f"{chr(len(reason))}{reason}"))


@fault("refusal-in-big-endian", violates="frame.variable-length", subtle=True)
class RefusalInBigEndian(Session):
    """Refuses a peer with a reason whose length is in big-endian."""

    def refuse(self, why: str) -> None:
        reason = why.encode("ascii", "replace")
        self.write(b"\x06\xf0" + len(reason).to_bytes(4, "big") + reason)
        self.close()


@fault("wants-a-reason", violates="end.reason-optional")
class WantsAReason(Session):
    """Ignores an end of transmission without a reason."""

    def peer_ends(self, value: Any) -> None:
        if value["reason"]:
            super().peer_ends(value)


@fault("stays-open", violates="end.closes")
class StaysOpen(Session):
    """Leaves the connection open after its end of transmission."""

    def end(self, reason: str) -> None:
        if self.shaken:
            self.announce_end(reason)
        else:
            super().end(reason)


@fault("refuses-and-stays", violates="end.closes", subtle=True)
class RefusesAndStays(Session):
    """Leaves the connection open after an end of transmission that refuses its peer."""

    refused = False

    def end(self, reason: str) -> None:
        if self.shaken:
            super().end(reason)
        elif not self.refused:
            self.refused = True
            self.announce_end(reason)


@fault("one-more-word", violates="end.nothing-after", subtle=True)
class OneMoreWord(Session):
    """Sends two ends of transmission."""

    def announce_end(self, reason: str) -> None:
        super().announce_end(reason)
        super().announce_end("really")


@fault("ignores-ends", violates="end.received")
class IgnoresEnds(Session):
    """Stays connected after the peer's end of transmission and disconnect."""

    async def run(self, stream: Stream) -> None:
        self.stream = stream
        self.opened()
        while data := await stream.read():
            self.receive(data)
        if not self.ended:
            await asyncio.Event().wait()

    def peer_ends(self, value: Any) -> None:
        pass


@fault("dies-of-reason", violates="end.received", subtle=True)
class DiesOfReason(Session):
    """Crashes on a reason that is not ASCII."""

    def peer_ends(self, value: Any) -> None:
        if not value["reason"].isascii():
            die()
        super().peer_ends(value)


@fault("reason-as-format", violates="end.received", subtle=True)
class ReasonAsFormat(Session):
    """Crashes on a reason with a percent sign, which it uses as a format string."""

    def peer_ends(self, value: Any) -> None:
        if "%" in value["reason"]:
            die()
        super().peer_ends(value)


@fault("dies-of-abrupt-ends", violates="end.abrupt")
class DiesOfAbruptEnds(Session):
    """Crashes if the peer disconnects without an end of transmission."""

    def input_ended(self) -> None:
        die()


@fault("dies-inside-messages", violates="end.abrupt", subtle=True)
class DiesInsideMessages(Session):
    """Crashes if the peer disconnects inside a message."""

    def input_ended(self) -> None:
        if self.decoder.end():
            die()
        super().input_ended()


@fault("closes-upon-foreign", violates="robustness.foreign-messages")
class ClosesUponForeign(Session):
    """Closes the connection after a message of its own role."""

    def skip(self, frame: Frame) -> None:
        super().skip(frame)
        if frame.name != UNKNOWN and frame.name not in (MAGIC, VERSION):
            self.end(f"{frame.name} is not for this side")


@fault("dies-of-second-handshake", violates="robustness.second-handshake")
class DiesOfSecondHandshake(Session):
    """Crashes on a second handshake."""

    def skip(self, frame: Frame) -> None:
        if frame.name in (MAGIC, VERSION):
            die()


@fault("dies-of-other-version", violates="robustness.second-handshake", subtle=True)
class DiesOfOtherVersion(Session):
    """Crashes on a second version message with another version."""

    def skip(self, frame: Frame) -> None:
        if frame.name == VERSION and frame.value["version"] != 1:
            die()


@fault("signed-lengths", violates="robustness.huge-length")
class SignedLengths(Session):
    """Reads lengths as signed numbers and crashes on negative ones."""

    def take(self, frame: Frame) -> None:
        if frame.name == "Oversized" and frame.value["length"] >= 1 << 31:
            die()
        super().take(frame)


@fault("dies-of-huge-curves", violates="robustness.huge-length", subtle=True)
class DiesOfHugeCurves(Session):
    """Crashes on a curve that does not fit into memory."""

    def take(self, frame: Frame) -> None:
        if frame.name == "Oversized" and frame.value["identifier"] == "0xf009":
            die()
        super().take(frame)


@fault("dies-of-undefined", violates="robustness.undefined-sizes")
class DiesOfUndefined(Session):
    """Crashes on an undefined size identifier."""

    def undecodable(self, frame: Frame) -> None:
        die()


@fault("dies-of-last-undefined", violates="robustness.undefined-sizes", subtle=True)
class DiesOfLastUndefined(Session):
    """Crashes on the size identifier 0xE."""

    def undecodable(self, frame: Frame) -> None:
        if "0xe006" in (frame.error or ""):
            die()
        super().undecodable(frame)


@fault("dies-of-long-reasons", violates="end.received", subtle=True)
class DiesOfLongReasons(Session):
    """Crashes on an end of transmission whose reason has more than 4096 bytes."""

    def peer_ends(self, value: Any) -> None:
        if len(value["reason"]) > 4096:
            die()
        super().peer_ends(value)
