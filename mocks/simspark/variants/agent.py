"""Lawful variants of the agent."""

import asyncio
import re
from math import inf, isinf
from typing import Any

from conformance.codec import Frame
from conformance.simspark.scene import number
from mocks.deviations import Table, Variant, variant
from mocks.simspark.agent import Agent
from mocks.simspark.reconnecting import comes_back
from mocks.simspark.variants.bases import NOTHING, knows, spaced, writes
from mocks.steps import alter, before, fail, instead, only, returning, send, skip, then
from mocks.stream_readers import LastOfARead


def _act_in_two_messages(agent: Agent) -> None:
    agent.send(f"({agent.settings.hinge} {agent.nod():.2f})")
    if more := agent.occasional_effector():
        agent.send(more)


def _whole_degrees(_: Agent, name: str, text: Any) -> tuple[str, str]:
    try:
        return name, str(round(float(text)))
    except (ValueError, TypeError, OverflowError):
        return name, str(text)


def _tenths(_: Agent, name: str, text: Any) -> tuple[str, str]:
    try:
        return name, f"{float(text):.1f}"
    except (ValueError, TypeError, OverflowError):
        return name, str(text)


def _is_newer(agent: Agent, frame: Frame) -> bool:
    groups = frame.value if isinstance(frame.value, list) else []
    times = [number(item[1][1]) or 0.0 for item in groups if item[:1] == ["time"]]
    return min(times, default=inf) > agent.now


def _is_infinite_time(_: Agent, name: str, values: list[Any]) -> bool:
    texts = [item[1] for item in values if item[:1] == ["now"] and len(item) > 1]
    return name == "time" and any("e" in t.lower() and isinf(float(t)) for t in texts)


VARIANTS = Table(Agent)

VARIANTS["text.predicates"] = {
    "effectors-in-lists": Variant(
        "Puts some effectors into an extra list, as in the example of getAck.",
        returning("occasional_effector", lambda text: text and f"({text})"),
    ),
}

VARIANTS["monitors.only-commands-of-trainers"] = {
    "says-a-command": Variant(
        "Says the name of a trainer command to its team.",
        returning("occasional_effector", lambda text: f"{text}(say kickOff)"),
    ),
}

VARIANTS["agents.create-first"] = {
    "comes-back": Variant(
        "Connects again after a disconnect, and creates its robot again.",
        then("run", comes_back(Agent)),
    ),
    "syn": Variant(
        "Marks the end of each cycle with syn, also before its scene message.",
        before("opened", send("(syn)")),
        returning("occasional_effector", lambda text: f"{text}(syn)"),
    ),
}

VARIANTS["agents.init-second"] = {
    "all-at-once": Variant(
        "Sends scene and init without waiting for perceptors.", then("opened", "initialise")
    ),
    "looks-about-first": Variant(
        "Takes thirty groups of perceptors before its init.",
        only("initialise", lambda agent: agent.groups >= 30),
    ),
}

VARIANTS["agents.effectors-at-any-time"] = {
    "idle": Variant("Sends no effectors on its own.", skip("act")),
    "an-effector-a-message": Variant(
        "Sends each effector in a message of its own.", instead("act", _act_in_two_messages)
    ),
}

VARIANTS["text.white-space"] = {
    "spacious": Variant(
        "Writes blanks and line ends at all places where they have no meaning.", writes(spaced)
    ),
}

VARIANTS["agents.understood"] = {
    "hinges-in-whole-degrees": Variant(
        "Keeps the angles of its hinges in whole degrees.",
        alter("perceive_hinge", _whole_degrees),
    ),
    "hinges-in-tenths": Variant(
        "Keeps the angles of its hinges in tenths of a degree.", alter("perceive_hinge", _tenths)
    ),
    "keeps-no-hinges": Variant("Keeps no hinges.", knows(lambda known: {"now": known["now"]})),
    "keeps-nothing": Variant(
        "Sends no effectors on its own and keeps no hinges, so its knowledge is invisible.",
        skip("act"),
        NOTHING,
    ),
    "passes-over-what-is-late": Variant(
        "Ignores a group whose time is not later than the latest time.", only("heed", _is_newer)
    ),
}

VARIANTS["text.unknown-ignored"] = {
    "reckons-with-the-time": Variant(
        "Calculates with the time, and leaves if the time is infinite.",
        then("perceive", lambda agent, *_: agent.close(), _is_infinite_time),
    ),
}

VARIANTS["frame.segmentation"] = {
    "newest-group-only": Variant(
        "Takes only the newest group of one read, because it is late.",
        returning("make_decoder", LastOfARead),
    ),
}

VARIANTS["text.numbers"] = {
    "plain-numbers": Variant(
        "Reads only the forms of numbers in the examples: digits, a minus sign, a point.",
        only("perceive_hinge", lambda _, name, text: re.fullmatch(r"-?[0-9]+(\.[0-9]+)?", text)),
    ),
}

VARIANTS["robustness.odd-perceptors"] = {
    "numbers-checked": Variant(
        "Exits after an angle that is not a finite number.",
        before("perceive_hinge", fail(SystemExit), lambda _, name, text: number(text) is None),
    ),
}


@variant("beams-once", of="frame.segmentation")
class BeamsOnce(Agent):
    """Beams once after its init, and acts only during the game. It keeps no hinges."""

    def act(self) -> None:
        if not vars(self).get("beamed"):
            vars(self)["beamed"] = True
            self.send("(beam -2 1 0)")
        elif self.game.get("pm") == ["PlayOn"]:
            super().act()

    def state(self) -> dict[str, Any]:
        return {}


@variant("in-one-message", of="agents.init-second")
class InOneMessage(Agent):
    """Sends scene and init in one message."""

    def create(self) -> None:
        self.initialised = True
        name = f"(unum {self.settings.unum})(teamname {self.settings.team})"
        self.send(f"(scene {self.settings.scene})(init {name})")


@variant("leaves-unnumbered", of="agents.effectors-at-any-time")
class LeavesUnnumbered(Agent):
    """Acts after it has its number and side, and leaves without them after five groups."""

    since = 0

    def act(self) -> None:
        if "unum" in self.game and "team" in self.game:
            super().act()
            return
        self.since += 1
        if self.since > 5:
            self.close()


@variant("leaves-after-a-hundred", of="agents.effectors-at-any-time")
class LeavesAfterAHundred(Agent):
    """Ends its session after a hundred groups."""

    def act(self) -> None:
        super().act()
        if self.groups > 100:
            self.close()


@variant("acts-once", of="agents.effectors-at-any-time")
class ActsOnce(Agent):
    """Sends effectors only after its first group."""

    acted = False

    def act(self) -> None:
        if not self.acted:
            self.acted = True
            super().act()


@variant("acts-for-a-second", of="agents.effectors-at-any-time")
class ActsForASecond(Agent):
    """Sends effectors only until it has reached its pose, after fifty groups."""

    def act(self) -> None:
        if self.groups <= 50:
            super().act()


@variant("by-its-own-clock", of="agents.effectors-at-any-time")
class ByItsOwnClock(Agent):
    """Acts every 20 ms, with or without perceptors."""

    acting: "asyncio.Task[None] | None" = None

    def initialise(self) -> None:
        super().initialise()
        self.acting = asyncio.ensure_future(self.keep_acting())

    async def keep_acting(self) -> None:
        while not self.ended:
            super().act()
            await asyncio.sleep(0.02)

    def act(self) -> None:
        pass
