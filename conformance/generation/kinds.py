"""The kinds of near misses, and their samples for constants, numbers and texts."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from conformance.definitions.keywords import regex, words
from conformance.definitions.schemas import Part
from conformance.generation.scalars import Form, encode_base64, text, tuples_of

# distances beyond a limit; the powers of two also exceed smaller integer types
FAR = (1, 2**8, 2**16, 2**32)
# limits of sizes above this are not violated, because the values would be too large
TOO_LONG = 2**16
ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"


@dataclass(frozen=True)
class NearMiss:
    """An invalid value, with the violated keyword and the place of the violation.

    `expected` describes what the keyword demands; it fits after "expected".
    """

    value: Any
    keyword: str
    path: tuple[Part, ...]
    expected: str

    @property
    def bad(self) -> Any:
        """The invalid part: the value at the path."""
        found = self.value
        for step in self.path:
            found = found[step]
        return found


@dataclass(frozen=True)
class Kind:
    """A keyword violated at one place: the bad values, and the containers around them.

    `bad` draws bad values; None means that there are only the samples. The outermost layer comes
    first. A layer is a form of (container, key); the container is valid if the value at the key is
    valid.
    """

    keyword: str
    expected: str
    samples: tuple[Any, ...]
    bad: SearchStrategy[Any] | None = None
    layers: tuple[Form, ...] = ()
    # True if a value can match another branch; each drawn value is then checked
    doubtful: bool = False

    def miss(self, bad: Any, layers: Sequence[tuple[Any, Part]]) -> NearMiss:
        value = bad
        for container, key in reversed(layers):
            outer = container.copy()  # the sample, and containers of other draws, must not change
            outer[key] = value
            value = outer
        return NearMiss(value, self.keyword, tuple(key for _, key in layers), self.expected)


def sampled_kind(keyword: str, limit: Any, samples: tuple[Any, ...]) -> Kind:
    """Return the kind that violates a keyword with this limit; only the samples are used."""
    return Kind(keyword, words(keyword, limit), samples)


def kind_of(keyword: str, expected: str, form: Form) -> Kind:
    """Return the kind that violates a keyword with values from a form."""
    return Kind(keyword, expected, (form.simplest,), form.strategy)


def kinds_of_keyword(keyword: str, limit: Any, form: Form | None) -> Iterator[Kind]:
    """Yield the kind that violates a keyword with this limit, if there is a form."""
    if form is not None:
        yield kind_of(keyword, words(keyword, limit), form)


def other_constants(keywords: dict[str, Any]) -> list[Any]:
    """Return values that differ slightly from the values of a const or an enum."""
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
    """Yield numbers beyond each limit, and numbers between multiples."""
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
            yield sampled_kind(keyword, limit, (limit, *beyond, limit + sign * 0.5))
    if "multipleOf" in keywords:
        near = [keywords.get("minimum", keywords.get("maximum", 0)) + by for by in range(-2, 3)]
        yield sampled_kind("multipleOf", step, (*near, 1, -1, step + 1, step - 1))


def texts(keywords: dict[str, Any]) -> Iterator[Kind]:
    """Yield texts of wrong length, with a wrong pattern, or with a wrong encoding."""
    low, high = keywords.get("minLength", 0), keywords.get("maxLength")
    if low:
        yield from kinds_of_keyword("minLength", low, text(keywords, 0, low - 1))
    if high is not None and high < TOO_LONG:
        for least in (high + 1, 2 * high + 1):
            yield from kinds_of_keyword("maxLength", high, text(keywords, least, least + 8))
    if "pattern" in keywords:
        whole = text(keywords, low, high)
        known = whole.simplest if whole else ""
        near = [known[:-1], *(part for odd in "!\n 0aA" for part in (known + odd, odd + known[1:]))]
        plain = [odd * max(low, 1) for odd in ("!", "\0", " ", "0", "a", "A", "\u00e9")]
        short = [encode_base64(bytes(size)) for size in range(8) if "contentEncoding" in keywords]
        yield sampled_kind("pattern", keywords["pattern"], ("", *plain, *near, *short))
    if "contentEncoding" in keywords:
        for kind in _encodings(keywords, low, high):
            yield replace(kind, doubtful="pattern" in keywords)


def _encodings(keywords: dict[str, Any], low: int, high: int | None) -> Iterator[Kind]:
    """Yield Base64 with a foreign character, without padding, or with stray bits."""
    some = text(keywords, max(low, 1), high)
    odd = Form(st.tuples(st.sampled_from("-_!.\n \u00e9"), st.integers(0, 64)), ("-", 0))
    yield from kinds_of_keyword(
        "contentEncoding", "base64", some and tuples_of(some, odd).map(_replace_character)
    )
    sizes = (encode_base64(bytes(size)) for size in range(3 * low // 4, 3 * low // 4 + 16))
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
    yield from kinds_of_keyword("contentEncoding", "base64", bare)
    yield from kinds_of_keyword("contentEncoding", "base64", form.map(_with_stray_bits))


def _replace_character(drawn: tuple[str, tuple[str, int]]) -> str:
    whole, (odd, at) = drawn
    index = at % len(whole)
    return whole[:index] + odd + whole[index + 1 :]


def _with_stray_bits(padded: str) -> str:
    """Set one of the unused bits of the last character, which must all be zero."""
    symbols = padded.rstrip("=")
    last = ALPHABET[ALPHABET.index(symbols[-1]) + 1]
    return symbols[:-1] + last + padded[len(symbols) :]
