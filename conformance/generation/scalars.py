"""Builds the valid numbers and texts of a schema."""

import base64
import re
import struct
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from math import ceil, floor, inf, isinf
from typing import Any, Literal

from hypothesis import Phase, find, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from conformance.definitions.keywords import regex
from conformance.generation.nodes import UnsupportedSchema

CHARACTERS = st.characters(exclude_categories=["Cs"])
"""All characters of UTF-8, as in `st.text()`.

`st.text()` would list the characters one by one, which costs 2 s and 200 MB.
"""

MAX_DRAWN = 64  # characters, bytes or items that are drawn; longer values repeat them
EDGES = {
    1,
    *(sign * 2**bits + by for sign in (1, -1) for bits in (0, 7, 8, 15, 16) for by in (-1, 0)),
}

Keywords = Mapping[str, Any]


@dataclass(frozen=True)
class Form:
    """A set of values: a strategy that draws them, and one of the simplest."""

    strategy: SearchStrategy[Any]
    simplest: Any

    def map(self, change: Callable[[Any], Any]) -> "Form":
        return Form(self.strategy.map(change), change(self.simplest))

    def restricted_to(self, holds: Callable[[Any], Any]) -> "Form | None":
        """Return the values for which a condition is true; None if it is false for the simplest."""
        return Form(self.strategy.filter(holds), self.simplest) if holds(self.simplest) else None


def tuples_of(*forms: Form) -> Form:
    """Return tuples of one value of each form."""
    return Form(
        st.tuples(*(form.strategy for form in forms)), tuple(form.simplest for form in forms)
    )


def union_of(forms: list[Form]) -> Form | None:
    """Return the values of all forms together; None if there are no forms."""
    return Form(st.one_of(*(form.strategy for form in forms)), forms[0].simplest) if forms else None


def _lowest(keywords: Keywords) -> float:
    """Return the smallest integer within the limits, or minus infinity."""
    least = [keywords[key] for key in ("minimum", "exclusiveMinimum") if key in keywords]
    above = "exclusiveMinimum" in keywords and keywords["exclusiveMinimum"] == max(least)
    return -inf if not least else floor(max(least)) + 1 if above else ceil(max(least))


def _highest(keywords: Keywords) -> float:
    """Return the largest integer within the limits, or infinity."""
    most = [keywords[key] for key in ("maximum", "exclusiveMaximum") if key in keywords]
    below = "exclusiveMaximum" in keywords and keywords["exclusiveMaximum"] == min(most)
    return inf if not most else ceil(min(most)) - 1 if below else floor(min(most))


