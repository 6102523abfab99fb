"""The pitch: a ball, the robots, the score and the time.

The ball flies, bounces and rolls.
"""

import random
from dataclasses import dataclass, field
from math import cos, hypot, sin

from mocks.simspark.robot import GRAVITY, Robot
from mocks.simspark.settings import CYCLE, PLAY_MODES, Settings

# BOUNCE is the share of the vertical speed that is left after a bounce. ROLLING is the deceleration
# of a rolling ball in metres per second squared. SLOW is a speed (m/s) or distance (m) taken for 0.
BOUNCE, ROLLING, SLOW = 0.5, 0.35, 0.01
AXES = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)
REACH = 0.2  # metres; a robot pushes the ball within this distance


@dataclass
class Ball:
    """The ball: position in metres, velocity in metres per second, spin in radians per second.

    `spin` has the components about x and y. `axes` are the columns of the rotation matrix.
    """

    x: float = 0.0
    y: float = 0.0
    z: float = 0.042
    vx: float = 0.0
    vy: float = 0.0
    vz: float = 0.0
    spin: tuple[float, float] = (0.0, 0.0)
    axes: tuple[float, ...] = AXES

    def step(self, radius: float) -> None:
        self.x += self.vx * CYCLE
        self.y += self.vy * CYCLE
        self.z += self.vz * CYCLE
        self.turn()
        if self.z > radius:
            self.vz -= GRAVITY * CYCLE
            return
        self.z = radius
        self.vz = -self.vz * BOUNCE if self.vz < -1 else max(self.vz, 0.0)
        speed = hypot(self.vx, self.vy)
        left = max(0.0, speed - ROLLING * CYCLE) / speed if speed > SLOW else 0.0
        self.vx, self.vy = self.vx * left, self.vy * left
        self.spin = -self.vy / radius, self.vx / radius

    def turn(self) -> None:
        """Rotate the ball by one cycle of its spin."""
        speed = hypot(*self.spin)
        if not speed:
            return
        x, y = self.spin[0] / speed, self.spin[1] / speed
        c, s = cos(speed * CYCLE), sin(speed * CYCLE)
        turned = []
        for at in (0, 3, 6):
            a, b, d = self.axes[at : at + 3]
            along = (x * a + y * b) * (1 - c)
            turned += [a * c + y * d * s + x * along, b * c - x * d * s + y * along]
            turned.append(d * c + (x * b - y * a) * s)
        self.axes = tuple(turned)

    def place(self, x: float, y: float, z: float, radius: float) -> None:
        """Put the ball at a position in metres, with velocity 0."""
        self.x, self.y, self.z = x, y, max(z, radius)
        self.vx = self.vy = self.vz = 0.0


@dataclass
class World:
    """The state of the simulation.

    `structure` counts how often a robot was added, removed or named.
    """

    settings: Settings
    ball: Ball = field(default_factory=Ball)
    robots: list[Robot] = field(default_factory=list)
    teams: dict[str, str] = field(default_factory=dict)
    """The name of each team, by side (left, right)."""
    sides: tuple[str, str] = ("left", "right")
    """The sides in the order in which teams get them."""
    selected: Robot | None = None
    now: float = 0.0
    time: float = 0.0
    half: int = 1
    score: dict[str, int] = field(default_factory=lambda: {"left": 0, "right": 0})
    mode: str = PLAY_MODES[0]
    since: float = 0.0
    """The simulation time in seconds at which this play mode began."""
    toucher: str = "left"
    structure: int = 0
    coin: random.Random = field(default_factory=lambda: random.Random(1))

    def __post_init__(self) -> None:
        self.ball.z = self.settings.environment.BallRadius

    def step(self) -> None:
        """Advance everything that moves by one cycle."""
        self.now += CYCLE
        for robot in self.robots:
            robot.step()
            self._push(robot)
        self.ball.step(self.settings.environment.BallRadius)

    def _push(self, robot: Robot) -> None:
        """Push the ball away if a robot touches it."""
        away = self.ball.x - robot.x, self.ball.y - robot.y
        distance = hypot(*away)
        if distance < REACH and self.ball.z < robot.z:
            share = 1 / distance if distance > SLOW else 0.0
            self.ball.vx, self.ball.vy = (part * share or 1.0 for part in away)
            self.toucher = robot.side or self.toucher

    def add(self, robot: Robot) -> None:
        self.robots.append(robot)
        self.structure += 1

    def remove(self, robot: Robot) -> None:
        if robot in self.robots:
            self.robots.remove(robot)
            self.structure += 1
        if self.selected is robot:
            self.selected = None

    def find(self, unum: int, side: str) -> Robot | None:
        for robot in self.robots:
            if robot.unum == unum and robot.side == side:
                return robot
        return None

    def enrol(self, robot: Robot, unum: int, team: str) -> bool:
        """Give a robot its number and side; return False if that is impossible.

        `unum` 0 means the lowest free number of the team.
        """
        side = next((side for side, name in self.teams.items() if name == team), "")
        if not side:
            side = next((side for side in self.sides if side not in self.teams), "")
        free = [n for n in range(1, 12) if self.find(n, side) is None]
        unum = unum or (free[0] if free else 0)
        if not side or unum not in free:
            return False
        self.teams[side] = team
        robot.unum, robot.side, robot.team = unum, side, team
        own = -1 if side == "left" else 1
        length = self.settings.environment.FieldLength
        robot.place(own * (0.1 + 0.03 * unum) * length, 0.6 * (unum - 6), robot.z, own * 90.0)
        self.structure += 1
        return True

    def become(self, mode: str) -> None:
        self.mode, self.since = mode, self.now

    def ball_node(self) -> str:
        ball = self.ball
        columns = (*ball.axes[0:3], 0, *ball.axes[3:6], 0, *ball.axes[6:9], 0)
        return " ".join(f"{entry:.6g}" for entry in (*columns, ball.x, ball.y, ball.z, 1))
