"""Faults in how messages are read, which every mock can have."""

from mocks.deviations import fault
from mocks.simspark.connection import Endpoint
from mocks.simspark.faults import decoders

CLIENTS = ("agent", "monitor")
"""A server that is deaf to the client that sent something malformed still serves the others."""


@fault("reads-are-messages", violates="frame.segmentation")
class ReadsAreMessages(Endpoint):
    """Takes what one read brings for whole messages."""

    decoder = decoders.PerRead


@fault("one-message-a-read", violates="frame.segmentation", subtle=True)
class OneMessageARead(Endpoint):
    """Drops all but the first message of those that come together."""

    decoder = decoders.FirstOnly


@fault("cut-lengths-lost", violates="frame.segmentation", subtle=True)
class CutLengthsLost(Endpoint):
    """Loses a length that comes in two pieces."""

    decoder = decoders.CutLengths


@fault("sixteen-bits", violates="frame.length-prefix", subtle=True)
class SixteenBits(Endpoint):
    """Takes only two bytes of a length that it reads for the length."""

    decoder = decoders.SixteenBits


@fault("line-ends-unread", violates="text.white-space", subtle=True)
class LineEndsUnread(Endpoint):
    """Takes no message that has a tab or a line end in it."""

    decoder = decoders.Blanks


@fault("deaf-after-malformed", violates="robustness.malformed", subtle=True, roles=CLIENTS)
class DeafAfterMalformed(Endpoint):
    """Stops reading after a text that does not parse, and keeps its connection."""

    decoder = decoders.Offended


@fault("dies-of-malformed", violates="robustness.malformed")
class DiesOfMalformed(Endpoint):
    """Dies of a text that does not parse."""

    decoder = decoders.Trusting


@fault("recursive-reader", violates="robustness.malformed", subtle=True)
class RecursiveReader(Endpoint):
    """Reads brackets by recursion, and dies of a hundred thousand."""

    decoder = decoders.Recursive


@fault("dies-of-huge-lengths", violates="robustness.huge-length")
class DiesOfHugeLengths(Endpoint):
    """Takes memory for gigabytes, and dies."""

    decoder = decoders.Greedy


@fault("dies-of-wrong-lengths", violates="robustness.wrong-length", subtle=True)
class DiesOfWrongLengths(Endpoint):
    """Dies where a text does not end where its length says."""

    decoder = decoders.OutOfStep


@fault("empty-ends", violates="robustness.empty-message")
class EmptyEnds(Endpoint):
    """Takes an empty message for the end of the stream."""

    decoder = decoders.EmptyEnds
