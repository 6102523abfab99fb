"""A game that plays itself: what a trainer would command, and when, so that each mode is seen.

What the rules bring about by themselves (goals, kick-offs, throw-ins) is brought about by the ball;
what they do not, for there is no offside here, is commanded.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from conformance.simspark.sexp import read
from mocks.simspark.settings import Environment

GAME = (
    (0.0, "(playMode BeforeKickOff)(ball (pos 0 0 0))"),
    (3.0, "(kickOff Left)"),
    (
        3.0,
        "(playMode PlayOn)(ball (pos {near} 0 0)(vel 8 0 0))",
    ),  # a goal, then the right kicks off
    (8.0, "(playMode PlayOn)(ball (pos -{near} 0 0)(vel -8 0 0))"),  # the other way round
    (8.0, "(playMode PlayOn)(ball (pos 3 {inside} 0)(vel 0 6 0))"),  # over the touch line
    (4.0, "(playMode KickIn_Left)(ball (pos 3 {y} 0))"),
    (3.0, "(playMode KickIn_Right)(ball (pos 3 -{y} 0))"),
    (3.0, "(playMode PlayOn)(ball (pos {near} {wide} 0)(vel 6 0 0))"),  # over the goal line
    (3.0, "(playMode corner_kick_left)(ball (pos {x} {y} 0))"),
    (3.0, "(playMode corner_kick_right)(ball (pos -{x} {y} 0))"),
    (3.0, "(playMode goal_kick_left)(ball (pos -{near} 0 0))"),
    (3.0, "(playMode goal_kick_right)(ball (pos {near} 0 0))"),
    (3.0, "(playMode offside_left)(ball (pos {near} 2 0))"),
    (3.0, "(playMode free_kick_right)"),
    (3.0, "(playMode offside_right)(ball (pos -{near} 2 0))"),
    (3.0, "(playMode free_kick_left)"),
    (3.0, "(playMode GameOver)"),
    (5.0, ""),
)
"""Seconds of simulation after the step before, and commands; it begins anew after the last.

In braces stand metres: x of the goal line, y of the touch line, and places inside of them.
"""


class Game:
    """How far the game has come; `due` tells what is to be commanded by now."""

    def __init__(self, field: Environment) -> None:
        x, y = field.FieldLength / 2, field.FieldWidth / 2
        inside = {"near": 0.8 * x, "inside": 0.9 * y, "wide": 0.5 * y}
        self._metres = {"x": x, "y": y, **inside}
        self._place = 0
        self._next = GAME[0][0]

    def due(self, now: float) -> Iterator[Sequence[Any]]:
        """The commands up to a time of the simulation, in seconds."""
        while now >= self._next:
            yield from read(GAME[self._place][1].format(**self._metres).encode("ascii"))
            self._place = (self._place + 1) % len(GAME)
            self._next += GAME[self._place][0]
