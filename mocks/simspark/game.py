"""A game that plays itself: timed trainer commands that lead through all play modes.

Goals, kick-offs and kick-ins follow from the rules, when a command moves the ball. All other modes,
for example offside, are set by a command.
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
    ),  # a goal for the left team, then the right team kicks off
    (8.0, "(playMode PlayOn)(ball (pos -{near} 0 0)(vel -8 0 0))"),  # a goal for the right team
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
"""Steps of the game: seconds of simulation after the previous step, and commands.

The game starts again after the last step. The names in braces are metres: `x` of the goal line, `y`
of the touch line, and places inside them.
"""


class Game:
    """The progress of the game. `due` returns the commands up to a time."""

    def __init__(self, field: Environment) -> None:
        x, y = field.FieldLength / 2, field.FieldWidth / 2
        inside = {"near": 0.8 * x, "inside": 0.9 * y, "wide": 0.5 * y}
        self._metres = {"x": x, "y": y, **inside}
        self._place = 0
        self._next = GAME[0][0]

    def take_due(self, now: float) -> Iterator[Sequence[Any]]:
        """Yield the commands up to a time of the simulation in seconds."""
        while now >= self._next:
            yield from read(GAME[self._place][1].format(**self._metres).encode("ascii"))
            self._place = (self._place + 1) % len(GAME)
            self._next += GAME[self._place][0]
