"""Faults of the agent in reading its perceptors."""

from collections.abc import Callable
from dataclasses import replace
from itertools import takewhile
from math import isinf
from typing import Any

from conformance.codec import Frame
from conformance.simspark.scene import number
from mocks.deviations import Fault, Subtle, Table, fault
from mocks.simspark.agent import Agent
from mocks.simspark.faults import decoders
from mocks.simspark.robot import PARTS
from mocks.steps import Change, When, alter, before, die, every, skip, then
from mocks.stream_readers import reads

KNOWN = ("time", "GS", "HJ", "GYR", "ACC", "See", "hear")
OWN = tuple(part.perceptor for part in PARTS)
HINGE = When(lambda _, name, values: name == "HJ")


def up_to(known: Callable[[Any], bool]) -> Change:
    """Read a group only up to the first perceptor without a property."""

    def cut(_: Agent, frame: Frame) -> Frame:
        return replace(frame, value=list(takewhile(known, frame.value)))

    return alter("heed", cut, lambda _, frame: isinstance(frame.value, list))


def angle(change: Callable[[str], str]) -> Change:
    """Read what a function makes of the text of an angle."""
    return alter("perceive_hinge", lambda _, name, text: (name, change(str(text))))


def _is_own_or_no_hinge(item: Any) -> bool:
    hinge = isinstance(item, list) and item[:1] == ["HJ"]
    return not hinge or any(["n", name] in item for name in OWN)


def _take_for_right(agent: Agent, name: str, text: Any) -> None:
    Agent.perceive_hinge(agent, f"r{name[1:]}", text)


def _has_infinity(_: Agent, name: str, values: list[Any]) -> bool:
    texts = [text for item in values if isinstance(item, list) for text in item[1:]]
    return any(_is_infinite(text) for text in texts)


def _is_infinite(text: Any) -> bool:
    try:
        return isinf(float(text))
    except (TypeError, ValueError):
        return False


def _is_at_the_same_time(agent: Agent, frame: Frame) -> bool:
    groups = frame.value if isinstance(frame.value, list) else []
    times = [number(item[1][1]) for item in groups if item[:1] == ["time"] and len(item) > 1]
    return agent.now > 0 and agent.now in times


def _has_flat_sights(_: Agent, name: str, values: list[Any]) -> bool:
    return name == "See" and any(isinstance(text, str) for item in values for text in item[1:])


FAULTS = Table(Agent)

FAULTS["text.unknown-ignored"] = {
    "dies-of-long-words": Subtle("Dies of a word of 256 letters.", reads(decoders.LONG_WORDS_KILL)),
    "dies-of-unknown-perceptors": Fault(
        "Dies of an unknown perceptor.",
        before("perceive", die, lambda _, name, values: name not in KNOWN),
    ),
    "dies-of-flat-sights": Subtle(
        "Dies of a seen object with bare numbers.", before("perceive", die, _has_flat_sights)
    ),
    "unknown-ends-the-group": Subtle(
        "Ignores hinges with additional parts.",
        skip("perceive", HINGE & (lambda _, name, values: len(values) != 2)),
    ),
    "hinges-by-order": Subtle(
        "Takes the first two parts of a hinge for its name and its angle.",
        alter("perceive", lambda _, name, values: (name, values[:2]), HINGE),
    ),
    "leaves-off-at-the-unknown": Subtle(
        "Reads a group only up to the first unknown perceptor.",
        up_to(lambda item: item and item[0] in KNOWN),
    ),
    "leaves-off-at-unknown-hinges": Subtle(
        "Reads a group only up to the first hinge that its robot does not have.",
        up_to(_is_own_or_no_hinge),
    ),
}

FAULTS["agents.understood"] = {
    "angles-never-zero": Subtle(
        "Ignores an angle of 0.",
        skip("perceive_hinge", lambda _, name, text: not number(text)),
    ),
    "forgets-the-untold": Subtle(
        "Knows only the hinges of the latest message.",
        before("heed", lambda agent, _: agent.hinges.clear()),
    ),
    "hinges-without-sign": Fault(
        "Ignores the sign of an angle.", angle(lambda text: text.lstrip("-"))
    ),
    "one-side-for-both": Subtle(
        "Uses the angles of the left side also for the right side.",
        then("perceive_hinge", _take_for_right, lambda _, name, text: name.startswith("l")),
    ),
    "three-hundred-groups": Subtle(
        "Ignores hinges after three hundred groups, and still acts.",
        skip("perceive_hinge", lambda agent, name, text: agent.groups >= 300),
    ),
}

FAULTS["robustness.odd-perceptors"] = {
    "leaves-off-at-nothing-in-sight": Subtle(
        "Reads a group only up to an empty See perceptor.", up_to(lambda item: item != ["See"])
    ),
    "dies-of-a-hear-without-team": Subtle(
        "Reads a message after the team, the time and the direction of each hear perceptor.",
        before("perceive", die, lambda _, name, values: name == "hear" and len(values) < 4),
    ),
    "dies-of-a-still-clock": Subtle(
        "Divides by the time since the last group.", before("heed", die, _is_at_the_same_time)
    ),
    "dies-of-infinities": Subtle(
        "Dies of a number that a double cannot hold.", before("perceive", die, _has_infinity)
    ),
    "dies-of-long-numbers": Subtle(
        "Has a buffer of 128 bytes for the text of a number.",
        before("perceive_hinge", die, lambda _, name, text: len(text) > 128),
    ),
}

FAULTS["frame.segmentation"] = {
    "every-tenth-lost": Subtle("Drops every tenth message.", skip("heed", every(10))),
    "one-group-behind": Subtle(
        "Reads a message only after the next one has arrived.", reads(decoders.OneBehind)
    ),
    "half-lengths-kill": Subtle(
        "Dies if only a part of a length has arrived.", reads(decoders.HalfLengthsKill)
    ),
}

FAULTS["frame.length-prefix"] = {
    "remains-of-longer-groups": Subtle(
        "Reads a group together with leftover bytes of a longer, earlier group.",
        reads(decoders.Remains),
    ),
    "closes-above-a-kilobyte": Subtle(
        "Exits if a length is above 1024 bytes.", reads(decoders.ClosesAboveAKilobyte)
    ),
    "reads-three-kilobytes": Subtle(
        "Reads the lists in the first 3000 bytes of a message, and ignores the rest.",
        reads(decoders.ThreeKilobytes),
    ),
}

FAULTS["text.numbers"] = {
    "small-exponents-as-zero": Subtle(
        "Takes every number with a negative exponent for 0.",
        angle(lambda text: "0" if "e-" in text.lower() else text),
    ),
    "exponents-dropped": Subtle(
        "Reads a number only up to its exponent.",
        angle(lambda text: text.lower().partition("e")[0]),
    ),
}


@fault("words-alone", violates="agents.understood", subtle=True)
class WordsAlone(Agent):
    """Reads only the heard words of a group that contains any."""

    def heed(self, frame: Frame) -> None:
        heard = [item for item in frame.value if item[:1] == ["hear"]]
        super().heed(replace(frame, value=heard) if heard else frame)


@fault("hinges-by-place", violates="agents.understood", subtle=True)
class HingesByPlace(Agent):
    """Takes the first hinge of each group for the first hinge that it ever received."""

    def heed(self, frame: Frame) -> None:
        first = next(iter(self.hinges), None)
        super().heed(frame)
        angles = [item[2][1] for item in frame.value or () if item[:1] == ["HJ"] and item[2:]]
        if first is not None and angles:
            self.perceive_hinge(first, angles[0])
