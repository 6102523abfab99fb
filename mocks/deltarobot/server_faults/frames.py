"""Faults of the server in frames and segmentation."""

from mocks.deltarobot import defects
from mocks.deltarobot.server import Server
from mocks.fault import fault


@fault("big-endian-identifiers", violates="frame.identifier")
class BigEndianIdentifiers(defects.BigEndianIdentifiers, Server):
    """Sends its identifiers with the most significant byte first."""


@fault("swapped-identifiers", violates="frame.identifier")
class SwappedIdentifiers(defects.SwappedIdentifiers, Server):
    """Puts the size identifier into the low bits of the identifier."""


@fault("big-endian-version", violates="frame.byte-order")
class BigEndianVersion(defects.BigEndianVersion, Server):
    """Sends its version with the most significant byte first."""


@fault("version-of-16-bits", violates="frame.fixed-lengths")
class VersionOf16Bits(defects.VersionOf16Bits, Server):
    """Sends a version of two bytes under an identifier that says four."""


@fault("eight-bits-are-none", violates="frame.fixed-lengths")
class EightBitsAreNone(defects.EightBitsAreNone, Server):
    """Takes messages of the size identifier 0x0 for empty."""


@fault("sixteen-bits-are-one-byte", violates="frame.fixed-lengths", subtle=True)
class SixteenBitsAreOneByte(defects.SixteenBitsAreOneByte, Server):
    """Skips one byte of messages of the size identifier 0x1."""


@fault("unknown-vectors-are-three", violates="frame.fixed-lengths", subtle=True)
class UnknownVectorsAreThree(defects.UnknownVectorsAreThree, Server):
    """Skips twelve bytes of unknown messages of 128 bits."""


@fault("big-endian-lengths", violates="frame.variable-length")
class BigEndianLengths(defects.BigEndianLengths, Server):
    """Reads lengths with the most significant byte first."""


@fault("short-lengths", violates="frame.variable-length", subtle=True)
class ShortLengths(defects.ShortLengths, Server):
    """Reads only the lower half of lengths, which shows from 64 KiB on."""


@fault("lengths-with-themselves", violates="frame.variable-length")
class LengthsWithThemselves(defects.LengthsWithThemselves, Server):
    """Takes lengths to count themselves."""


@fault("nothing-is-not-yet", violates="frame.variable-length", subtle=True)
class NothingIsNotYet(defects.NothingIsNotYet, Server):
    """Waits for the contents of an empty message."""


@fault("big-endian-reason", violates="frame.variable-length")
class BigEndianReason(defects.BigEndianReason, Server):
    """Sends the length of its reason with the most significant byte first."""


@fault("reason-counts-its-length", violates="frame.variable-length", subtle=True)
class ReasonCountsItsLength(defects.ReasonCountsItsLength, Server):
    """Counts the length itself in the length of its reason."""


@fault("undefined-size", violates="frame.undefined-sizes")
class UndefinedSize(defects.UndefinedSize, Server):
    """Sends a message of the size identifier 0x5."""


@fault("half-an-end", violates="frame.whole-messages", subtle=True)
class HalfAnEnd(defects.HalfAnEnd, Server):
    """Closes before the last byte of its end of transmission."""


@fault("one-message-a-read", violates="frame.segmentation")
class OneMessageARead(defects.OneMessageARead, Server):
    """Forgets what has come of a message at the end of each read."""


@fault("first-of-a-read", violates="frame.segmentation", subtle=True)
class FirstOfARead(defects.FirstOfARead, Server):
    """Sees only the first of messages that come together, after the handshake."""


@fault("loses-half-identifiers", violates="frame.segmentation", subtle=True)
class LosesHalfIdentifiers(defects.LosesHalfIdentifiers, Server):
    """Loses the first byte of an identifier that comes alone."""


@fault("loses-half-lengths", violates="frame.segmentation", subtle=True)
class LosesHalfLengths(defects.LosesHalfLengths, Server):
    """Loses the beginning of a length that does not come whole."""


@fault("loses-half-contents", violates="frame.segmentation", subtle=True)
class LosesHalfContents(defects.LosesHalfContents, Server):
    """Loses a byte of a 128-bit message that is cut inside its contents."""