def integer(keywords: Keywords) -> Form | None:
    """Return integers, of 32 bits if there are no limits.

    The limits of smaller integer types are drawn more often. Returns None if no integer is valid.
    """
    step = keywords.get("multipleOf", 1)
    if not isinstance(step, int):
        raise UnsupportedSchema(
            f"the keyword 'multipleOf' is supported with integers only, not {step}"
        )
    low, high = _lowest(keywords), _highest(keywords)
    least = int(min(-(2**31), 0 if isinf(high) else high - 2**32) if isinf(low) else low)
    most = int(max(2**31 - 1, 0 if isinf(low) else low + 2**32) if isinf(high) else high)
    first, last = -(-least // step), most // step
    if first > last:
        return None
    strategy = st.integers(first, last)
    edges = sorted({edge for edge in EDGES if least <= edge <= most and edge % step == 0}, key=abs)
    if step > 1:
        strategy = strategy.map(lambda count: count * step)
    if edges and last - first > 2**8:
        strategy |= st.sampled_from(edges)
    return Form(strategy, min(max(0, first), last) * step)


def number(keywords: Keywords) -> Form | None:
    """Return finite numbers: integers, and fractions of 32 and of 64 bits."""
    if "multipleOf" in keywords:
        raise UnsupportedSchema("the keyword 'multipleOf' is supported with the type integer only")
    low = max(keywords.get("minimum", -inf), keywords.get("exclusiveMinimum", -inf))
    high = min(keywords.get("maximum", inf), keywords.get("exclusiveMaximum", inf))
    forms = [integer(keywords)]
    bounds = [float(bound) for bound in (low, high) if not isinf(bound)]
    if low < high:
        widths: tuple[Literal[32, 64], ...] = (64, 32) if all(map(_fits_32_bits, bounds)) else (64,)
        simplest = (
            0.0
            if low < 0 < high
            else (low + high) / 2
            if len(bounds) == 2
            else bounds[0] + (1.0 if isinf(high) else -1.0)
        )
        for width in widths:
            floats = st.floats(
                None if isinf(low) else float(low),
                None if isinf(high) else float(high),
                allow_nan=False,
                allow_infinity=False,
                exclude_min=low == keywords.get("exclusiveMinimum"),
                exclude_max=high == keywords.get("exclusiveMaximum"),
                width=width,
            )
            forms.append(Form(floats, simplest))
    return union_of([form for form in forms if form is not None])


def _fits_32_bits(value: float) -> bool:
    try:
        return bool(struct.unpack("<f", struct.pack("<f", value))[0] == value)
    except OverflowError:
        return False


def text(keywords: Keywords, low: int, high: int | None) -> Form | None:
    """Return texts of `low` to `high` characters that match the pattern and the encoding."""
    if high is not None and low > high:
        return None
    pattern = keywords.get("pattern")
    if "contentEncoding" in keywords:
        return _base64(pattern, low, high)
    if pattern is None:
        return _characters(CHARACTERS, "0", low, high)
    if simple := _class_of(pattern):
        letters, least, most = simple
        low, high = (
            max(low, least),
            most if high is None else high if most is None else min(high, most),
        )
        possible = high is None or low <= high
        return _characters(st.sampled_from(letters), letters[0], low, high) if possible else None
    top = inf if high is None else high
    return _matching_texts(pattern).restricted_to(lambda value: low <= len(value) <= top)


def _characters(letters: SearchStrategy[str], first: str, low: int, high: int | None) -> Form:
    if low > MAX_DRAWN:
        few = st.text(letters, min_size=1, max_size=8)
        return Form(few.map(lambda part: (part * low)[:low]), first * low)
    return Form(st.text(letters, min_size=low, max_size=high), first * low)


_CLASS = re.compile(r"\^(\[(?!\^)[^\[\]\\]+\])(?:([+*])|\{(\d+)(,?)(\d*)\})\$")


@cache
def _class_of(pattern: str) -> tuple[str, int, int | None] | None:
    """Return the characters, least and greatest length of a pattern such as `^[0-9a-f]{2,8}$`.

    Returns None for a pattern of another form.
    """
    parts = _CLASS.fullmatch(pattern)
    if not parts:
        return None
    one = re.compile(parts[1])
    letters = "".join(letter for letter in map(chr, range(128)) if one.match(letter))
    if not letters.isascii() or not parts[1].isascii() or not letters:
        return None
    if parts[2]:
        return letters, int(parts[2] == "+"), None
    low = int(parts[3])
    return letters, low, int(parts[5]) if parts[5] else None if parts[4] else low


@cache
def _matching_texts(pattern: str) -> Form:
    strategy = st.from_regex(regex(pattern), alphabet=CHARACTERS)
    quick = settings(database=None, derandomize=True, phases=[Phase.generate, Phase.shrink])
    # find() refuses to run inside a test, so it runs in a thread
    with ThreadPoolExecutor(1) as thread:
        searched = thread.submit(find, strategy, lambda value: True, settings=quick)
        return Form(strategy, searched.result())


def _base64(pattern: str | None, low: int, high: int | None) -> Form | None:
    """Return Base64 texts; if there is a pattern, of the byte counts that match it.

    The pattern is expected to restrict only the length. Values that violate other restrictions are
    drawn again.
    """
    least = 3 * -(-low // 4) - 2 if low else 0
    most = None if high is None else 3 * (high // 4)
    if pattern is None:
        return (
            None if most is not None and least > most else bytes_of(least, most).map(encode_base64)
        )
    sizes = [
        size
        for size in range(
            least, 1 + (least + MAX_DRAWN if most is None else min(most, least + MAX_DRAWN))
        )
        if regex(pattern).search(encode_base64(bytes(size)))
    ]
    if not sizes:
        raise UnsupportedSchema(f"no short Base64 of zeros has the pattern {pattern}")

    def cut(data: bytes) -> str:
        return encode_base64(data[: max(size for size in sizes if size <= len(data))])

    return (
        bytes_of(sizes[0], sizes[-1])
        .map(cut)
        .restricted_to(lambda value: regex(pattern).search(value))
    )


def bytes_of(low: int, high: int | None) -> Form:
    if low > MAX_DRAWN:
        few = st.binary(min_size=1, max_size=8)
        return Form(few.map(lambda part: (part * low)[:low]), bytes(low))
    return Form(st.binary(min_size=low, max_size=high), bytes(low))


def encode_base64(data: bytes) -> str:
    return base64.b64encode(data).decode()
