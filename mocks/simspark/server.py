"""The reference server: a pitch with a ball and robots.

Any number of agents and monitors can connect. The server simulates hinges, the ball with its
contact with robots, and the play modes. Everything else is simplified:

- Robots do not walk, fall over or collide; they are placed by beam.
- Vision is exact.
- There is no offside.
- Gyroscope and accelerometer always report a robot that does not move.
"""

import argparse
import asyncio
from collections.abc import Coroutine, Mapping
from dataclasses import fields, replace
from itertools import count
from typing import Any

from mocks import run, streams, upper_tester
from mocks.run import note
from mocks.simspark.agent_port import Agent, AgentPort
from mocks.simspark.game import Game
from mocks.simspark.monitor_port import Monitor, MonitorPort
from mocks.simspark.settings import AGENTS, CYCLE, MONITORS, Environment, Settings
from mocks.simspark.trainer import Trainer
from mocks.simspark.world import World
from mocks.streams import Stream

CHANNELS = ("agent", "monitor")


class Server(AgentPort, Trainer, MonitorPort):
    """A simulation with all its clients."""

    def __init__(self, settings: Settings) -> None:
        self.world = World(settings)
        self.agents: list[Agent] = []
        self.monitors: list[Monitor] = []
        self.said = []
        self.state_told = {}
        self.nodes_told = {}
        self.cycles = 0
        self.game: Game | None = None
        """The game that plays itself, if any."""
        self._numbers = {"agent": count(1), "monitor": count(1)}

    # The simulation

    async def simulate(self) -> None:
        """Run one cycle after another until cancelled. Late cycles are not caught up."""
        loop = asyncio.get_running_loop()
        due = loop.time()
        while True:
            self.cycle()
            due = max(due + CYCLE / self.world.settings.pace, loop.time())
            await asyncio.sleep(due - loop.time())

    def cycle(self) -> None:
        self.cycles += 1
        for command in self.game.take_due(self.world.now) if self.game else ():
            self.execute(command)
        self.world.step()
        self.judge()
        self.tell_agents()
        if self.cycles % self.world.settings.steps == 0:
            self.tell_monitors()

    # Connections

    async def serve_agent(self, stream: Stream) -> None:
        await self.new_agent().run(stream)

    def new_agent(self) -> Agent:
        return Agent(self, next(self._numbers["agent"]))

    async def serve_monitor(self, stream: Stream) -> None:
        await self.new_monitor().run(stream)

    def new_monitor(self) -> Monitor:
        return Monitor(self, next(self._numbers["monitor"]))

    def complain(self, why: str) -> None:
        note(why)

    def complain_of_effector(self, why: str) -> None:
        note(why)


PEER = Server

LISTENS = True
"""Without an address it listens at the ports of the specification."""


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--agent-port", type=int, metavar="PORT", help=f"default {AGENTS}")
    parser.add_argument("--monitor-port", type=int, metavar="PORT", help=f"default {MONITORS}")
    parser.add_argument("--merged", action="store_true", help="environment and state in one list")
    parser.add_argument("--rooted", action="store_true", help="write the root as a base node")
    parser.add_argument("--typed", action="store_true", help="keep the types of nodes in updates")
    parser.add_argument("--lines", action="store_true", help="end each message with a line end")
    parser.add_argument("--steps", type=int, default=2, metavar="CYCLES", help="between two states")
    parser.add_argument(
        "--pace", type=float, default=1.0, help="simulation seconds per real second"
    )
    parser.add_argument(
        "--game", action="store_true", help="play through all play modes in about a minute"
    )
    parser.add_argument("--upper-tester", action="store_true", help="operations on stdin")
    parser.add_argument(
        "--stepped", action="store_true", help="time passes only by the operation step"
    )
    parser.add_argument(
        *("--set", "-s"),
        action="append",
        default=[],
        metavar="NAME=NUMBER",
        help="a parameter of the environment, such as FieldLength=18",
    )


async def main(args: argparse.Namespace, peer: type[Server]) -> int:
    """Serve agents and monitors until the process is stopped.

    `--listen AGENTS,MONITORS` gives the addresses of both ports.
    """
    if args.connect:
        raise ValueError(
            "a server does not connect; give the address for agents with --listen HOST:PORT"
        )
    agents, monitors = addresses(args)
    run.here().channels = CHANNELS
    server = peer(settings(args))
    if args.game:
        server.game = Game(server.world.settings.environment)
    work: list[Coroutine[Any, Any, None]] = [
        streams.serve(agents, server.serve_agent, "agent"),
        streams.serve(monitors, server.serve_monitor, "monitor"),
    ]
    if not args.stepped:
        work.append(server.simulate())
    working = asyncio.gather(*work)
    try:
        if args.upper_tester:
            await upper_tester.serve(operations(server))
        else:
            await working
    finally:
        working.cancel()
    return 0


def operations(server: Server) -> Mapping[str, upper_tester.Operation]:
    async def step(args: dict[str, Any]) -> Any:
        """Run some cycles of 20 ms; return the seconds of simulation since the start."""
        for _ in range(int(args.get("cycles", 1))):
            server.cycle()
        return server.world.now

    async def command(args: dict[str, Any]) -> None:
        """Execute a trainer command in its decoded form."""
        server.execute(args["command"])

    async def state(args: dict[str, Any]) -> Any:
        world, ball = server.world, server.world.ball
        game = {"now": world.now, "time": world.time, "half": world.half, "score": world.score}
        players = [{"unum": r.unum, "team": r.team, "pos": [r.x, r.y, r.z]} for r in world.robots]
        return {**game, "mode": world.mode, "ball": [ball.x, ball.y, ball.z], "players": players}

    return {"step": step, "command": command, "state": state}


def addresses(args: argparse.Namespace) -> tuple[str, str]:
    """Return the address for agents and the address for monitors."""
    first, _, second = (args.listen or "").partition(",")
    _, host, port = streams.parse(first) if first else ("", "127.0.0.1", AGENTS)
    agents = port if args.agent_port is None else args.agent_port
    usual = MONITORS if port else 0
    monitors = usual if args.monitor_port is None else args.monitor_port
    return f"{host}:{agents}", second or f"{host}:{monitors}"


def settings(args: argparse.Namespace) -> Settings:
    names = {field.name for field in fields(Environment)}
    environment = Environment()
    for entry in args.set:
        name, _, number = entry.partition("=")
        if name not in names:
            raise ValueError(
                f"no parameter {name!r}; the parameters are {', '.join(sorted(names))}"
            )
        environment = replace(environment, **{name: float(number)})
    if args.steps < 1 or args.pace <= 0:
        raise ValueError("--steps and --pace must be above 0")
    return Settings(
        environment, args.merged, args.rooted, args.typed, args.lines, args.steps, args.pace
    )
