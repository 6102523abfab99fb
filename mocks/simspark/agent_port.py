"""The side of the server for agents: receives effectors, sends perceptors."""

from typing import Any

from conformance.codec import Frame
from conformance.simspark.sexp import Expression
from mocks.simspark import perception
from mocks.simspark.connection import Connection, Endpoint
from mocks.simspark.robot import BY_EFFECTOR, FASTEST, Robot
from mocks.simspark.trainer import Wrong, measures, numbers, parameters
from mocks.simspark.world import World

BEFORE_PLAY = ("BeforeKickOff", "Goal_Left", "Goal_Right")
LONGEST = 20  # characters; a longer text is not heard
SEEN, FELT = 3, 10  # cycles between two See perceptors, and between two AgentState perceptors

GYRO = "(GYR (n torso) (rt 0.00 0.00 0.00))(ACC (n torso) (a 0.00 0.00 9.81))"


class Agent(Connection):
    """An agent, and its robot after the scene message."""

    def __init__(self, port: "AgentPort", number: int) -> None:
        super().__init__(port, number)
        self._port = port

    robot: Robot | None = None
    cycles = 0
    introduced = False
    gone = False
    """True after the robot was removed from the simulation."""

    def opened(self) -> None:
        self._port.agents.append(self)

    def heed(self, frame: Frame) -> None:
        self._port.hear_agent(self, frame)

    async def leave(self) -> None:
        self._port.agent_left(self)
        await super().leave()


class AgentPort(Endpoint):
    """Serves all agents."""

    world: World
    agents: list[Agent]

    def agent_left(self, agent: Agent) -> None:
        self.agents.remove(agent)
        if agent.robot is not None:
            self.world.remove(agent.robot)

    def hear_agent(self, agent: Agent, frame: Frame) -> None:
        """Execute the expressions of one message."""
        for expression in frame.value if isinstance(frame.value, list) else ():
            self.effect(agent, expression)

    def effect(self, agent: Agent, expression: Expression) -> None:
        if not isinstance(expression, list) or not expression:
            return
        word = expression[0]
        if not isinstance(word, str):
            return
        if word == "scene":
            self.create(agent, expression)
        elif agent.robot is not None and not agent.gone:
            try:
                self.use_effector(agent, agent.robot, word, expression)
            except Wrong as wrong:
                self.complain_of_effector(f"agent {agent.number}: {wrong}")

    def complain_of_effector(self, why: str) -> None:
        """Ignore an error. Subclasses log it."""

    def use_effector(self, agent: Agent, robot: Robot, word: str, values: list[Any]) -> None:
        if word in BY_EFFECTOR:
            self.turn_hinge(robot, BY_EFFECTOR[word], numbers(values[1:], 1)[0])
        elif word == "init":
            self.initialise(agent, robot, values)
        elif word == "beam":
            self.beam(robot, measures(values[1:], 3))
        elif word == "say":
            self.say(robot, str(values[1]) if len(values) > 1 else "")
        elif word != "syn":
            raise Wrong(f"there is no effector {word!r:.60}")

    def create(self, agent: Agent, expression: list[Any]) -> None:
        if agent.robot is None and len(expression) > 1:
            agent.robot = self.new_robot()
            self.world.add(agent.robot)
            agent.stream.tell("created", f"created a robot from {str(expression[1])[:200]}")

    def new_robot(self) -> Robot:
        """Return a robot that waits outside the field until it has a team."""
        beside = self.world.settings.environment.FieldWidth / 2 + 2
        return Robot(x=float(len(self.world.robots)), y=-beside)

    def initialise(self, agent: Agent, robot: Robot, values: list[Any]) -> None:
        given = parameters(values)
        unum = given.get("unum", ["0"])[0]
        number = int(unum) if isinstance(unum, str) and unum.isdecimal() else 0
        if robot.unum:
            why = f"the robot is already number {robot.unum} of {robot.team}"
        elif "teamname" not in given:
            why = "teamname is missing"
        elif number > 11:
            why = f"unum {number} is above 11"
        elif not self.world.enrol(robot, number, str(given["teamname"][0])):
            why = f"{str(given['teamname'][0])[:40]} has no place {number or 'any more'}"
        else:
            who = f"{robot.unum} of {robot.team[:40]}, on the {robot.side}"
            agent.stream.tell("registered", f"plays as number {who}")
            return
        agent.stream.tell("refused", f"init: {why}")

    def turn_hinge(self, robot: Robot, place: int, speed: float) -> None:
        robot.speeds[place] = min(max(speed, -FASTEST), FASTEST)

    def beam(self, robot: Robot, values: list[float]) -> None:
        if self.world.mode not in BEFORE_PLAY or not robot.side:
            return
        x, y, turn = values
        own = 1 if robot.side == "left" else -1
        robot.place(own * min(x, 0.0), own * y, robot.z, turn - 90 * own)

    def say(self, robot: Robot, text: str) -> None:
        if 0 < len(text) <= LONGEST:
            self.said.append((robot, text))

    said: list[tuple[Robot, str]]

    # Perceptors

    def tell_agents(self) -> None:
        """Send one group of perceptors to each agent that has a robot."""
        marks = perception.landmarks(self.world)
        for agent in self.agents:
            if agent.robot is not None and not agent.gone:
                if agent.robot not in self.world.robots:
                    agent.gone = True
                    continue
                agent.cycles += 1
                if not agent.stream.congested:
                    agent.send(self.perceptors(agent, agent.robot, marks))
        self.said.clear()

    def perceptors(self, agent: Agent, robot: Robot, marks: list[Any]) -> str:
        parts = [self.perceive_time(), self.perceive_game(agent, robot), GYRO]
        parts += self.perceive_hinges(robot)
        if agent.cycles % SEEN == 1:
            parts.append(perception.see(self.world, robot, marks))
        parts += self.perceive_words(robot)
        if agent.cycles % FELT == 1:
            parts.append(self.perceive_itself(robot))
        return "".join(parts)

    def perceive_time(self) -> str:
        return f"(time (now {self.world.now:.2f}))"

    def perceive_game(self, agent: Agent, robot: Robot) -> str:
        own = ""
        if robot.unum and not agent.introduced:
            agent.introduced = True
            own = f"(unum {robot.unum}) (team {robot.side}) "
        return perception.game_state(self.world, own)

    def perceive_hinges(self, robot: Robot) -> list[str]:
        return robot.hinges

    def perceive_words(self, robot: Robot) -> list[str]:
        return [
            perception.hear(robot, speaker, self.world.time, text) for speaker, text in self.said
        ]

    def perceive_itself(self, robot: Robot) -> str:
        head = robot.angles[0], robot.angles[1]
        state = f"(battery {robot.battery:g}) (temp {robot.temperature:g})"
        return f"(AgentState (pan_tilt {head[0]:.2f} {head[1]:.2f}) {state})"
