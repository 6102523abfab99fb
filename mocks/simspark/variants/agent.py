"""What an agent may lawfully do otherwise."""

import asyncio
from math import inf, isinf
from typing import Any

from conformance import codec
from conformance.codec import Frame
from conformance.simspark.scene import number
from mocks.deviations import variant
from mocks.misreading import LastOfARead
from mocks.simspark.agent import Agent
from mocks.simspark.connection import Connection

# Its first messages


@variant("all-at-once", of="agents.init-second")
class AllAtOnce(Agent):
    """Sends its first two messages without waiting for perceptors."""

    def opened(self) -> None:
        super().opened()
        self.initialise()


@variant("looks-about-first", of="agents.init-second")
class LooksAboutFirst(Agent):
    """Takes thirty groups of perceptors before it initialises its robot."""

    def initialise(self) -> None:
        if self.groups >= 30:
            super().initialise()


@variant("in-one-message", of="agents.init-second")
class InOneMessage(Agent):
    """Sends both expressions in one message."""

    def create(self) -> None:
        self.initialised = True
        name = f"(unum {self.settings.unum})(teamname {self.settings.team})"
        self.send(f"(scene {self.settings.scene})(init {name})")


@variant("syn", of="agents.create-first")
class Syn(Agent):
    """Marks the end of each cycle, the first one before it has a robot."""

    def opened(self) -> None:
        self.send("(syn)")
        super().opened()

    def now_and_then(self) -> str:
        return f"{super().now_and_then()}(syn)"


# What it does


@variant("leaves-unnumbered", of="agents.effectors-at-any-time")
class LeavesUnnumbered(Agent):
    """Acts once it knows its number and side, and leaves where five groups do not tell them."""

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
    """Sends no effectors by itself."""

    def act(self) -> None:
        pass


@variant("by-its-own-clock", of="agents.effectors-at-any-time")
class ByItsOwnClock(Agent):
    """Acts every 20 ms, whether it is sent perceptors or not."""

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
        if more := self.now_and_then():
            self.send(more)


@variant("spacious", of="text.white-space")
class Spacious(Agent):
    """Writes blanks and line ends wherever they mean nothing."""

    def written(self, text: str, connection: Connection) -> bytes:
        return super().written(text.replace("(", "( ").replace(")", " )") + "\r\n", connection)


# What it knows


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
    """Sends no effectors by itself and keeps no hinges: nothing shows what it knows."""

    def state(self) -> dict[str, Any]:
        return {}


@variant("reckons-with-the-time", of="text.unknown-ignored")
class ReckonsWithTheTime(Agent):
    """Moves by the sine of the time, and leaves where that has none."""

    def perceive(self, name: str, values: list[Any]) -> None:
        super().perceive(name, values)
        texts = [item[1] for item in values if item[:1] == ["now"] and len(item) > 1]
        if name == "time" and any("e" in text.lower() and isinf(float(text)) for text in texts):
            self.close()


@variant("passes-over-what-is-late", of="agents.understood")
class PassesOverWhatIsLate(Agent):
    """Takes no group that is not later than the latest."""

    def heed(self, frame: Frame) -> None:
        groups = frame.value if isinstance(frame.value, list) else []
        times = [number(item[1][1]) or 0.0 for item in groups if item[:1] == ["time"]]
        if min(times, default=inf) > self.now:
            super().heed(frame)


@variant("newest-group-only", of="frame.segmentation")
class NewestGroupOnly(Agent):
    """Takes the newest of those groups that one read brings: it has fallen behind the others."""

    def make_decoder(self) -> codec.Decoder:
        return LastOfARead(super().make_decoder())
