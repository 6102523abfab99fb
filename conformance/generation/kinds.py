"""A kind of near miss, and the kinds that a constant, a number or a text has."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from conformance.definitions.keywords import regex, words
from conformance.definitions.schemas import Part
from conformance.generation.scalars import Form, encoded, text, together

FAR = (1, 2**8, 2**16, 2**32)  # how far beyond a bound: what fits no smaller type either
TOO_LONG = 2**16  # a limit above this is not overstepped
ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"


@dataclass(frozen=True)
class NearMiss:
    """An invalid value: the one keyword that it violates, where in the value, and what that asks.

    `expected` fits before "was expected".
    """

    value: Any
    keyword: str
    path: tuple[Part, ...]
    expected: str

    @property
    def bad(self) -> Any:
        """What stands at the path."""
        found = self.value
        for step in self.path:
            found = found[step]
        return found


@dataclass(frozen=True)
class Kind:
    """One keyword violated at one place: the bad values there, and the containers around it.

    `bad` is None where the samples are all there is. The outermost layer comes first; a layer is a
    form of (container, key), and valid once something valid is put at the key.
    """

    keyword: str
    expected: str
    samples: tuple[Any, ...]
    bad: SearchStrategy[Any] | None = None
    layers: tuple[Form, ...] = ()
    doubtful: bool = False  # a value might fit another branch, so each is to be checked

    def miss(self, bad: Any, layers: Sequence[tuple[Any, Part]]) -> NearMiss:
        value = bad
        for container, key in reversed(layers):
            outer = container.copy()  # a sample, and what another draw returned, stay as they are
            outer[key] = value
            value = outer
        return NearMiss(value, self.keyword, tuple(key for _, key in layers), self.expected)


def named(keyword: str, limit: Any, samples: tuple[Any, ...]) -> Kind:
    """What violates a keyword of this limit, of which the samples are all there is."""
    return Kind(keyword, words(keyword, limit), samples)


def kind_of(keyword: str, expected: str, form: Form) -> Kind:
    """What violates a keyword, drawn from a form."""
    return Kind(keyword, expected, (form.simplest,), form.strategy)


def given(keyword: str, limit: Any, form: Form | None) -> Iterator[Kind]:
    """The same of a keyword of this limit, if there is such a form."""
    if form is not None:
        yield kind_of(keyword, words(keyword, limit), form)


def other_constants(keywords: dict[str, Any]) -> list[Any]:
    """Values close to those that a const or an enum lists."""
    listed = [keywords["const"]] if "const" in keywords else keywords.get("enum", [])
    found: list[Any] = []
    for value in listed:
        if isinstance(value, bool):
            found.append(not value)
        elif isinstance(value, str):
            found += [f"{value}_", value[:-1], value.swapcase()]
        elif isinstance(value, (int, float)):
            found += [value + 1, value - 1, -value, 2**31 - 1]
    return found


def numbers(keywords: dict[str, Any]) -> Iterator[Kind]:
    """Numbers beyond each bound, and between the multiples."""
    step = keywords.get("multipleOf", 1)
    for keyword, sign in (
        ("minimum", -1),
        ("exclusiveMinimum", -1),
        ("maximum", 1),
        ("exclusiveMaximum", 1),
    ):
        if keyword in keywords:
            limit = keywords[keyword]
            inner = step * int(-(-limit // step) if sign < 0 else limit // step)
            beyond = [inner + sign * step * by for by in FAR]
            yield named(keyword, limit, (limit, *beyond, limit + sign * 0.5))
    if "multipleOf" in keywords:
        near = [keywords.get("minimum", keywords.get("maximum", 0)) + by for by in range(-2, 3)]
        yield named("multipleOf", step, (*near, 1, -1, step + 1, step - 1))


def texts(keywords: dict[str, Any]) -> Iterator[Kind]:
    """Texts that are too short or too long, of another pattern, or badly encoded."""
    low, high = keywords.get("minLength", 0), keywords.get("maxLength")
    if low:
        yield from given("minLength", low, text(keywords, 0, low - 1))
    if high is not None and high < TOO_LONG:
        for least in (high + 1, 2 * high + 1):
            yield from given("maxLength", high, text(keywords, least, least + 8))
    if "pattern" in keywords:
        whole = text(keywords, low, high)
        known = whole.simplest if whole else ""
        near = [known[:-1], *(part for odd in "!\n 0aA" for part in (known + odd, odd + known[1:]))]
        plain = [odd * max(low, 1) for odd in ("!", "\0", " ", "0", "a", "A", "\u00e9")]
        short = [encoded(bytes(size)) for size in range(8) if "contentEncoding" in keywords]
        yield named("pattern", keywords["pattern"], ("", *plain, *near, *short))
    if "contentEncoding" in keywords:
        for kind in _encodings(keywords, low, high):
            yield replace(kind, doubtful="pattern" in keywords)


def _encodings(keywords: dict[str, Any], low: int, high: int | None) -> Iterator[Kind]:
    """Base64 with a character outside its alphabet, without padding, with stray bits."""
    some = text(keywords, max(low, 1), high)
    odd = Form(st.tuples(st.sampled_from("-_!.\n \u00e9"), st.integers(0, 64)), ("-", 0))
    yield from given("contentEncoding", "base64", some and together(some, odd).map(_replaced))
    sizes = (encoded(bytes(size)) for size in range(3 * low // 4, 3 * low // 4 + 16))
    padded = [
        short
        for short in sizes
        if short.endswith("=")
        and low <= len(short) <= (len(short) if high is None else high)
        and regex(keywords.get("pattern", "")).search(short)
    ]
    if some is None or not padded:
        return
    form = some.map(lambda whole: whole if whole.endswith("=") else padded[0])
    bare = form.map(lambda whole: whole.rstrip("="))
    yield from given("contentEncoding", "base64", bare)
    yield from given("contentEncoding", "base64", form.map(_with_stray_bits))


def _replaced(drawn: tuple[str, tuple[str, int]]) -> str:
    whole, (odd, at) = drawn
    index = at % len(whole)
    return whole[:index] + odd + whole[index + 1 :]


def _with_stray_bits(padded: str) -> str:
    """The bits of the last character that belong to no byte are not all zero."""
    symbols = padded.rstrip("=")
    last = ALPHABET[ALPHABET.index(symbols[-1]) + 1]
    return symbols[:-1] + last + padded[len(symbols) :]
