"""Hypothesis strategies for what a peer may send: commands, near misses, perceptors, games."""

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
    """Commands as on the wire that set the score, and what they set it to; the last one decides."""
    return st.lists(_score(), min_size=1, max_size=12)


GREATEST = 1e5
"""The greatest number that is drawn where any would do: metres, degrees or seconds."""

COMMANDS = ("agent", "ball", "play-mode", "kick-off", "select", "time", "score")
"""Those commands of a trainer that have parameters, by their schemas."""


@cache
def _missed(name: str) -> SearchStrategy[Any]:
    schema = protocols.load("simspark").schemas.schema(f"commands/{name}.json")
    return near_misses(schema).map(lambda miss: miss.value).filter(_written)


def wrong_commands() -> SearchStrategy[list[Any]]:
    """Commands that are nearly right, each with one thing wrong; and some that are unknown."""
    letters = st.characters(min_codepoint=33, max_codepoint=126, exclude_characters="()")
    words = st.text(letters, min_size=1)
    unknown = st.lists(words | st.lists(words, max_size=3), min_size=1, max_size=4)
    unknown = unknown.filter(lambda command: command[0] != "killsim")
    missed = st.sampled_from(COMMANDS).flatmap(_missed)
    return st.lists(missed | unknown, min_size=1, max_size=20).map(_bounded)


@cache
def perceptors() -> SearchStrategy[list[Any]]:
    """A group of perceptors of the known forms, in any order, without quotes and the like."""
    schema = protocols.load("simspark").schemas.schema("agent/known-perceptor.json")
    # Deferred, as it takes long to make, and a run of other tests needs none.
    return (
        st.lists(st.deferred(lambda: valid(schema)), min_size=1, max_size=12)
        .map(_bounded)
        .map(_plain)
    )


@dataclass(frozen=True)
class Move:
    """One step of a game as a monitor is sent it; what is None is left out."""

    full: bool
    left: int | None
    mode: int | None
    ball: tuple[int, int] | None

    def message(self, time: float) -> str:
        """As on the wire."""
        pairs = f"(time {time:g})"
        pairs += "" if self.left is None else f"(score_left {self.left})"
        pairs += "" if self.mode is None else f"(play_mode {self.mode})"
        if self.full:
            return messages.full(pairs, messages.scene(*(self.ball or (0, 0))))
        return messages.partial(pairs, messages.moved(*self.ball) if self.ball else messages.STILL)

    def values(self) -> dict[str, Any]:
        """The values that a monitor knows after it."""
        values: dict[str, Any] = {}
        if self.left is not None:
            values["score_left"] = self.left
        if self.mode is not None:
            values["play_mode"] = messages.MODES[self.mode]
        if self.ball is not None or self.full:
            values["ball"] = [*(self.ball or (0, 0)), 0.042]
        return values


def moves() -> SearchStrategy[list[Move]]:
    """The course of a game: full states and partial ones, the ball here and there."""
    place = st.tuples(st.integers(-14, 14), st.integers(-9, 9))
    modes = st.integers(0, len(messages.MODES) - 1)
    score = st.none() | st.integers(0, 20)
    move = st.builds(Move, st.booleans(), score, st.none() | modes, st.none() | place)
    return st.lists(move, min_size=1, max_size=20)


def _bounded(value: Any) -> Any:
    """The same with numbers that can be in a simulation.

    A server may do what a command says, and who reckons with others comes to what is no number.
    """
    if isinstance(value, list):
        return [*map(_bounded, value)]
    with contextlib.suppress(ValueError, TypeError):
        if abs(float(value)) > GREATEST:
            return f"{GREATEST:g}"
    return value


_SPECIAL = str.maketrans(dict.fromkeys("\"';\\", "-"))
"""What begins a quoted text or a comment, or is an escape, to many readers of S-expressions.

And an upper tester that tells names as they came would have to escape it in JSON.
"""


def _plain(value: Any) -> Any:
    return value.translate(_SPECIAL) if isinstance(value, str) else [*map(_plain, value)]


def _written(value: Any) -> bool:
    """Whether a value can be written on the wire: a list of lists and strings, which has a name."""
    if isinstance(value, str):
        return bool(value) and value.isascii() and not set(value) & set("() \t\r\n\0")
    return isinstance(value, list) and all(map(_written, value))
