"""Faults of the server in the handshake."""

from mocks.deltarobot import defects
from mocks.deltarobot.server import Server
from mocks.fault import fault


@fault("no-magic", violates="handshake.magic-sent")
class NoMagic(defects.NoMagic, Server):
    """Sends no magic."""


@fault("no-version", violates="handshake.version-sent")
class NoVersion(defects.NoVersion, Server):
    """Sends no version."""


@fault("end-first", violates="handshake.first")
class EmptyEndFirst(defects.EmptyEndFirst, Server):
    """Sends an end of transmission before its handshake."""


@fault("unknown-between", violates="handshake.first", subtle=True)
class UnknownFirst(defects.UnknownFirst, Server):
    """Sends an unknown message between magic and version."""


@fault("reversed-magic", violates="handshake.magic-value")
class ReversedMagic(defects.ReversedMagic, Server):
    """Sends the magic as a little-endian number of its characters."""


@fault("magic-in-other-case", violates="handshake.magic-value", subtle=True)
class MagicInOtherCase(defects.MagicInOtherCase, Server):
    """Writes the last letter of the magic in upper case."""


@fault("version-two", violates="handshake.version-value")
class VersionTwo(defects.VersionTwo, Server):
    """Says that it speaks version 2."""


@fault("version-as-text", violates="handshake.version-value", subtle=True)
class VersionZeroPadded(defects.VersionZeroPadded, Server):
    """Sends the version as the digit 1."""


@fault("greets-later", violates="handshake.unasked")
class GreetsLater(defects.GreetsLater, Server):
    """Waits for the peer's handshake before it sends its own."""


@fault("version-after-the-peer", violates="handshake.unasked", subtle=True)
class VersionAfterThePeer(defects.VersionAfterThePeer, Server):
    """Sends its magic at once, its version after the peer's first message."""


@fault("magic-first-only", violates="handshake.either-order")
class MagicFirstOnly(defects.MagicFirstOnly, Server):
    """Closes the connection if the version comes before the magic."""


@fault("skips-before-handshake", violates="handshake.closes-different")
class SkipsBeforeHandshake(defects.SkipsBeforeHandshake, Server):
    """Skips what comes before the handshake."""


@fault("skips-unknown-before-handshake", violates="handshake.closes-different", subtle=True)
class SkipsUnknownBeforeHandshake(defects.SkipsUnknownBeforeHandshake, Server):
    """Skips what is unknown before the handshake."""


@fault("skips-between", violates="handshake.closes-different", subtle=True)
class SkipsBetween(defects.SkipsBetween, Server):
    """Skips what comes between magic and version."""


@fault("endless-patience", violates="handshake.closes-silent")
class EndlessPatience(defects.EndlessPatience, Server):
    """Never drops a peer for want of a handshake."""


@fault("content-with-little", violates="handshake.closes-partial")
class ContentWithLittle(defects.ContentWithLittle, Server):
    """Drops only a peer that says nothing at all."""


@fault("content-with-magic", violates="handshake.closes-partial", subtle=True)
class ContentWithMagic(defects.ContentWithMagic, Server):
    """Drops no peer that has sent its magic."""


@fault("any-magic", violates="handshake.closes-wrong-magic")
class AnyMagic(defects.AnyMagic, Server):
    """Takes any magic."""


@fault("magic-of-any-case", violates="handshake.closes-wrong-magic", subtle=True)
class MagicOfAnyCase(defects.MagicOfAnyCase, Server):
    """Takes the magic in any case."""


@fault("seven-of-the-magic", violates="handshake.closes-wrong-magic", subtle=True)
class SevenOfTheMagic(defects.SevenOfTheMagic, Server):
    """Does not look at the last character of the magic."""


@fault("any-version", violates="handshake.closes-wrong-version")
class AnyVersion(defects.AnyVersion, Server):
    """Takes any version."""


@fault("newer-versions", violates="handshake.closes-wrong-version", subtle=True)
class NewerVersions(defects.NewerVersions, Server):
    """Takes any version from 1 on."""


@fault("version-of-either-order", violates="handshake.closes-wrong-version", subtle=True)
class VersionOfEitherOrder(defects.VersionOfEitherOrder, Server):
    """Takes a big-endian 1 as well."""


@fault("greets-again", violates="handshake.once")
class GreetsAgain(defects.GreetsAgain, Server):
    """Sends its handshake again once the peer's has come."""


@fault("version-again", violates="handshake.once", subtle=True)
class VersionAgain(defects.VersionAgain, Server):
    """Sends its version again after its first other message."""


@fault("impatient", violates="handshake.patient")
class Impatient(defects.Impatient, Server):
    """Waits a quarter of the time that it declares for the handshake."""


@fault("impatient-between", violates="handshake.patient", subtle=True)
class ImpatientBetween(defects.ImpatientBetween, Server):
    """Waits a quarter of that time between magic and version."""
