"""Faults of the client in the handshake."""

from mocks.deltarobot import defects
from mocks.deltarobot.client import Client
from mocks.fault import fault


@fault("no-magic", violates="handshake.magic-sent")
class NoMagic(defects.NoMagic, Client):
    """Sends no magic."""


@fault("no-version", violates="handshake.version-sent")
class NoVersion(defects.NoVersion, Client):
    """Sends no version."""


@fault("end-first", violates="handshake.first")
class EmptyEndFirst(defects.EmptyEndFirst, Client):
    """Sends an end of transmission before its handshake."""


@fault("unknown-between", violates="handshake.first", subtle=True)
class UnknownFirst(defects.UnknownFirst, Client):
    """Sends an unknown message between magic and version."""


@fault("reversed-magic", violates="handshake.magic-value")
class ReversedMagic(defects.ReversedMagic, Client):
    """Sends the magic as a little-endian number of its characters."""


@fault("magic-in-other-case", violates="handshake.magic-value", subtle=True)
class MagicInOtherCase(defects.MagicInOtherCase, Client):
    """Writes the last letter of the magic in upper case."""


@fault("version-two", violates="handshake.version-value")
class VersionTwo(defects.VersionTwo, Client):
    """Says that it speaks version 2."""


@fault("version-as-text", violates="handshake.version-value", subtle=True)
class VersionZeroPadded(defects.VersionZeroPadded, Client):
    """Sends the version as the digit 1."""


@fault("greets-later", violates="handshake.unasked")
class GreetsLater(defects.GreetsLater, Client):
    """Waits for the peer's handshake before it sends its own."""


@fault("version-after-the-peer", violates="handshake.unasked", subtle=True)
class VersionAfterThePeer(defects.VersionAfterThePeer, Client):
    """Sends its magic at once, its version after the peer's first message."""


@fault("magic-first-only", violates="handshake.either-order")
class MagicFirstOnly(defects.MagicFirstOnly, Client):
    """Closes the connection if the version comes before the magic."""


@fault("skips-before-handshake", violates="handshake.closes-different")
class SkipsBeforeHandshake(defects.SkipsBeforeHandshake, Client):
    """Skips what comes before the handshake."""


@fault("skips-unknown-before-handshake", violates="handshake.closes-different", subtle=True)
class SkipsUnknownBeforeHandshake(defects.SkipsUnknownBeforeHandshake, Client):
    """Skips what is unknown before the handshake."""


@fault("skips-between", violates="handshake.closes-different", subtle=True)
class SkipsBetween(defects.SkipsBetween, Client):
    """Skips what comes between magic and version."""


@fault("endless-patience", violates="handshake.closes-silent")
class EndlessPatience(defects.EndlessPatience, Client):
    """Never drops a peer for want of a handshake."""


@fault("content-with-little", violates="handshake.closes-partial")
class ContentWithLittle(defects.ContentWithLittle, Client):
    """Drops only a peer that says nothing at all."""


@fault("content-with-magic", violates="handshake.closes-partial", subtle=True)
class ContentWithMagic(defects.ContentWithMagic, Client):
    """Drops no peer that has sent its magic."""


@fault("any-magic", violates="handshake.closes-wrong-magic")
class AnyMagic(defects.AnyMagic, Client):
    """Takes any magic."""


@fault("magic-of-any-case", violates="handshake.closes-wrong-magic", subtle=True)
class MagicOfAnyCase(defects.MagicOfAnyCase, Client):
    """Takes the magic in any case."""


@fault("seven-of-the-magic", violates="handshake.closes-wrong-magic", subtle=True)
class SevenOfTheMagic(defects.SevenOfTheMagic, Client):
    """Does not look at the last character of the magic."""


@fault("any-version", violates="handshake.closes-wrong-version")
class AnyVersion(defects.AnyVersion, Client):
    """Takes any version."""


@fault("newer-versions", violates="handshake.closes-wrong-version", subtle=True)
class NewerVersions(defects.NewerVersions, Client):
    """Takes any version from 1 on."""


@fault("version-of-either-order", violates="handshake.closes-wrong-version", subtle=True)
class VersionOfEitherOrder(defects.VersionOfEitherOrder, Client):
    """Takes a big-endian 1 as well."""


@fault("greets-again", violates="handshake.once")
class GreetsAgain(defects.GreetsAgain, Client):
    """Sends its handshake again once the peer's has come."""


@fault("version-again", violates="handshake.once", subtle=True)
class VersionAgain(defects.VersionAgain, Client):
    """Sends its version again after its first other message."""


@fault("impatient", violates="handshake.patient")
class Impatient(defects.Impatient, Client):
    """Waits a quarter of the time that it declares for the handshake."""


@fault("impatient-between", violates="handshake.patient", subtle=True)
class ImpatientBetween(defects.ImpatientBetween, Client):
    """Waits a quarter of that time between magic and version."""
