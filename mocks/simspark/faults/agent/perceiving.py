"""Faults of the agent in reading its perceptors."""

from dataclasses import replace
from itertools import takewhile
from math import isinf
from typing import Any

from conformance.codec import Frame
from conformance.simspark.scene import number
from mocks.deviations import fault
from mocks.simspark.agent import Agent
from mocks.simspark.faults import decoders
from mocks.simspark.faults.decoders import die
from mocks.simspark.robot import PARTS


@fault("dies-of-unknown-perceptors", violates="text.unknown-ignored")
class DiesOfUnknownPerceptors(Agent):
    """Dies of an unknown perceptor."""

    KNOWN = ("time", "GS", "HJ", "GYR", "ACC", "See", "hear")

    def perceive(self, name: str, values: list[Any]) -> None:
        if name not in self.KNOWN:
            die()
        super().perceive(name, values)


@fault("dies-of-long-words", violates="text.unknown-ignored", subtle=True)
class DiesOfLongWords(Agent):
    """Dies of a word of 256 letters."""

    Reader = decoders.Words


@fault("unknown-ends-the-group", violates="text.unknown-ignored", subtle=True)
class UnknownEndsTheGroup(Agent):
    """Ignores hinges with additional parts."""

    def perceive(self, name: str, values: list[Any]) -> None:
        if name != "HJ" or len(values) == 2:
            super().perceive(name, values)


@fault("hinges-by-order", violates="text.unknown-ignored", subtle=True)
class HingesByOrder(Agent):
    """Takes the first two parts of a hinge for its name and its angle."""

    def perceive(self, name: str, values: list[Any]) -> None:
        super().perceive(name, values[:2] if name == "HJ" else values)


@fault("words-alone", violates="agents.understood", subtle=True)
class WordsAlone(Agent):
    """Reads only the heard words of a group that contains any."""

    def heed(self, frame: Frame) -> None:
        heard = [item for item in frame.value if item[:1] == ["hear"]]
        super().heed(replace(frame, value=heard) if heard else frame)


@fault("angles-never-zero", violates="agents.understood", subtle=True)
class AnglesNeverZero(Agent):
    """Ignores an angle of 0."""

    def perceive_hinge(self, name: str, text: Any) -> None:
        if number(text):
            super().perceive_hinge(name, text)


@fault("leaves-off-at-the-unknown", violates="text.unknown-ignored", subtle=True)
class LeavesOffAtTheUnknown(Agent):
    """Reads a group only up to the first unknown perceptor."""

    def heed(self, frame: Frame) -> None:
        known = DiesOfUnknownPerceptors.KNOWN
        if isinstance(frame.value, list):
            read = takewhile(lambda item: item and item[0] in known, frame.value)
            frame = replace(frame, value=list(read))
        super().heed(frame)


@fault("leaves-off-at-nothing-in-sight", violates="robustness.odd-perceptors", subtle=True)
class LeavesOffAtNothingInSight(Agent):
    """Reads a group only up to an empty See perceptor."""

    def heed(self, frame: Frame) -> None:
        if isinstance(frame.value, list):
            read = takewhile(lambda item: item != ["See"], frame.value)
            frame = replace(frame, value=list(read))
        super().heed(frame)


@fault("leaves-off-at-unknown-hinges", violates="text.unknown-ignored", subtle=True)
class LeavesOffAtUnknownHinges(Agent):
    """Reads a group only up to the first hinge that its robot does not have."""

    OWN = tuple(part.perceptor for part in PARTS)

    def heed(self, frame: Frame) -> None:
        if isinstance(frame.value, list):
            frame = replace(frame, value=list(takewhile(self.knows, frame.value)))
        super().heed(frame)

    def knows(self, item: Any) -> bool:
        hinge = isinstance(item, list) and item[:1] == ["HJ"]
        return not hinge or any(["n", name] in item for name in self.OWN)


@fault("hinges-by-place", violates="agents.understood", subtle=True)
class HingesByPlace(Agent):
    """Takes the first hinge of each group for the first hinge that it ever received."""

    def heed(self, frame: Frame) -> None:
        first = next(iter(self.hinges), None)
        super().heed(frame)
        angles = [item[2][1] for item in frame.value or () if item[:1] == ["HJ"] and item[2:]]
        if first is not None and angles:
            self.perceive_hinge(first, angles[0])


