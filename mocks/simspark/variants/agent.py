"""Lawful variants of the agent."""

import asyncio
import re
from math import inf, isinf
from typing import Any

from conformance import codec
from conformance.codec import Frame
from conformance.simspark.scene import number
from mocks.deviations import variant
from mocks.simspark.agent import Agent
from mocks.simspark.connection import Connection
from mocks.stream_readers import LastOfARead

# First messages


@variant("all-at-once", of="agents.init-second")
class AllAtOnce(Agent):
    """Sends scene and init without waiting for perceptors."""

    def opened(self) -> None:
        super().opened()
        self.initialise()


@variant("looks-about-first", of="agents.init-second")
class LooksAboutFirst(Agent):
    """Takes thirty groups of perceptors before its init."""

    def initialise(self) -> None:
        if self.groups >= 30:
            super().initialise()


@variant("in-one-message", of="agents.init-second")
class InOneMessage(Agent):
    """Sends scene and init in one message."""

    def create(self) -> None:
        self.initialised = True
        name = f"(unum {self.settings.unum})(teamname {self.settings.team})"
        self.send(f"(scene {self.settings.scene})(init {name})")


@variant("syn", of="agents.create-first")
class Syn(Agent):
    """Marks the end of each cycle with syn, also before its scene message."""

    def opened(self) -> None:
        self.send("(syn)")
        super().opened()

    def occasional_effector(self) -> str:
        return f"{super().occasional_effector()}(syn)"


# Actions


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


@variant("idle", of="agents.effectors-at-any-time")
class Idle(Agent):
    """Sends no effectors on its own."""

    def act(self) -> None:
        pass


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


@variant("an-effector-a-message", of="agents.effectors-at-any-time")
class AnEffectorAMessage(Agent):
    """Sends each effector in a message of its own."""

    def act(self) -> None:
        self.send(f"({self.settings.hinge} {self.nod():.2f})")
        if more := self.occasional_effector():
            self.send(more)


@variant("spacious", of="text.white-space")
class Spacious(Agent):
    """Writes blanks and line ends at all places where they have no meaning."""

    def encode(self, text: str, connection: Connection) -> bytes:
        return super().encode(text.replace("(", "( ").replace(")", " )") + "\r\n", connection)


# Knowledge


@variant("hinges-in-whole-degrees", of="agents.understood")
class HingesInWholeDegrees(Agent):
    """Keeps the angles of its hinges in whole degrees."""

    def perceive_hinge(self, name: str, text: Any) -> None:
        try:
            whole = str(round(float(text)))
        except (ValueError, TypeError, OverflowError):
            whole = str(text)
        super().perceive_hinge(name, whole)


@variant("keeps-no-hinges", of="agents.understood")
class KeepsNoHinges(Agent):
    """Keeps no hinges."""

    def state(self) -> dict[str, Any]:
        return {"now": self.now}


@variant("keeps-nothing", of="agents.understood")
class KeepsNothing(Idle):
    """Sends no effectors on its own and keeps no hinges, so its knowledge is invisible."""

    def state(self) -> dict[str, Any]:
        return {}


@variant("reckons-with-the-time", of="text.unknown-ignored")
class ReckonsWithTheTime(Agent):
    """Calculates with the time, and leaves if the time is infinite."""

    def perceive(self, name: str, values: list[Any]) -> None:
        super().perceive(name, values)
        texts = [item[1] for item in values if item[:1] == ["now"] and len(item) > 1]
        if name == "time" and any("e" in text.lower() and isinf(float(text)) for text in texts):
            self.close()


@variant("passes-over-what-is-late", of="agents.understood")
class PassesOverWhatIsLate(Agent):
    """Ignores a group whose time is not later than the latest time."""

    def heed(self, frame: Frame) -> None:
        groups = frame.value if isinstance(frame.value, list) else []
        times = [number(item[1][1]) or 0.0 for item in groups if item[:1] == ["time"]]
        if min(times, default=inf) > self.now:
            super().heed(frame)


@variant("newest-group-only", of="frame.segmentation")
class NewestGroupOnly(Agent):
    """Takes only the newest group of one read, because it is late."""

    def make_decoder(self) -> codec.Decoder:
        return LastOfARead(super().make_decoder())


@variant("plain-numbers", of="text.numbers")
class PlainNumbers(Agent):
    """Reads only the forms of numbers in the examples: digits, a minus sign, a point."""

    def perceive_hinge(self, name: str, text: Any) -> None:
        if re.fullmatch(r"-?[0-9]+(\.[0-9]+)?", text):
            super().perceive_hinge(name, text)


@variant("numbers-checked", of="robustness.odd-perceptors")
class NumbersChecked(Agent):
    """Exits after an angle that is not a finite number."""

    def perceive_hinge(self, name: str, text: Any) -> None:
        if number(text) is None:
            raise SystemExit
        super().perceive_hinge(name, text)
