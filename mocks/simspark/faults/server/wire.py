"""Faults of the server in writing and reading messages."""

from typing import ClassVar

from conformance import codec
from conformance.simspark.codec import Decoder
from mocks.deviations import fault
from mocks.simspark.agent_port import Agent
from mocks.simspark.connection import Connection
from mocks.simspark.faults.decoders import SixtyFourKilobytes
from mocks.simspark.faults.writing import Utf8
from mocks.simspark.monitor_port import Monitor
from mocks.simspark.robot import Robot
from mocks.simspark.server import Server
from mocks.stream_readers import FirstOfARead, PerRead


@fault("unclosed", violates="text.s-expressions")
class Unclosed(Server):
    """Omits the last bracket of a partial state."""

    def partial(self) -> str:
        return super().partial()[:-1]


@fault("unclosed-sight", violates="text.s-expressions", subtle=True)
class UnclosedSight(Server):
    """Opens an extra bracket in the See perceptor."""

    def perceptors(self, agent: Agent, robot: Robot, marks: list[object]) -> str:
        text = super().perceptors(agent, robot, marks)
        return text.replace("(See (", "(See ((", 1)


@fault("umlauts", violates="text.ascii")
class Umlauts(Utf8, Server):
    """Has a parameter with a name that is not ASCII."""

    def environment(self) -> list[str]:
        return [*super().environment(), "(Spielfeldgröße 30)"]


@fault("degree-sign", violates="text.ascii", subtle=True)
class DegreeSign(Umlauts):
    """Writes a character that is not ASCII into a state with a new score."""

    def environment(self) -> list[str]:
        return Server.environment(self)

    def partial_state(self) -> list[str]:
        pairs = super().partial_state()
        return [*pairs, "(temperature 20°)"] if any("score" in pair for pair in pairs) else pairs


@fault("bare-word", violates="text.predicates")
class BareWord(Server):
    """Begins each group of perceptors with a bare word."""

    def perceive_time(self) -> str:
        return f"cycle {super().perceive_time()}"


@fault("length-counts-itself", violates="frame.length-prefix", subtle=True)
class LengthCountsItself(Server):
    """Counts the length field itself in the lengths for agents."""

    def encode(self, text: str, connection: Connection) -> bytes:
        data = super().encode(text, connection)
        length = len(data) if isinstance(connection, Agent) else len(data) - 4
        return length.to_bytes(4, "big") + data[4:]


@fault("one-buffer", violates="frame.segmentation", subtle=True)
class OneBuffer(Server):
    """Collects the data of all monitors in one buffer."""

    shared: ClassVar[Decoder] = Decoder()

    def new_monitor(self) -> Monitor:
        monitor = super().new_monitor()
        monitor.decoder = self.shared
        return monitor


@fault("later-monitors-in-whole-messages", violates="frame.segmentation", subtle=True)
class LaterMonitorsInWholeMessages(Server):
    """Takes the data of one read for complete messages, from all monitors except the first."""

    def new_monitor(self) -> Monitor:
        monitor = super().new_monitor()
        if monitor.number > 1:
            monitor.decoder = PerRead(self.make_decoder)
        return monitor


class AgentsReadOtherwise(Server):
    """Base class: reads the data of agents with another decoder."""

    def agent_decoder(self) -> codec.Decoder:
        raise NotImplementedError

    def new_agent(self) -> Agent:
        agent = super().new_agent()
        agent.decoder = self.agent_decoder()
        return agent


@fault("agents-in-whole-messages", violates="frame.segmentation", subtle=True)
class AgentsInWholeMessages(AgentsReadOtherwise):
    """Takes the data of one read from an agent for complete messages."""

    def agent_decoder(self) -> codec.Decoder:
        return PerRead(self.make_decoder)


@fault("agents-one-message-a-read", violates="frame.segmentation", subtle=True)
class AgentsOneMessageARead(AgentsReadOtherwise):
    """Drops all messages in one read from an agent except the first."""

    def agent_decoder(self) -> codec.Decoder:
        return FirstOfARead(self.make_decoder())


@fault("agents-of-64-kilobytes", violates="agents.effectors", subtle=True)
class AgentsOf64Kilobytes(AgentsReadOtherwise):
    """Reads only the first 64 kB from an agent."""

    def agent_decoder(self) -> codec.Decoder:
        return SixtyFourKilobytes()


@fault("monitors-of-64-kilobytes", violates="monitors.commands", subtle=True)
class MonitorsOf64Kilobytes(Server):
    """Reads only the first 64 kB from a monitor."""

    def new_monitor(self) -> Monitor:
        monitor = super().new_monitor()
        monitor.decoder = SixtyFourKilobytes()
        return monitor


@fault("one-length-turned-round", violates="frame.length-prefix", subtle=True)
class OneLengthTurnedRound(Server):
    """Writes a length in little-endian order in the tenth message to a client."""

    def encode(self, text: str, connection: Connection) -> bytes:
        data = super().encode(text, connection)
        return data[3::-1] + data[4:] if connection.sent == 9 else data


@fault("forgets-what-does-not-fit", violates="frame.length-prefix", subtle=True)
class ForgetsWhatDoesNotFit(Server):
    """Sends only half of a message if the connection does not take it at once."""

    def encode(self, text: str, connection: Connection) -> bytes:
        data = super().encode(text, connection)
        return data[: len(data) // 2] if connection.stream.is_behind else data


@fault("lengths-of-sixteen-bits", violates="frame.length-prefix", subtle=True)
class LengthsOfSixteenBits(Server):
    """Writes only the two lower bytes of a length."""

    def encode(self, text: str, connection: Connection) -> bytes:
        return bytes(2) + super().encode(text, connection)[2:]
