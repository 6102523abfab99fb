"""Faults of the agent in what it takes from the perceptors that it is sent."""

from dataclasses import replace
from itertools import takewhile
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
    """Dies of a perceptor that it does not know."""

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
    """Does not read hinges that have more in them than it knows."""

    def perceive(self, name: str, values: list[Any]) -> None:
        if name != "HJ" or len(values) == 2:
            super().perceive(name, values)


@fault("hinges-by-order", violates="text.unknown-ignored", subtle=True)
class HingesByOrder(Agent):
    """Takes for the name and the angle of a hinge what stands first and second in it."""

    def perceive(self, name: str, values: list[Any]) -> None:
        super().perceive(name, values[:2] if name == "HJ" else values)


@fault("words-alone", violates="agents.understood", subtle=True)
class WordsAlone(Agent):
    """Takes nothing but the words of a group in which something was heard."""

    def heed(self, frame: Frame) -> None:
        heard = [item for item in frame.value if item[:1] == ["hear"]]
        super().heed(replace(frame, value=heard) if heard else frame)


@fault("angles-never-zero", violates="agents.understood", subtle=True)
class AnglesNeverZero(Agent):
    """Takes an angle of 0 for none."""

    def perceive_hinge(self, name: str, text: Any) -> None:
        if number(text):
            super().perceive_hinge(name, text)


@fault("leaves-off-at-the-unknown", violates="text.unknown-ignored", subtle=True)
class LeavesOffAtTheUnknown(Agent):
    """Reads a group up to the first perceptor that it does not know."""

    def heed(self, frame: Frame) -> None:
        known = DiesOfUnknownPerceptors.KNOWN
        if isinstance(frame.value, list):
            read = takewhile(lambda item: item and item[0] in known, frame.value)
            frame = replace(frame, value=list(read))
        super().heed(frame)


@fault("leaves-off-at-nothing-in-sight", violates="text.unknown-ignored", subtle=True)
class LeavesOffAtNothingInSight(Agent):
    """Reads a group up to a look that shows nothing."""

    def heed(self, frame: Frame) -> None:
        if isinstance(frame.value, list):
            read = takewhile(lambda item: item != ["See"], frame.value)
            frame = replace(frame, value=list(read))
        super().heed(frame)


@fault("leaves-off-at-unknown-hinges", violates="text.unknown-ignored", subtle=True)
class LeavesOffAtUnknownHinges(Agent):
    """Reads a group up to the first hinge that its own robot does not have."""

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
    """Takes the first hinge of each group for the first that it was ever told."""

    def heed(self, frame: Frame) -> None:
        first = next(iter(self.hinges), None)
        super().heed(frame)
        angles = [item[2][1] for item in frame.value or () if item[:1] == ["HJ"] and item[2:]]
        if first is not None and angles:
            self.perceive_hinge(first, angles[0])


@fault("forgets-the-untold", violates="agents.understood", subtle=True)
class ForgetsTheUntold(Agent):
    """Knows only the hinges of the last message."""

    def heed(self, frame: Frame) -> None:
        self.hinges.clear()
        super().heed(frame)


@fault("hinges-without-sign", violates="agents.understood")
class HingesWithoutSign(Agent):
    """Takes the size of an angle only."""

    def perceive_hinge(self, name: str, text: Any) -> None:
        super().perceive_hinge(name, str(text).lstrip("-"))


@fault("one-side-for-both", violates="agents.understood", subtle=True)
class OneSideForBoth(Agent):
    """Takes the hinges of the left side for those of the right one as well."""

    def perceive_hinge(self, name: str, text: Any) -> None:
        super().perceive_hinge(name, text)
        if name.startswith("l"):
            super().perceive_hinge(f"r{name[1:]}", text)


@fault("three-hundred-groups", violates="agents.understood", subtle=True)
class ThreeHundredGroups(Agent):
    """Takes in no more than three hundred groups, and acts on."""

    def perceive_hinge(self, name: str, text: Any) -> None:
        if self.groups < 300:
            super().perceive_hinge(name, text)


@fault("every-tenth-lost", violates="frame.segmentation", subtle=True)
class EveryTenthLost(Agent):
    """Takes no notice of every tenth message."""

    came = 0

    def heed(self, frame: Frame) -> None:
        self.came += 1
        if self.came % 10:
            super().heed(frame)


@fault("one-group-behind", violates="frame.segmentation", subtle=True)
class OneGroupBehind(Agent):
    """Takes a message once the next one has come."""

    Reader = decoders.OneBehind


@fault("remains-of-longer-groups", violates="frame.length-prefix", subtle=True)
class RemainsOfLongerGroups(Agent):
    """Reads a group together with what a longer one has left behind it."""

    Reader = decoders.Remains
