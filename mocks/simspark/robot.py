"""A robot: a torso with 22 hinges that turn at given speeds."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from math import cos, degrees, radians, sin

from mocks.simspark.settings import CYCLE

STANDING = 0.35  # metres from the ground to the middle of the torso
FASTEST = 6.1395  # radians per second, the greatest speed of a hinge of the published robot
GRAVITY = 9.81  # metres per second squared


@dataclass(frozen=True)
class Part:
    """A part of the body, attached by a hinge to the part `on` (-1: the torso).

    - `axis`: the axis of the hinge: x, y or z.
    - `at`: the position of the hinge in the part `on`, in metres.
    - `low`, `high`: the range of the hinge in degrees.
    - `mesh`, `size`: the mesh to draw and its scale.
    """

    perceptor: str
    effector: str
    on: int
    axis: str
    at: tuple[float, float, float]
    low: float
    high: float
    mesh: str
    size: float


_HEAD = (
    Part("hj1", "he1", -1, "z", (0.0, 0.0, 0.09), -120, 120, "", 0.08),
    Part("hj2", "he2", 0, "x", (0.0, 0.0, 0.06), -45, 45, "models/naohead.obj", 0.1),
)

_RIGHT = (
    Part("aj1", "ae1", -1, "x", (0.098, 0.0, 0.075), -120, 120, "", 0.02),
    Part("aj2", "ae2", 0, "z", (0.0, 0.0, 0.0), -95, 1, "upperarm", 0.07),
    Part("aj3", "ae3", 1, "y", (0.0, 0.09, 0.009), -120, 120, "", 0.02),
    Part("aj4", "ae4", 2, "z", (0.0, 0.0, 0.0), -1, 90, "lowerarm", 0.05),
    Part("lj1", "le1", -1, "z", (0.055, 0.0, -0.115), -90, 1, "", 0.02),
    Part("lj2", "le2", 4, "y", (0.0, 0.0, 0.0), -45, 25, "", 0.02),
    Part("lj3", "le3", 5, "x", (0.0, 0.0, 0.0), -25, 100, "thigh", 0.07),
    Part("lj4", "le4", 6, "x", (0.0, 0.005, -0.12), -130, 1, "shank", 0.08),
    Part("lj5", "le5", 7, "x", (0.0, 0.0, -0.1), -45, 75, "", 0.02),
    Part("lj6", "le6", 8, "y", (0.0, 0.0, 0.0), -25, 45, "foot", 0.08),
)
"""The right arm and leg; `on` is an index into this table. The left limbs are mirror images."""
_MIRRORED = ("aj2", "aj4", "lj2", "lj6")


def _limbs(side: str, first: int) -> Iterator[Part]:
    for part in _RIGHT:
        x, y, z = part.at
        mirrored = side == "l" and part.perceptor in _MIRRORED
        yield replace(
            part,
            perceptor=side + part.perceptor,
            effector=side + part.effector,
            on=part.on if part.on < 0 else first + part.on,
            at=(-x if side == "l" else x, y, z),
            low=-part.high if mirrored else part.low,
            high=-part.low if mirrored else part.high,
            mesh=part.mesh and f"models/{side}{part.mesh}.obj",
        )


PARTS = (*_HEAD, *_limbs("r", len(_HEAD)), *_limbs("l", len(_HEAD) + len(_RIGHT)))
BY_EFFECTOR = {part.effector: place for place, part in enumerate(PARTS)}

_ROTATIONS = {
    "x": "1 0 0 0 0 {0} {1} 0 0 {2} {0} 0",
    "y": "{0} 0 {2} 0 0 1 0 0 {1} 0 {0} 0",
    "z": "{0} {1} 0 0 {2} {0} 0 0 0 0 1 0",
}
"""Rotation matrices column by column; the fields are cosine, sine and negative sine."""


def transform(axis: str, angle: float, at: tuple[float, float, float]) -> str:
    """Write a transform: 16 numbers of a rotation about an axis and a position.

    `angle` is in degrees, `at` in metres.
    """
    c, s = f"{cos(radians(angle)):.6g}", f"{sin(radians(angle)):.6g}"
    back = s[1:] if s.startswith("-") else f"-{s}"
    return f"{_ROTATIONS[axis].format(c, s, back)} {at[0]:.6g} {at[1]:.6g} {at[2]:.6g} 1"


@dataclass
class Robot:
    """A robot.

    `x`, `y` and `z` are in metres from the centre of the field. `heading` is in degrees, 0 along y.
    `unum` is 0 and `side` is empty until the init.
    """

    unum: int = 0
    team: str = ""
    side: str = ""
    x: float = 0.0
    y: float = 0.0
    z: float = STANDING
    heading: float = 0.0
    falling: float = 0.0
    battery: float = 100.0
    temperature: float = 23.0
    angles: list[float] = field(default_factory=lambda: [0.0] * len(PARTS))
    speeds: list[float] = field(default_factory=lambda: [0.0] * len(PARTS))
    nodes: list[str] = field(default_factory=list)
    """The transforms of the torso and of each part, as written on the wire."""
    hinges: list[str] = field(default_factory=list)
    """The perceptors of the hinges, as written on the wire."""

    def __post_init__(self) -> None:
        self.nodes = [self.torso(), *(transform(p.axis, 0, p.at) for p in PARTS)]
        self.hinges = [self.hinge(place) for place in range(len(PARTS))]

    def torso(self) -> str:
        return transform("z", self.heading, (self.x, self.y, self.z))

    def hinge(self, place: int) -> str:
        return f"(HJ (n {PARTS[place].perceptor}) (ax {self.angles[place]:.2f}))"

    def step(self) -> None:
        """Advance by one cycle: hinges turn, and a robot in the air falls.

        Hinges stop at their limits.
        """
        for place, speed in enumerate(self.speeds):
            if speed:
                part = PARTS[place]
                angle = self.angles[place] + degrees(speed) * CYCLE
                self.angles[place] = angle = min(max(angle, part.low), part.high)
                self.nodes[place + 1] = transform(part.axis, angle, part.at)
                self.hinges[place] = self.hinge(place)
        if self.z > STANDING:
            self.falling += GRAVITY * CYCLE
            self.place(self.x, self.y, max(STANDING, self.z - self.falling * CYCLE))
        else:
            self.falling = 0.0

    def place(self, x: float, y: float, z: float, heading: float | None = None) -> None:
        """Put the robot at a position in metres, upright."""
        self.x, self.y, self.z = x, y, max(z, STANDING)
        self.heading = self.heading if heading is None else heading
        self.nodes[0] = self.torso()
