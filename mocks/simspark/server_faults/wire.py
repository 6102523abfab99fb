"""Faults of the server in how it writes and reads messages."""

from typing import ClassVar

from conformance.simspark.codec import Decoder
from mocks.deviations import fault
from mocks.simspark import readers
from mocks.simspark.agent_port import Agent
from mocks.simspark.monitor_port import Monitor
from mocks.simspark.robot import Robot
from mocks.simspark.server import Server
from mocks.streams import Stream


@fault("unclosed", violates="text.s-expressions")
class Unclosed(Server):
    """Leaves out the last bracket of a partial state."""

    def partial(self) -> str:
        return super().partial()[:-1]


@fault("unclosed-sight", violates="text.s-expressions", subtle=True)
class UnclosedSight(Server):
    """Does not close the list of what an agent sees."""

    def perceptors(self, agent: Agent, robot: Robot, marks: list[object]) -> str:
        text = super().perceptors(agent, robot, marks)
        return text.replace("(See (", "(See ((", 1)


class _Raw(Monitor):
    """A monitor to which other than ASCII is written."""

    def send(self, text: str) -> None:
        payload = text.encode("utf-8")
        self.write(len(payload).to_bytes(4, "big") + payload)


@fault("umlauts", violates="text.ascii")
class Umlauts(Server):
    """Has a parameter with a name that is not ASCII."""

    def new_monitor(self, stream: Stream) -> Monitor:
        return _Raw(stream, next(self._numbers["monitor"]))

    def environment(self) -> list[str]:
        return [*super().environment(), "(Spielfeldgröße 30)"]


@fault("degree-sign", violates="text.ascii", subtle=True)
class DegreeSign(Umlauts):
    """Writes a sign that is not ASCII into the state once the score is not 0."""

    def environment(self) -> list[str]:
        return Server.environment(self)

    def partial_state(self) -> list[str]:
        pairs = super().partial_state()
        return [*pairs, "(temperature 20°)"] if any("score" in pair for pair in pairs) else pairs


@fault("bare-word", violates="text.predicates")
class BareWord(Server):
    """Begins each group of perceptors with a word in no list."""

    def perceive_time(self) -> str:
        return f"cycle {super().perceive_time()}"


class _Swapped(Monitor):
    def write(self, data: bytes) -> None:
        super().write(data[3::-1] + data[4:])


@fault("little-endian", violates="frame.length-prefix")
class LittleEndian(Server):
    """Writes the least significant byte of a length first."""

    def new_monitor(self, stream: Stream) -> Monitor:
        return _Swapped(stream, next(self._numbers["monitor"]))


class _Counting(Agent):
    def write(self, data: bytes) -> None:
        super().write(len(data).to_bytes(4, "big") + data[4:])


@fault("length-counts-itself", violates="frame.length-prefix", subtle=True)
class LengthCountsItself(Server):
    """Counts the length in the length, to agents."""

    def new_agent(self, stream: Stream) -> Agent:
        return _Counting(stream, next(self._numbers["agent"]))


@fault("sixteen-bits", violates="frame.length-prefix", subtle=True)
class SixteenBits(readers.ReadingMonitors):
    """Takes only two bytes of a length that it reads for the length."""

    reader = readers.SixteenBits


@fault("reads-are-messages", violates="frame.segmentation")
class ReadsAreMessages(readers.ReadingMonitors):
    """Takes what one read brings for whole messages."""

    reader = readers.Forgetful


@fault("one-message-a-read", violates="frame.segmentation", subtle=True)
class OneMessageARead(readers.ReadingMonitors):
    """Executes only the first message of those that come together."""

    reader = readers.Single


@fault("cut-lengths-lost", violates="frame.segmentation", subtle=True)
class CutLengthsLost(readers.ReadingMonitors):
    """Loses a length that comes in two pieces."""

    reader = readers.CutLengths


@fault("one-buffer", violates="frame.segmentation", subtle=True)
class OneBuffer(Server):
    """Puts what all monitors send into one buffer."""

    shared: ClassVar[Decoder] = Decoder()

    def new_monitor(self, stream: Stream) -> Monitor:
        monitor = super().new_monitor(stream)
        monitor.decoder = self.shared
        return monitor


@fault("agents-in-whole-messages", violates="frame.segmentation", subtle=True)
class AgentsInWholeMessages(readers.ReadingAgents):
    """Takes what one read of an agent brings for whole messages."""

    reader = readers.Forgetful


@fault("agents-one-message-a-read", violates="frame.segmentation", subtle=True)
class AgentsOneMessageARead(readers.ReadingAgents):
    """Takes only the first of an agent's messages that come together."""

    reader = readers.Single
