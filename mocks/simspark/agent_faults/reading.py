"""Faults of the agent in how it reads, and in what it makes of what it has read."""

from typing import Any

from conformance.codec import Frame
from mocks.fault import fault
from mocks.simspark import defects, readers
from mocks.simspark.agent import Agent
from mocks.simspark.readers import Reading


@fault("reads-are-messages", violates="frame.segmentation")
class ReadsAreMessages(Reading, Agent):
    """Takes what one read brings for whole messages."""

    reader = readers.Forgetful


@fault("one-message-a-read", violates="frame.segmentation", subtle=True)
class OneMessageARead(Reading, Agent):
    """Drops all but the first message of those that come together."""

    reader = readers.Single


@fault("cut-lengths-lost", violates="frame.segmentation", subtle=True)
class CutLengthsLost(Reading, Agent):
    """Loses a length that comes in two pieces."""

    reader = readers.CutLengths


@fault("sixteen-bits", violates="frame.length-prefix", subtle=True)
class SixteenBits(Reading, Agent):
    """Takes only two bytes of a length that it reads for the length."""

    reader = readers.SixteenBits


@fault("dies-of-malformed", violates="robustness.malformed")
class DiesOfMalformed(Reading, Agent):
    """Dies of a text that is none."""

    reader = defects.Trusting


@fault("recursive-reader", violates="robustness.malformed", subtle=True)
class RecursiveReader(Reading, Agent):
    """Reads brackets by recursion, and dies of a hundred thousand."""

    reader = defects.Recursive


@fault("dies-of-huge-lengths", violates="robustness.huge-length")
class DiesOfHugeLengths(Reading, Agent):
    """Takes memory for gigabytes, and dies."""

    reader = defects.Greedy


@fault("dies-of-wrong-lengths", violates="robustness.wrong-length", subtle=True)
class DiesOfWrongLengths(Reading, Agent):
    """Dies where a text does not end where its length says."""

    reader = defects.OutOfStep


@fault("empty-ends", violates="robustness.empty-message")
class EmptyEnds(Reading, Agent):
    """Takes an empty message for the end of what the server has to say."""

    reader = defects.Impatient


@fault("dies-of-unknown-perceptors", violates="text.unknown-ignored")
class DiesOfUnknownPerceptors(Agent):
    """Dies of a perceptor that it does not know."""

    KNOWN = ("time", "GS", "HJ", "GYR", "ACC", "See", "hear")

    def perceive(self, name: str, values: list[Any]) -> None:
        if name not in self.KNOWN:
            defects.die()
        super().perceive(name, values)


@fault("unknown-ends-the-group", violates="text.unknown-ignored", subtle=True)
class UnknownEndsTheGroup(Agent):
    """Does not read hinges that have more in them than it knows."""

    def perceive(self, name: str, values: list[Any]) -> None:
        if name != "HJ" or len(values) == 2:
            super().perceive(name, values)


@fault("hinges-by-place", violates="agents.understood", subtle=True)
class HingesByPlace(Agent):
    """Takes the first hinge of each group for the first that it was ever told."""

    def take(self, frame: Frame) -> None:
        first = next(iter(self.hinges), None)
        super().take(frame)
        angles = [item[2][1] for item in frame.value or () if item[:1] == ["HJ"] and item[2:]]
        if first is not None and angles:
            self.perceive_hinge(first, angles[0])


@fault("hinges-without-sign", violates="agents.understood")
class HingesWithoutSign(Agent):
    """Takes the size of an angle only."""

    def perceive_hinge(self, name: str, text: Any) -> None:
        super().perceive_hinge(name, str(text).lstrip("-"))
