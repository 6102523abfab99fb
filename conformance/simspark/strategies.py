"""Hypothesis strategies for the messages of a peer: commands, near misses, perceptors, games."""

import contextlib
from dataclasses import dataclass
from functools import cache
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from conformance.definitions import protocols
from conformance.generation import near_misses, valid
from conformance.simspark import messages


@st.composite
def _score(draw: st.DrawFn) -> tuple[str, int, int]:
    left, right = draw(st.integers(0, 99)), draw(st.integers(0, 99))
    space = draw(st.sampled_from(["", " "]))
    return f"(score {space}(left {left}){space}(right {right}){space})", left, right


def scores() -> SearchStrategy[list[tuple[str, int, int]]]:
    """Draw commands that set the score, as (text on the wire, left, right).

    The last command of the list decides the score.
    """
    return st.lists(_score(), min_size=1, max_size=12)


GREATEST = 1e5
"""The greatest number drawn, in metres, degrees or seconds. Larger numbers break a simulation."""

COMMANDS = ("agent", "ball", "play-mode", "kick-off", "select", "time", "score")
"""The trainer commands with parameters, by the names of their schemas."""


@cache
def _near_miss(name: str) -> SearchStrategy[Any]:
    schema = protocols.load("simspark").schemas.schema(f"commands/{name}.json")
    return near_misses(schema).map(lambda miss: miss.value).filter(_is_writable)


def wrong_commands() -> SearchStrategy[list[Any]]:
    """Draw commands with one error each, and some unknown commands."""
    letters = st.characters(min_codepoint=33, max_codepoint=126, exclude_characters="()")
    words = st.text(letters, min_size=1)
    unknown = st.lists(words | st.lists(words, max_size=3), min_size=1, max_size=4)
    unknown = unknown.filter(lambda command: command[0] != "killsim")
    missed = st.sampled_from(COMMANDS).flatmap(_near_miss)
    return st.lists(missed | unknown, min_size=1, max_size=20).map(_limit_numbers)


@cache
def perceptors() -> SearchStrategy[list[Any]]:
    """Draw a group of perceptors of the known forms, in any order.

    Atoms contain no quotes and no escapes.
    """
    schema = protocols.load("simspark").schemas.schema("agent/known-perceptor.json")
    # Deferred because the strategy is slow to build and most runs do not need it.
    return (
        st.lists(st.deferred(lambda: valid(schema)), min_size=1, max_size=12)
        .map(_limit_numbers)
        .map(_without_quotes)
    )


@dataclass(frozen=True)
class Move:
    """A step of a game as a monitor receives it.

    A value that is None is left out of the message.
    """

    full: bool
    left: int | None
    mode: int | None
    ball: tuple[int, int] | None

    def message(self, time: float) -> str:
        """Write the message as on the wire; `time` is in seconds."""
        pairs = f"(time {time:g})"
        pairs += "" if self.left is None else f"(score_left {self.left})"
        pairs += "" if self.mode is None else f"(play_mode {self.mode})"
        if self.full:
            return messages.full(pairs, messages.scene(*(self.ball or (0, 0))))
        return messages.partial(pairs, messages.moved(*self.ball) if self.ball else messages.STILL)

    def values(self) -> dict[str, Any]:
        """Return the values that a monitor must know after this step."""
        values: dict[str, Any] = {}
        if self.left is not None:
            values["score_left"] = self.left
        if self.mode is not None:
            values["play_mode"] = messages.MODES[self.mode]
        if self.ball is not None or self.full:
            values["ball"] = [*(self.ball or (0, 0)), 0.042]
        return values


def moves() -> SearchStrategy[list[Move]]:
    """Draw the course of a game, as full and partial states.

    The game does not end, because a monitor can leave at its end.
    """
    place = st.tuples(st.integers(-14, 14), st.integers(-9, 9))
    goes_on = [index for index, mode in enumerate(messages.MODES) if mode != "GameOver"]
    modes = st.sampled_from(goes_on)
    score = st.none() | st.integers(0, 20)
    move = st.builds(Move, st.booleans(), score, st.none() | modes, st.none() | place)
    return st.lists(move, min_size=1, max_size=20)


def _limit_numbers(value: Any) -> Any:
    """Limit all numbers to GREATEST.

    A server can execute a command literally, and larger numbers can turn into infinities or NaN.
    """
    if isinstance(value, list):
        return [*map(_limit_numbers, value)]
    with contextlib.suppress(ValueError, TypeError):
        if abs(float(value)) > GREATEST:
            return f"{GREATEST:g}"
    return value


_SPECIAL = str.maketrans(dict.fromkeys("\"';\\", "-"))
"""Characters that begin a quoted text, a comment or an escape in many S-expression readers.

An upper tester that reports names unchanged would also have to escape them in JSON.
"""


def _without_quotes(value: Any) -> Any:
    return value.translate(_SPECIAL) if isinstance(value, str) else [*map(_without_quotes, value)]


def _is_writable(value: Any) -> bool:
    """Return True if a value can be written on the wire.

    The value must consist of nested lists and non-empty ASCII atoms.
    """
    if isinstance(value, str):
        return bool(value) and value.isascii() and not set(value) & set("() \t\r\n\0")
    return isinstance(value, list) and all(map(_is_writable, value))
