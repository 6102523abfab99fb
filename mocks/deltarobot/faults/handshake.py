"""Faults in the handshake, as sent and as accepted."""

from typing import Any

from conformance.codec import Frame
from conformance.deltarobot.codec import UNKNOWN, Decoder, frame, message
from mocks.deltarobot.faults.building import AfterThird
from mocks.deltarobot.session import MAGIC, VERSION, Session
from mocks.deviations import fault


@fault("no-magic", violates="handshake.magic-sent")
class NoMagic(Session):
    """Sends no magic."""

    def send_magic(self) -> None:
        pass


@fault("no-version", violates="handshake.version-sent")
class NoVersion(Session):
    """Sends no version."""

    def send_version(self) -> None:
        pass


@fault("end-first", violates="handshake.first")
class EndFirst(Session):
    """Sends an end of transmission before its handshake."""

    def greet(self) -> None:
        self.write(frame(0xF006, b""))
        super().greet()


@fault("unknown-between", violates="handshake.first", subtle=True)
class UnknownBetween(Session):
    """Sends an unknown message between magic and version."""

    def greet(self) -> None:
        self.send_magic()
        self.write(frame(0x1FFF, b"\0\0"))
        self.send_version()


@fault("reversed-magic", violates="handshake.magic-value")
class ReversedMagic(Session):
    """Sends the magic as a little-endian number, which reverses its characters."""

    def send_magic(self) -> None:
        self.send(message(MAGIC, magic="rVRatleD"))


@fault("magic-in-other-case", violates="handshake.magic-value", subtle=True)
class MagicInOtherCase(Session):
    """Writes the last letter of the magic in upper case."""

    def send_magic(self) -> None:
        self.send(message(MAGIC, magic="DeltaRVR"))


@fault("version-two", violates="handshake.version-value")
class VersionTwo(Session):
    """Announces version 2."""

    def send_version(self) -> None:
        self.send(message(VERSION, version=2))


@fault("version-as-text", violates="handshake.version-value", subtle=True)
class VersionAsText(Session):
    """Sends the version as the digit 1."""

    def send_version(self) -> None:
        self.write(frame(0x2002, b"1\0\0\0"))


@fault("greets-later", violates="handshake.unasked")
class GreetsLater(Session):
    """Waits for the peer's handshake before it sends its own."""

    def greet(self) -> None:
        pass

    def handshake(self, frame: Frame) -> None:
        if len(self.missing) == 2:
            super().greet()
        super().handshake(frame)


@fault("version-after-the-peer", violates="handshake.unasked", subtle=True)
class VersionAfterThePeer(Session):
    """Sends its magic at once, but its version only after the peer's first message."""

    def greet(self) -> None:
        self.send_magic()

    def handshake(self, frame: Frame) -> None:
        if len(self.missing) == 2:
            self.send_version()
        super().handshake(frame)


@fault("magic-first-only", violates="handshake.either-order")
class MagicFirstOnly(Session):
    """Loses a version that comes before the magic, and waits for another one."""

    def handshake(self, frame: Frame) -> None:
        if frame.name != VERSION or MAGIC not in self.missing:
            super().handshake(frame)


@fault("skips-before-handshake", violates="handshake.closes-different")
class SkipsBeforeHandshake(Session):
    """Skips all messages before the handshake."""

    def unexpected(self, frame: Frame) -> None:
        pass


@fault("skips-unknown-before-handshake", violates="handshake.closes-different", subtle=True)
class SkipsUnknownBeforeHandshake(Session):
    """Skips unknown messages before the handshake."""

    def unexpected(self, frame: Frame) -> None:
        if frame.name != UNKNOWN:
            super().unexpected(frame)


@fault("opening-by-low-byte", violates="handshake.closes-different", subtle=True)
class OpeningByLowByte(Session):
    """Compares only the low byte of types before the handshake is complete."""

    def unexpected(self, frame: Frame) -> None:
        low = bytes([frame.raw[0], frame.raw[1] & 0xF0])
        [known] = Decoder().feed(low + frame.raw[2:])
        if frame.name == UNKNOWN and known.name in self.missing:
            self.handshake(known)
        else:
            super().unexpected(frame)


@fault("skips-between", violates="handshake.closes-different", subtle=True)
class SkipsBetween(Session):
    """Skips messages between magic and version."""

    def unexpected(self, frame: Frame) -> None:
        if len(self.missing) == 2:
            super().unexpected(frame)


