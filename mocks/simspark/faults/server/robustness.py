"""Faults of the server in surviving its clients."""

from typing import Any

from conformance.codec import Decoder, Frame
from conformance.simspark.codec import LENGTH
from mocks.deviations import fault
from mocks.simspark.agent_port import Agent
from mocks.simspark.connection import Connection
from mocks.simspark.faults import decoders
from mocks.simspark.faults.server.wire import AgentsReadOtherwise
from mocks.simspark.monitor_port import Monitor
from mocks.simspark.robot import Robot
from mocks.simspark.server import Server
from mocks.simspark.trainer import parameters


@fault("dies-of-unknown-commands", violates="robustness.unknown-commands")
class DiesOfUnknownCommands(Server):
    """Dies of an unknown command."""

    def complain(self, why: str) -> None:
        if "there is no command" in why:
            decoders.die()


@fault("deaf-after-an-error", violates="robustness.unknown-commands", subtle=True)
class DeafAfterAnError(Server):
    """Ignores the commands after a wrong one in the same message."""

    def hear_monitor(self, monitor: Monitor, frame: Frame) -> None:
        self.wrong = False
        for expression in frame.value if isinstance(frame.value, list) else ():
            if not self.wrong:
                self.hear_command(monitor, expression)

    wrong = False

    def complain(self, why: str) -> None:
        self.wrong = True


@fault("dies-of-wrong-numbers", violates="robustness.unknown-commands", subtle=True)
class DiesOfWrongNumbers(Server):
    """Dies of a value that is not a number."""

    def complain(self, why: str) -> None:
        if "are not numbers" in why:
            decoders.die()


@fault("dies-of-long-words", violates="robustness.unknown-commands", subtle=True)
class DiesOfLongWords(Server):
    """Dies of a word of 256 letters."""

    Reader = decoders.Words


@fault("dies-of-unknown-effectors", violates="robustness.unknown-effectors")
class DiesOfUnknownEffectors(Server):
    """Dies of an unknown effector."""

    def complain_of_effector(self, why: str) -> None:
        decoders.die()


@fault("drops-agents-that-talk-long", violates="robustness.unknown-effectors", subtle=True)
class DropsAgentsThatTalkLong(Server):
    """Stops serving an agent that has said a text of more than 20 characters."""

    def say(self, robot: Robot, text: str) -> None:
        super().say(robot, text)
        for agent in self.agents:
            agent.gone = agent.gone or (agent.robot is robot and len(text) > 20)


@fault("dies-of-bytes", violates="robustness.malformed", subtle=True)
class DiesOfBytes(Server):
    """Dies of a byte that is not ASCII."""

    Reader = decoders.CharacterWise


@fault("deaf-to-malformed-agents", violates="robustness.malformed", subtle=True)
class DeafToMalformedAgents(AgentsReadOtherwise):
    """Reads nothing more from an agent after a malformed text."""

    def agent_decoder(self) -> Decoder:
        return decoders.Offended()


@fault("mute-after-malformed", violates="robustness.malformed", subtle=True)
class MuteAfterMalformed(Server):
    """Sends nothing more to a monitor after a malformed text."""

    def log_misread(self, connection: Connection, error: str) -> None:
        super().log_misread(connection, error)
        connection.memory["mute"] = True

    def tell_monitor(self, monitor: Monitor, pairs: list[str], scene: str) -> None:
        if "mute" not in monitor.memory:
            super().tell_monitor(monitor, pairs, scene)


@fault("agents-of-huge-lengths", violates="robustness.huge-length", subtle=True)
class AgentsOfHugeLengths(AgentsReadOtherwise):
    """Dies of a length of gigabytes from an agent."""

    def agent_decoder(self) -> Decoder:
        return decoders.Greedy()


@fault("last-words-kill", violates="robustness.several-clients", subtle=True)
class LastWordsKill(Server):
    """Dies when an agent disconnects inside a message."""

    def agent_left(self, agent: Agent) -> None:
        if agent.decoder.end():
            decoders.die()
        super().agent_left(agent)


@fault("leaving-monitor-takes-all", violates="monitors.keeps-sending")
class LeavingMonitorTakesAll(Server):
    """Closes the connections of all monitors when one monitor leaves."""

    def monitor_left(self, monitor: Monitor) -> None:
        super().monitor_left(monitor)
        for other in self.monitors:
            other.close()


@fault("twenty-connections", violates="robustness.several-clients", subtle=True)
class TwentyConnections(Server):
    """Closes every monitor connection after the twentieth, even if earlier ones have ended."""

    def welcome(self, monitor: Monitor) -> None:
        if monitor.number > 20:
            monitor.close()
        else:
            super().welcome(monitor)


@fault("dies-of-great-numbers", violates="robustness.unknown-effectors", subtle=True)
class DiesOfGreatNumbers(Server):
    """Dies of an init with a number above 11."""

    def initialise(self, agent: Agent, robot: Robot, values: list[Any]) -> None:
        if float(parameters(values).get("unum", ["0"])[0]) > 11:
            decoders.die()
        super().initialise(agent, robot, values)


@fault("dies-of-resets", violates="robustness.several-clients", subtle=True)
class DiesOfResets(Server):
    """Dies when the connection of an agent is reset."""

    def agent_left(self, agent: Agent) -> None:
        if agent.stream.broken:
            decoders.die()
        super().agent_left(agent)


@fault("agents-end-by-resets", violates="robustness.several-clients", subtle=True)
class AgentsEndByResets(Server):
    """Sends nothing more to agents after a monitor was reset inside a message."""

    reset = False

    def monitor_left(self, monitor: Monitor) -> None:
        super().monitor_left(monitor)
        self.reset = self.reset or (monitor.stream.broken and bool(monitor.decoder.end()))

    def tell_agents(self) -> None:
        if not self.reset:
            super().tell_agents()


@fault("waits-for-a-length", violates="robustness.several-clients", subtle=True)
class WaitsForALength(Server):
    """Ignores monitors while an agent is inside a length."""

    def hear_monitor(self, monitor: Monitor, frame: Frame) -> None:
        held = [frame.raw for agent in self.agents for frame in agent.decoder.end()]
        if all(len(raw) >= LENGTH.size for raw in held):
            super().hear_monitor(monitor, frame)


@fault("unread-stops-all", violates="robustness.slow-monitor", subtle=True)
class UnreadStopsAll(Server):
    """Runs no cycle while a monitor has unread data."""

    def cycle(self) -> None:
        if not any(monitor.stream.is_behind for monitor in self.monitors):
            super().cycle()


@fault("dies-of-a-gone-selection", violates="robustness.several-clients", subtle=True)
class DiesOfAGoneSelection(Server):
    """Dies of a command for a selected agent that has left."""

    left: Robot | None = None

    def agent_left(self, agent: Agent) -> None:
        if agent.robot is self.world.selected:
            self.left = agent.robot
        super().agent_left(agent)

    def find_named_or_selected(self, command: list[Any]) -> Robot:
        if self.left and not self.world.selected and command[1:] == []:
            decoders.die()
        return super().find_named_or_selected(command)


@fault("dies-of-the-removed", violates="robustness.several-clients", subtle=True)
class DiesOfTheRemoved(Server):
    """Dies of an effector of an agent whose robot was removed."""

    def effect(self, agent: Agent, expression: Any) -> None:
        if agent.robot and agent.robot not in self.world.robots:
            decoders.die()
        super().effect(agent, expression)