@fault("forgets-the-untold", violates="agents.understood", subtle=True)
class ForgetsTheUntold(Agent):
    """Knows only the hinges of the latest message."""

    def heed(self, frame: Frame) -> None:
        self.hinges.clear()
        super().heed(frame)


@fault("hinges-without-sign", violates="agents.understood")
class HingesWithoutSign(Agent):
    """Ignores the sign of an angle."""

    def perceive_hinge(self, name: str, text: Any) -> None:
        super().perceive_hinge(name, str(text).lstrip("-"))


@fault("one-side-for-both", violates="agents.understood", subtle=True)
class OneSideForBoth(Agent):
    """Uses the angles of the left side also for the right side."""

    def perceive_hinge(self, name: str, text: Any) -> None:
        super().perceive_hinge(name, text)
        if name.startswith("l"):
            super().perceive_hinge(f"r{name[1:]}", text)


@fault("three-hundred-groups", violates="agents.understood", subtle=True)
class ThreeHundredGroups(Agent):
    """Ignores hinges after three hundred groups, and still acts."""

    def perceive_hinge(self, name: str, text: Any) -> None:
        if self.groups < 300:
            super().perceive_hinge(name, text)


@fault("every-tenth-lost", violates="frame.segmentation", subtle=True)
class EveryTenthLost(Agent):
    """Drops every tenth message."""

    came = 0

    def heed(self, frame: Frame) -> None:
        self.came += 1
        if self.came % 10:
            super().heed(frame)


@fault("one-group-behind", violates="frame.segmentation", subtle=True)
class OneGroupBehind(Agent):
    """Reads a message only after the next one has arrived."""

    Reader = decoders.OneBehind


@fault("remains-of-longer-groups", violates="frame.length-prefix", subtle=True)
class RemainsOfLongerGroups(Agent):
    """Reads a group together with leftover bytes of a longer, earlier group."""

    Reader = decoders.Remains


@fault("dies-of-infinities", violates="robustness.odd-perceptors", subtle=True)
class DiesOfInfinities(Agent):
    """Dies of a number that a double cannot hold."""

    def perceive(self, name: str, values: list[Any]) -> None:
        texts = [text for item in values if isinstance(item, list) for text in item[1:]]
        if any(_is_infinite(text) for text in texts):
            die()
        super().perceive(name, values)


@fault("dies-of-long-numbers", violates="robustness.odd-perceptors", subtle=True)
class DiesOfLongNumbers(Agent):
    """Has a buffer of 128 bytes for the text of a number."""

    def perceive_hinge(self, name: str, text: Any) -> None:
        if len(text) > 128:
            die()
        super().perceive_hinge(name, text)


def _is_infinite(text: Any) -> bool:
    try:
        return isinf(float(text))
    except (TypeError, ValueError):
        return False


@fault("small-exponents-as-zero", violates="text.numbers", subtle=True)
class SmallExponentsAsZero(Agent):
    """Takes every number with a negative exponent for 0."""

    def perceive_hinge(self, name: str, text: Any) -> None:
        super().perceive_hinge(name, "0" if "e-" in str(text).lower() else text)


@fault("exponents-dropped", violates="text.numbers", subtle=True)
class ExponentsDropped(Agent):
    """Reads a number only up to its exponent."""

    def perceive_hinge(self, name: str, text: Any) -> None:
        super().perceive_hinge(name, str(text).lower().partition("e")[0])


@fault("closes-above-a-kilobyte", violates="frame.length-prefix", subtle=True)
class ClosesAboveAKilobyte(Agent):
    """Exits if a length is above 1024 bytes."""

    Reader = decoders.ClosesAboveAKilobyte


@fault("reads-three-kilobytes", violates="frame.length-prefix", subtle=True)
class ReadsThreeKilobytes(Agent):
    """Reads the lists in the first 3000 bytes of a message, and ignores the rest."""

    Reader = decoders.ThreeKilobytes


@fault("half-lengths-kill", violates="frame.segmentation", subtle=True)
class HalfLengthsKill(Agent):
    """Dies if only a part of a length has arrived."""

    Reader = decoders.HalfLengthsKill
