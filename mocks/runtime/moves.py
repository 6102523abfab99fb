"""Files of moves, which control a simulated gamepad.

A file is a YAML or JSON list of moves in the order of time. Each move is an object with these keys:

- `at: 1.5`: seconds since the start
- `gamepad: 0`: index of the gamepad; default 0
- `axes: [0, -1, 0, 0]`: left x, left y, right x, right y, from -1 to 1; default unchanged
- `buttons: [0, 5]`: numbers of the pressed buttons; default unchanged
- `gone: true`: the gamepad is unplugged

Between two moves, and after the last move, gamepads stay unchanged.
"""

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from mocks import option_files

BUTTONS = 17


def make(pads: dict[str, dict[str, Any]], move: Mapping[str, Any]) -> None:
    """Apply a move to the gamepads, by index."""
    index = str(move.get("gamepad", 0))
    pad = pads.setdefault(index, {"axes": [0.0] * 4, "buttons": [False] * BUTTONS})
    pad["axes"] = move.get("axes", pad["axes"])
    if "buttons" in move:
        pad["buttons"] = [number in move["buttons"] for number in range(BUTTONS)]
    if move.get("gone"):
        del pads[index]


def read(path: Path) -> list[Mapping[str, Any]]:
    """Return the moves of a file. Raises ValueError or OSError."""
    moves = option_files.load(path)
    if not isinstance(moves, list):
        raise ValueError(f"{path}: expected a list of moves")
    latest = 0.0
    for number, move in enumerate(moves, 1):
        try:
            latest = _check(move, latest)
        except ValueError as error:
            raise ValueError(f"{path}: move {number}: {error}") from None
    return moves


def _check(move: Any, latest: float) -> float:
    """Return the time of a move, which is not before the latest one. Raises ValueError."""
    if not isinstance(move, dict) or not {"at"} <= move.keys() <= MOVE.keys():
        raise ValueError(
            f"expected an object with the key at, and with other keys only of {', '.join(MOVE)}"
        )
    for name, value in move.items():
        what, fits = MOVE[name]
        if not fits(value):
            raise ValueError(f"{name}: expected {what}")
    if move["at"] < latest:
        raise ValueError("at: expected a time not before the previous move")
    return float(move["at"])


def _is_number(value: Any, low: float, high: float) -> bool:
    return type(value) in (int, float) and low <= value <= high


def _all_are(values: Any, kind: Callable[[Any], bool]) -> bool:
    return isinstance(values, list) and all(map(kind, values))


MOVE: Mapping[str, tuple[str, Callable[[Any], bool]]] = {
    "at": ("a number of seconds", lambda value: _is_number(value, 0, math.inf)),
    "gamepad": ("an integer of at least 0", lambda value: type(value) is int and value >= 0),
    "axes": (
        "four numbers from -1 to 1",
        lambda value: _all_are(value, lambda axis: _is_number(axis, -1, 1)) and len(value) == 4,
    ),
    "buttons": (
        f"a list of numbers from 0 to {BUTTONS - 1}",
        lambda value: _all_are(value, lambda button: type(button) is int and 0 <= button < BUTTONS),
    ),
    "gone": ("true or false", lambda value: type(value) is bool),
}
"""By key of a move: its description, and a function that checks its value."""
