"""The exercise of the reference server: a curve, and a hand that follows the curve."""

from dataclasses import dataclass
from math import cos, pi, sin, sqrt
from pathlib import Path
from typing import Any

from mocks import option_files

Vector = list[Any]  # three coordinates in m, as on the wire

POINTS = 64  # points of each built-in curve
SPEED = 0.25  # speed of the hand in m/s
REACH = 0.01  # distance in m from a point at which the hand aims at the next point
WOBBLE = 0.3  # sideways part of the hand's direction, relative to the desired direction


def circle() -> list[Vector]:
    return [_rounded(0.2 * cos(a), 0.2 * sin(a), 0.0) for a in _angles()]


def eight() -> list[Vector]:
    return [_rounded(0.2 * sin(a), 0.1 * sin(2 * a), 0.02 * cos(a)) for a in _angles()]


def line() -> list[Vector]:
    return [_rounded(-0.2 + 0.4 * n / (POINTS - 1), 0.0, 0.1) for n in range(POINTS)]


def helix() -> list[Vector]:
    return [_rounded(0.1 * cos(3 * a), 0.1 * sin(3 * a), 0.04 * a) for a in _angles()]


CURVES = {"circle": circle, "eight": eight, "line": line, "helix": helix}


def read(path: Path) -> list[Vector]:
    """Read a curve from a JSON or YAML file.

    The file contains a list of points [X, Y, Z] in metres. Raises ValueError if the contents are
    wrong, and OSError if the file cannot be read.
    """
    points = option_files.load(path)
    if not isinstance(points, list) or not points:
        raise ValueError(f"{path}: expected a list of points [X, Y, Z]")
    for number, point in enumerate(points, 1):
        plain = isinstance(point, list) and len(point) == 3
        if not plain or not all(type(c) in (int, float) for c in point):
            raise ValueError(f"{path}: point {number}: expected three numbers")
    return [[float(c) for c in point] for point in points]


def _angles() -> list[float]:
    return [2 * pi * n / (POINTS - 1) for n in range(POINTS)]


def _rounded(*coordinates: float) -> Vector:
    return [round(c, 6) for c in coordinates]


@dataclass(slots=True)
class State:
    """The contents of progress: the position of the actuator in m, and the two directions."""

    position: Vector
    current: Vector
    desired: Vector


class Hand:
    """A simulated hand that follows the curve and wobbles a little."""

    def __init__(self, curve: list[Vector]) -> None:
        numbers = [point for point in curve if all(isinstance(c, (int, float)) for c in point)]
        self._curve = numbers or [[0.0, 0.0, 0.0]]
        self._target = 0
        self._time = 0.0
        self.state = State(list(self._curve[0]), [0.0, 0.0, 0.0], [0.0, 0.0, 0.0])

    def step(self, seconds: float) -> None:
        """Move the hand for this many seconds; the motion is always the same."""
        self._time += seconds
        position = self.state.position
        target = self._curve[self._target]
        if _length(_from(position, target)) < REACH:
            self._target = (self._target + 1) % len(self._curve)
            target = self._curve[self._target]
        desired = _unit(_from(position, target))
        aside = WOBBLE * sin(5 * self._time)
        current = _unit(
            [desired[0] - aside * desired[1], desired[1] + aside * desired[0], desired[2]]
        )
        moved = [p + SPEED * seconds * c for p, c in zip(position, current, strict=True)]
        self.state = State(moved, current, desired)


def _from(start: Vector, end: Vector) -> Vector:
    return [b - a for a, b in zip(start, end, strict=True)]


def _length(vector: Vector) -> float:
    return sqrt(sum(float(c) * float(c) for c in vector))


def _unit(vector: Vector) -> Vector:
    length = _length(vector)
    return [c / length for c in vector] if length > 0 else [0.0, 0.0, 0.0]
