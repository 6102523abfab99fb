"""Strategies for what a peer may say: commands with known effects, near misses, perceptors."""

from functools import cache
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from conformance import specs
from conformance.generation import near_misses, valid


def cuts() -> SearchStrategy[list[int]]:
    """Where to cut a write into pieces: near its beginning, its end, and anywhere."""
    return st.lists(st.integers(-40, 400), max_size=6)


@st.composite
def _score(draw: st.DrawFn) -> tuple[str, int, int]:
    left, right = draw(st.integers(0, 99)), draw(st.integers(0, 99))
    space = draw(st.sampled_from(["", " ", "\n", "\t "]))
    return f"(score {space}(left {left}){space}(right {right}){space})", left, right


def scores() -> SearchStrategy[list[tuple[str, int, int]]]:
    """Commands as on the wire that set the score, and what they set it to; the last one decides."""
    return st.lists(_score(), min_size=1, max_size=12)


COMMANDS = (
    *("agent", "ball", "play-mode", "drop-ball", "kick-off", "select", "kill", "repos"),
    *("get-ack", "time", "score", "full-state"),
)
"""The commands of a trainer, by their schemas."""


@cache
def _missed(name: str) -> SearchStrategy[Any]:
    schema = specs.load("simspark").schemas.schema(f"commands/{name}.json")
    return near_misses(schema).map(lambda miss: miss.value).filter(_written)


def wrong_commands() -> SearchStrategy[list[Any]]:
    """Commands that are nearly right, each with one thing wrong; and some that are unknown."""
    letters = st.characters(min_codepoint=33, max_codepoint=126, exclude_characters="()")
    words = st.text(letters, min_size=1)
    unknown = st.lists(words | st.lists(words, max_size=3), min_size=1, max_size=4)
    unknown = unknown.filter(lambda command: command[0] != "killsim")
    missed = st.sampled_from(COMMANDS).flatmap(_missed)
    return st.lists(missed | unknown, min_size=1, max_size=20)


@cache
def perceptors() -> SearchStrategy[list[Any]]:
    """A group of perceptors of the known forms, in any order."""
    schema = specs.load("simspark").schemas.schema("agent/known-perceptor.json")
    return st.lists(valid(schema), min_size=1, max_size=12)


def _written(value: Any) -> bool:
    """Whether a value can be written on the wire: a list of lists and strings, which has a name."""
    if isinstance(value, str):
        return bool(value) and value.isascii() and not set(value) & set("() \t\r\n\0")
    return isinstance(value, list) and all(map(_written, value))
