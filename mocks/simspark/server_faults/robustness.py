"""Faults of the server in what it survives."""

from typing import Any

from mocks.deviations import fault
from mocks.simspark import defects
from mocks.simspark.agent_port import Agent
from mocks.simspark.monitor_port import Monitor
from mocks.simspark.readers import ReadingAgents, ReadingMonitors
from mocks.simspark.robot import Robot
from mocks.simspark.server import Server
from mocks.streams import Stream


class _Reading(ReadingMonitors, ReadingAgents):
    """A server that reads with another reader."""


@fault("dies-of-unknown-commands", violates="robustness.unknown-commands")
class DiesOfUnknownCommands(Server):
    """Dies of a command that it does not know."""

    def complain(self, why: str) -> None:
        if "there is no command" in why:
            defects.die()


@fault("deaf-after-an-error", violates="robustness.unknown-commands", subtle=True)
class DeafAfterAnError(Server):
    """Does not execute what stands behind a wrong command in the same message."""

    def hear_monitor(self, monitor: Monitor, frames: list[Any]) -> None:
        for frame in frames:
            self.wrong = False
            for expression in frame.value if isinstance(frame.value, list) else ():
                if not self.wrong:
                    self.hear_command(monitor, expression)

    wrong = False

    def complain(self, why: str) -> None:
        self.wrong = True


@fault("dies-of-wrong-numbers", violates="robustness.unknown-commands", subtle=True)
class DiesOfWrongNumbers(Server):
    """Dies of a place that is no number."""

    def complain(self, why: str) -> None:
        if "are no numbers" in why:
            defects.die()


@fault("dies-of-unknown-effectors", violates="robustness.unknown-effectors")
class DiesOfUnknownEffectors(Server):
    """Dies of an effector that it does not know."""

    def complain_of_effector(self, why: str) -> None:
        defects.die()


@fault("drops-agents-that-talk-long", violates="robustness.unknown-effectors", subtle=True)
class DropsAgentsThatTalkLong(Server):
    """Serves an agent no more that has said too long a text."""

    def say(self, robot: Robot, text: str) -> None:
        super().say(robot, text)
        for agent in self.agents:
            agent.gone = agent.gone or (agent.robot is robot and len(text) > 20)


@fault("recursive-reader", violates="robustness.malformed", subtle=True)
class RecursiveReader(_Reading):
    """Reads brackets by recursion, and dies of a hundred thousand."""

    reader = defects.Recursive


@fault("dies-of-malformed", violates="robustness.malformed")
class DiesOfMalformed(_Reading):
    """Dies of a text that is none."""

    reader = defects.Trusting


@fault("dies-of-bytes", violates="robustness.malformed", subtle=True)
class DiesOfBytes(_Reading):
    """Dies of a byte that is not ASCII."""

    reader = defects.CharacterWise


@fault("dies-of-huge-lengths", violates="robustness.huge-length")
class DiesOfHugeLengths(_Reading):
    """Takes memory for gigabytes, and dies."""

    reader = defects.Greedy


@fault("agents-of-huge-lengths", violates="robustness.huge-length", subtle=True)
class AgentsOfHugeLengths(ReadingAgents):
    """Dies of the length of gigabytes of an agent."""

    reader = defects.Greedy


@fault("dies-of-wrong-lengths", violates="robustness.wrong-length", subtle=True)
class DiesOfWrongLengths(_Reading):
    """Dies where a text does not end where its length says."""

    reader = defects.OutOfStep


@fault("empty-ends", violates="robustness.empty-message")
class EmptyEnds(_Reading):
    """Takes an empty message for the end of what a client has to say."""

    reader = defects.Impatient


@fault("last-words-kill", violates="robustness.several-clients", subtle=True)
class LastWordsKill(Server):
    """Dies when a client goes away inside a message."""

    def agent_left(self, agent: Agent) -> None:
        if agent.decoder.end():
            defects.die()
        super().agent_left(agent)


@fault("leaving-monitor-takes-all", violates="robustness.several-clients")
class LeavingMonitorTakesAll(Server):
    """Closes all connections to monitors when one goes away."""

    async def serve_monitor(self, stream: Stream) -> None:
        await super().serve_monitor(stream)
        for monitor in self.monitors:
            monitor.stream.close()
