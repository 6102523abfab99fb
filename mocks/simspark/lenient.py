"""Deviations of agents that the mock of a server can forgive."""

from typing import Any

from mocks.deviations import lenient
from mocks.simspark.agent_port import Agent
from mocks.simspark.server import Server


@lenient("init-first", of="agents.init-second")
class InitFirst(Server):
    """Accepts an init before the robot is created, and executes it after the creation."""

    def effect(self, agent: Agent, expression: Any) -> None:
        word = expression[0] if isinstance(expression, list) and expression else None
        if word == "init" and agent.robot is None:
            agent.stream.tell("forgiven", "forgiven: init before the robot was created")
            agent.memory["early"] = expression
            return
        super().effect(agent, expression)
        if agent.robot is not None and (early := agent.memory.pop("early", None)):
            self.initialise(agent, agent.robot, early)
