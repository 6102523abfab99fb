"""Faults in reading messages, which every mock can have."""

from conformance.codec import Decoder
from mocks.deviations import fault
from mocks.simspark.connection import Endpoint
from mocks.simspark.faults import decoders
from mocks.stream_readers import FirstOfARead, PerRead


@fault("reads-are-messages", violates="frame.segmentation")
class ReadsAreMessages(Endpoint):
    """Takes the data of one read for complete messages."""

    def make_decoder(self) -> Decoder:
        return PerRead(super().make_decoder)


@fault("one-message-a-read", violates="frame.segmentation", subtle=True)
class OneMessageARead(Endpoint):
    """Drops all messages of one read except the first."""

    def make_decoder(self) -> Decoder:
        return FirstOfARead(super().make_decoder())


@fault("cut-lengths-lost", violates="frame.segmentation", subtle=True)
class CutLengthsLost(Endpoint):
    """Loses a length that arrives in two pieces."""

    Reader = decoders.CutLengths


@fault("beginnings-lost", violates="frame.segmentation", subtle=True)
class BeginningsLost(Endpoint):
    """Loses the beginning of a message if the remainder arrives 0.1 s later."""

    Reader = decoders.Impatient


@fault("long-messages-lost", violates="frame.length-prefix", subtle=True)
class LongMessagesLost(Endpoint):
    """Drops messages that are longer than a buffer of 16 kB."""

    Reader = decoders.LongLost


@fault("long-messages-cut", violates="frame.length-prefix", subtle=True)
class LongMessagesCut(Endpoint):
    """Reads the first 16 kB of a message and drops all further bytes."""

    Reader = decoders.LongCut


@fault("sixteen-bits", violates="frame.length-prefix", subtle=True)
class SixteenBits(Endpoint):
    """Reads only the two lower bytes of a length."""

    Reader = decoders.SixteenBits


@fault("twenty-four-bits", violates="frame.length-prefix", subtle=True)
class TwentyFourBits(Endpoint):
    """Reads only the three lower bytes of a length."""

    Reader = decoders.TwentyFourBits


@fault("thirty-one-bits", violates="frame.length-prefix", subtle=True)
class ThirtyOneBits(Endpoint):
    """Ignores the highest bit of a length."""

    Reader = decoders.ThirtyOneBits


@fault("bytes-with-a-sign", violates="frame.length-prefix", subtle=True)
class BytesWithASign(Endpoint):
    """Reads the bytes of a length as signed bytes."""

    Reader = decoders.SignedBytes


@fault("line-ends-unread", violates="text.white-space", subtle=True)
class LineEndsUnread(Endpoint):
    """Drops messages that contain a tab or a line end."""

    Reader = decoders.Blanks


@fault("hangs-at-tabs", violates="text.white-space", subtle=True, roles=("agent", "monitor"))
class HangsAtTabs(Endpoint):
    """Never finds the end of a word that a tab follows."""

    Reader = decoders.Hangs


@fault("deaf-after-malformed", violates="robustness.malformed", subtle=True)
class DeafAfterMalformed(Endpoint):
    """Stops reading after a malformed text, and keeps its connection."""

    Reader = decoders.Offended


@fault("rest-of-a-read-lost", violates="robustness.malformed", subtle=True)
class RestOfAReadLost(Endpoint):
    """Drops everything that the same read brings after a malformed text."""

    Reader = decoders.Discouraged


@fault("next-after-malformed-lost", violates="robustness.malformed", subtle=True)
class NextAfterMalformedLost(Endpoint):
    """Drops the first message after a malformed text."""

    Reader = decoders.OneAfterAnother


@fault("dies-of-malformed", violates="robustness.malformed")
class DiesOfMalformed(Endpoint):
    """Dies of a malformed text."""

    Reader = decoders.Trusting


@fault("recursive-reader", violates="robustness.malformed", subtle=True)
class RecursiveReader(Endpoint):
    """Reads brackets recursively, and dies of a hundred thousand of them."""

    Reader = decoders.Recursive


@fault("dies-of-huge-lengths", violates="robustness.huge-length")
class DiesOfHugeLengths(Endpoint):
    """Allocates memory for a length of gigabytes, and dies."""

    Reader = decoders.Greedy


@fault("dies-of-wrong-lengths", violates="robustness.wrong-length", subtle=True)
class DiesOfWrongLengths(Endpoint):
    """Dies if a text ends earlier than its length says."""

    Reader = decoders.OutOfStep


@fault("empty-ends", violates="robustness.empty-message")
class EmptyEnds(Endpoint):
    """Takes an empty message for the end of the stream."""

    Reader = decoders.EmptyEnds


@fault("empty-skips", violates="robustness.empty-message", subtle=True)
class EmptySkips(Endpoint):
    """Drops everything that the same read brings after several empty messages."""

    Reader = decoders.EmptySkips
