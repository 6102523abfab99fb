"""Faults in how messages are read, which every mock can have."""

from conformance.codec import Decoder
from mocks.deviations import fault
from mocks.misreading import FirstOfARead, PerRead
from mocks.simspark.connection import Endpoint
from mocks.simspark.faults import decoders


@fault("reads-are-messages", violates="frame.segmentation")
class ReadsAreMessages(Endpoint):
    """Takes what one read brings for whole messages."""

    def make_decoder(self) -> Decoder:
        return PerRead(super().make_decoder)


@fault("one-message-a-read", violates="frame.segmentation", subtle=True)
class OneMessageARead(Endpoint):
    """Drops all but the first message of those that come together."""

    def make_decoder(self) -> Decoder:
        return FirstOfARead(super().make_decoder())


@fault("cut-lengths-lost", violates="frame.segmentation", subtle=True)
class CutLengthsLost(Endpoint):
    """Loses a length that comes in two pieces."""

    Reader = decoders.CutLengths


@fault("beginnings-lost", violates="frame.segmentation", subtle=True)
class BeginningsLost(Endpoint):
    """Loses the beginning of a message whose rest is not there within a tenth of a second."""

    Reader = decoders.Impatient


@fault("long-messages-lost", violates="frame.length-prefix", subtle=True)
class LongMessagesLost(Endpoint):
    """Passes over messages for which a buffer of 16 kB has no room."""

    Reader = decoders.LongLost


@fault("long-messages-cut", violates="frame.length-prefix", subtle=True)
class LongMessagesCut(Endpoint):
    """Reads the first 16 kB of a message, and passes over the rest of it."""

    Reader = decoders.LongCut


@fault("sixteen-bits", violates="frame.length-prefix", subtle=True)
class SixteenBits(Endpoint):
    """Takes only two bytes of a length that it reads for the length."""

    Reader = decoders.SixteenBits


@fault("twenty-four-bits", violates="frame.length-prefix", subtle=True)
class TwentyFourBits(Endpoint):
    """Takes only three bytes of a length that it reads for the length."""

    Reader = decoders.TwentyFourBits


@fault("thirty-one-bits", violates="frame.length-prefix", subtle=True)
class ThirtyOneBits(Endpoint):
    """Takes a length that it reads without the highest bit."""

    Reader = decoders.ThirtyOneBits


@fault("bytes-with-a-sign", violates="frame.length-prefix", subtle=True)
class BytesWithASign(Endpoint):
    """Takes the bytes of a length for numbers with a sign."""

    Reader = decoders.SignedBytes


@fault("line-ends-unread", violates="text.white-space", subtle=True)
class LineEndsUnread(Endpoint):
    """Takes no message that has a tab or a line end in it."""

    Reader = decoders.Blanks


@fault("hangs-at-tabs", violates="text.white-space", subtle=True, roles=("agent", "monitor"))
class HangsAtTabs(Endpoint):
    """Never finds the end of a word behind which a tab stands."""

    Reader = decoders.Hangs


@fault("deaf-after-malformed", violates="robustness.malformed", subtle=True)
class DeafAfterMalformed(Endpoint):
    """Stops reading after a text that does not parse, and keeps its connection."""

    Reader = decoders.Offended


@fault("rest-of-a-read-lost", violates="robustness.malformed", subtle=True)
class RestOfAReadLost(Endpoint):
    """Loses what one read brings behind a text that does not parse."""

    Reader = decoders.Discouraged


@fault("next-after-malformed-lost", violates="robustness.malformed", subtle=True)
class NextAfterMalformedLost(Endpoint):
    """Loses the message behind a text that does not parse."""

    Reader = decoders.OneAfterAnother


@fault("dies-of-malformed", violates="robustness.malformed")
class DiesOfMalformed(Endpoint):
    """Dies of a text that does not parse."""

    Reader = decoders.Trusting


@fault("recursive-reader", violates="robustness.malformed", subtle=True)
class RecursiveReader(Endpoint):
    """Reads brackets by recursion, and dies of a hundred thousand."""

    Reader = decoders.Recursive


@fault("dies-of-huge-lengths", violates="robustness.huge-length")
class DiesOfHugeLengths(Endpoint):
    """Takes memory for gigabytes, and dies."""

    Reader = decoders.Greedy


@fault("dies-of-wrong-lengths", violates="robustness.wrong-length", subtle=True)
class DiesOfWrongLengths(Endpoint):
    """Dies where a text ends before its length says."""

    Reader = decoders.OutOfStep


@fault("empty-ends", violates="robustness.empty-message")
class EmptyEnds(Endpoint):
    """Takes an empty message for the end of the stream."""

    Reader = decoders.EmptyEnds


@fault("empty-skips", violates="robustness.empty-message", subtle=True)
class EmptySkips(Endpoint):
    """Loses what one read brings behind several empty messages."""

    Reader = decoders.EmptySkips
