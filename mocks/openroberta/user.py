"""User's side of a lab: operations on its robots, and their visible state."""

import asyncio
import base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from mocks import upper_tester
from mocks.openroberta.files import PROGRAMS, UPDATES
from mocks.openroberta.known_robot import KnownRobot, Program, Step, give
from mocks.run import note

OPERATIONS = ("pair", "run", "update", "state", "update_file", "robots")
VERSION = "1.10.0"


@dataclass(frozen=True)
class Settings:
    """Settings of a lab: times in seconds, programs for the user, update files, and addresses."""

    register_hold: float = 300.0
    push_hold: float = 10.0
    offline: float = 11.0
    menu_version: str = VERSION
    sensor_path: str = "/rest/sensorlogging"
    sensor_url: str = "/ws/"
    programs: Mapping[str, bytes] = field(default_factory=lambda: PROGRAMS)
    updates: Mapping[str, Program] = field(default_factory=lambda: UPDATES)
    unattended: bool = False
    """Link each robot that registers, and run each program on it once, without a user."""


class UserSide:
    """Robots of a lab, by their tokens."""

    operations: tuple[str, ...] = OPERATIONS
    """Operations that the user has."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.robots: dict[str, KnownRobot] = {}

    def robot(self, data: Mapping[str, Any]) -> KnownRobot | None:
        """Return the robot with the token of a data object."""
        return self.robots.get(str(data.get("token")))

    def touch(self, robot: KnownRobot) -> None:
        robot.seen = asyncio.get_running_loop().time()

    def linked(self, token: str) -> KnownRobot:
        """Return the robot that is linked by this token. Raises ValueError if there is none."""
        robot = self.robots.get(token)
        if robot is None or robot.step is Step.REGISTERING:
            raise ValueError(f"no robot is connected by the token {token!r}")
        return robot

    def pair(self, token: str) -> None:
        robot = self.robots.get(token)
        if robot is None or robot.step is not Step.REGISTERING:
            raise ValueError(f"no robot waits for the token {token!r} to be entered")
        robot.step = Step.LINKED
        self.touch(robot)
        note(f"robot {token}: linked by its user")
        self.welcome(robot)

    def welcome(self, robot: KnownRobot) -> None:
        give(robot.registrations, "repeat", "repeat")

    def run(self, token: str, name: str) -> Program:
        robot = self.linked(token)
        if name not in self.settings.programs:
            raise ValueError(f"there is no program {name!r}")
        robot.program = Program(name, self.settings.programs[name])
        note(f"robot {token}: its user runs {name[:80]!r}")
        self.want(robot, "download")
        return robot.program

    async def ran(self, token: str) -> None:
        """Wait for the end of the user's operation 'run'."""

    def attend(self, robot: KnownRobot) -> None:
        """Run the next program on a robot that pushes, if there is one left."""
        if robot.programs < len(self.settings.programs):
            name = list(self.settings.programs)[robot.programs]
            robot.programs += 1
            self.run(robot.token, name)

    def update(self, token: str) -> None:
        self.want(self.linked(token), "update")

    def want(self, robot: KnownRobot, command: str) -> None:
        """Send a command now, or in answer to the next push."""
        if not give(robot.pushes, command, "repeat"):
            robot.wanted = command

    def state(self, token: str) -> dict[str, Any]:
        robot = self.robots.get(token)
        if robot is None or robot.step is Step.REGISTERING:
            return {"state": "unknown"}
        return {
            "state": self.state_of(robot),
            "battery": robot.data.get("battery"),
            "name": robot.data.get("brickname"),
            "exitvalue": robot.data.get("nepoexitvalue"),
            "update": self.outdated(robot),
        }

    def outdated(self, robot: KnownRobot) -> bool:
        """True if the robot has an older menu version than the lab."""
        return version(robot.data.get("menuversion")) < version(self.settings.menu_version)

    def state_of(self, robot: KnownRobot) -> str:
        if robot.step is Step.RUNNING:
            return "running"
        silent = asyncio.get_running_loop().time() - robot.seen
        return "waiting" if robot.pushes or silent < self.settings.offline else "offline"


def version(text: Any) -> list[int]:
    """Return the numbers of a version such as 1.3.0; other parts are ignored."""
    return [int(part) for part in str(text).split(".") if part.isdecimal()]


def operations(lab: UserSide) -> Mapping[str, upper_tester.Operation]:
    """Return the user's operations, for the page and the upper tester."""

    async def pair(args: dict[str, Any]) -> None:
        lab.pair(str(args["token"]))

    async def run(args: dict[str, Any]) -> Any:
        name = args.get("program") or next(iter(lab.settings.programs))
        program = lab.run(str(args["token"]), str(name))
        await lab.ran(str(args["token"]))
        return {"name": program.name, "base64": base64.b64encode(program.data).decode()}

    async def update(args: dict[str, Any]) -> None:
        lab.update(str(args["token"]))

    async def state(args: dict[str, Any]) -> Any:
        return lab.state(str(args["token"]))

    async def update_file(args: dict[str, Any]) -> Any:
        file = lab.settings.updates[str(args["path"])]
        return {"name": file.name, "base64": base64.b64encode(file.data).decode()}

    async def robots(args: dict[str, Any]) -> Any:
        """Return the programs, and the robots with the tokens that the page knows."""
        seen = {
            token: {**lab.state(token), "sensors": dict(robot.sensors)}
            for token in args.get("tokens", [])
            if (robot := lab.robots.get(token))
        }
        return {"programs": list(lab.settings.programs), "robots": seen}

    known: dict[str, upper_tester.Operation] = {
        "pair": pair,
        "run": run,
        "update": update,
        "state": state,
        "update_file": update_file,
        "robots": robots,
    }
    return {name: known[name] for name in lab.operations}
