"""Files of moves, by which a gamepad is played with.

Such a file is a YAML or JSON list, in the order of time, of objects with

    at: 1.5              seconds since the start
    gamepad: 0           which one; 0 where that is not said
    axes: [0, -1, 0, 0]  left x, left y, right x, right y, from -1 to 1; else they stay as they were
    buttons: [0, 5]      the numbers of those that are held down; else they stay as they were
    gone: true           it is unplugged

Between two moves, and after the last one, gamepads stay as they are.
"""

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from mocks import given

BUTTONS = 17


def make(pads: dict[str, dict[str, Any]], move: Mapping[str, Any]) -> None:
    """Do to gamepads, by their indices, what a move says."""
    index = str(move.get("gamepad", 0))
    pad = pads.setdefault(index, {"axes": [0.0] * 4, "buttons": [False] * BUTTONS})
    pad["axes"] = move.get("axes", pad["axes"])
    if "buttons" in move:
        pad["buttons"] = [number in move["buttons"] for number in range(BUTTONS)]
    if move.get("gone"):
        del pads[index]


def read(path: Path) -> list[Mapping[str, Any]]:
    """The moves of a file. Raises ValueError or OSError."""
    moves = given.load(path)
    if not isinstance(moves, list):
        raise ValueError(f"{path}: a list of moves was expected")
    latest = 0.0
    for number, move in enumerate(moves, 1):
        try:
            latest = _checked(move, latest)
        except ValueError as error:
            raise ValueError(f"{path}: move {number}: {error}") from None
    return moves


def _checked(move: Any, latest: float) -> float:
    """When a move is made, which is not before the latest one. Raises ValueError."""
    if not isinstance(move, dict) or not {"at"} <= move.keys() <= MOVE.keys():
        raise ValueError(f"an object of {', '.join(MOVE)} was expected, with at")
    for name, value in move.items():
        what, fits = MOVE[name]
        if not fits(value):
            raise ValueError(f"{name}: {what} was expected")
    if move["at"] < latest:
        raise ValueError("at: it comes before the move above it")
    return float(move["at"])


def _is_number(value: Any, low: float, high: float) -> bool:
    return type(value) in (int, float) and low <= value <= high


def _are(values: Any, kind: Callable[[Any], bool]) -> bool:
    return isinstance(values, list) and all(map(kind, values))


MOVE: Mapping[str, tuple[str, Callable[[Any], bool]]] = {
    "at": ("a number of seconds", lambda value: _is_number(value, 0, math.inf)),
    "gamepad": ("a whole number", lambda value: type(value) is int and value >= 0),
    "axes": (
        "four numbers from -1 to 1",
        lambda value: _are(value, lambda axis: _is_number(axis, -1, 1)) and len(value) == 4,
    ),
    "buttons": (
        f"a list of numbers from 0 to {BUTTONS - 1}",
        lambda value: _are(value, lambda button: type(button) is int and 0 <= button < BUTTONS),
    ),
    "gone": ("true or false", lambda value: type(value) is bool),
}
"""What a move may say: what that is, and whether a value is that."""
