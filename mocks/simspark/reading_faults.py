"""Faults in how a client reads, which agents and monitors can have alike."""

from mocks.deviations import fault
from mocks.simspark import defects, readers
from mocks.simspark.readers import Reading


@fault("reads-are-messages", violates="frame.segmentation")
class ReadsAreMessages(Reading):
    """Takes what one read brings for whole messages."""

    reader = readers.Forgetful


@fault("one-message-a-read", violates="frame.segmentation", subtle=True)
class OneMessageARead(Reading):
    """Drops all but the first message of those that come together."""

    reader = readers.Single


@fault("cut-lengths-lost", violates="frame.segmentation", subtle=True)
class CutLengthsLost(Reading):
    """Loses a length that comes in two pieces."""

    reader = readers.CutLengths


@fault("sixteen-bits", violates="frame.length-prefix", subtle=True)
class SixteenBits(Reading):
    """Takes only two bytes of a length that it reads for the length."""

    reader = readers.SixteenBits


@fault("dies-of-malformed", violates="robustness.malformed")
class DiesOfMalformed(Reading):
    """Dies of a text that is none."""

    reader = defects.Trusting


@fault("recursive-reader", violates="robustness.malformed", subtle=True)
class RecursiveReader(Reading):
    """Reads brackets by recursion, and dies of a hundred thousand."""

    reader = defects.Recursive


@fault("dies-of-huge-lengths", violates="robustness.huge-length")
class DiesOfHugeLengths(Reading):
    """Takes memory for gigabytes, and dies."""

    reader = defects.Greedy


@fault("dies-of-wrong-lengths", violates="robustness.wrong-length", subtle=True)
class DiesOfWrongLengths(Reading):
    """Dies where a text does not end where its length says."""

    reader = defects.OutOfStep


@fault("empty-ends", violates="robustness.empty-message")
class EmptyEnds(Reading):
    """Takes an empty message for the end of what the server has to say."""

    reader = defects.Impatient