@fault("any-two-will-do", violates="handshake.closes-partial", subtle=True)
class AnyTwoWillDo(Session):
    """Accepts any two messages of a handshake, for example two magics."""

    came = 0

    def handshake(self, frame: Frame) -> None:
        self.came += frame.name in (MAGIC, VERSION)
        if self.came == 2:
            self.missing = {str(frame.name)}
        super().handshake(frame)


@fault("endless-patience", violates="handshake.closes-silent")
class EndlessPatience(Session):
    """Never drops a peer because of a missing handshake."""

    def out_of_patience(self) -> None:
        pass


@fault("content-with-little", violates="handshake.closes-partial")
class ContentWithLittle(Session):
    """Drops only a peer that sends nothing at all."""

    heard = False

    def receive(self, data: bytes) -> None:
        self.heard = True
        super().receive(data)

    def out_of_patience(self) -> None:
        if not self.heard:
            super().out_of_patience()


@fault("content-with-magic", violates="handshake.closes-partial", subtle=True)
class ContentWithMagic(Session):
    """Drops no peer that has sent its magic."""

    def out_of_patience(self) -> None:
        if MAGIC in self.missing:
            super().out_of_patience()


@fault("any-magic", violates="handshake.closes-wrong-magic")
class AnyMagic(Session):
    """Checks only that the magic is readable text."""

    def acceptable(self, name: str, value: Any) -> bool:
        if name == MAGIC:
            return str(value["magic"]).isprintable()
        return super().acceptable(name, value)


@fault("magic-of-any-case", violates="handshake.closes-wrong-magic", subtle=True)
class MagicOfAnyCase(Session):
    """Accepts the magic in upper and lower case."""

    def acceptable(self, name: str, value: Any) -> bool:
        if name == MAGIC:
            return bool(value["magic"].lower() == "deltarvr")
        return super().acceptable(name, value)


@fault("seven-of-the-magic", violates="handshake.closes-wrong-magic", subtle=True)
class SevenOfTheMagic(Session):
    """Ignores the last character of the magic."""

    def acceptable(self, name: str, value: Any) -> bool:
        if name == MAGIC:
            return bool(value["magic"][:7] == "DeltaRV")
        return super().acceptable(name, value)


@fault("any-version", violates="handshake.closes-wrong-version")
class AnyVersion(Session):
    """Compares the version only with 2, the one version that it knows it does not support."""

    def acceptable(self, name: str, value: Any) -> bool:
        return bool(value["version"] != 2) if name == VERSION else super().acceptable(name, value)


@fault("newer-versions", violates="handshake.closes-wrong-version", subtle=True)
class NewerVersions(Session):
    """Accepts any version from 1 on."""

    def acceptable(self, name: str, value: Any) -> bool:
        if name == VERSION:
            return bool(value["version"] >= 1)
        return super().acceptable(name, value)


@fault("version-of-8-bits-read", violates="handshake.closes-wrong-version", subtle=True)
class VersionOf8BitsRead(Session):
    """Compares only the first byte of the version."""

    def acceptable(self, name: str, value: Any) -> bool:
        if name == VERSION:
            return bool(value["version"] % 256 == 1)
        return super().acceptable(name, value)


@fault("version-of-either-order", violates="handshake.closes-wrong-version", subtle=True)
class VersionOfEitherOrder(Session):
    """Accepts a big-endian 1 as well."""

    def acceptable(self, name: str, value: Any) -> bool:
        if name == VERSION:
            return value["version"] in (1, 1 << 24)
        return super().acceptable(name, value)


@fault("greets-again", violates="handshake.once")
class GreetsAgain(Session):
    """Sends its handshake again after the peer's handshake."""

    def handshake(self, frame: Frame) -> None:
        super().handshake(frame)
        if self.shaken:
            self.greet()


@fault("version-again", violates="handshake.once", subtle=True)
class VersionAgain(AfterThird):
    """Sends its version again after its first other message."""

    def after_third(self) -> None:
        self.send_version()


@fault("impatient", violates="handshake.patient")
class Impatient(Session):
    """Waits only a quarter of the declared time for the handshake."""

    def opened(self) -> None:
        self.patience /= 4
        super().opened()


@fault("impatient-between", violates="handshake.patient", subtle=True)
class ImpatientBetween(Session):
    """Waits only a quarter of the declared time between magic and version."""

    def handshake(self, frame: Frame) -> None:
        super().handshake(frame)
        if not self.shaken:
            self.call_later(self.patience / 4, self.out_of_patience)


@fault("time-goes-on", violates="handshake.patient", subtle=True)
class TimeGoesOn(Session):
    """Ends each session when the time for the handshake is over, although it is complete."""

    def out_of_patience(self) -> None:
        self.refuse(f"no handshake within {self.patience:g} s")
