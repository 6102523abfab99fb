"""Hypothesis strategies: legal interleavings of messages, and nearly correct handshakes."""

from functools import cache
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from conformance.definitions import protocols
from conformance.definitions.schemas import Schema
from conformance.deltarobot.codec import SIZES, VARIABLE
from conformance.deltarobot.floats import is_finite
from conformance.deltarobot.messages import EXERCISE, MAGIC, VERSION, ping, unknown
from conformance.generation import valid

_U64 = st.integers(0, 2**64 - 1)
_SIZES = st.sampled_from([*SIZES, VARIABLE])


@st.composite
def strangers(draw: st.DrawFn) -> Any:
    """Draw a message of any defined size whose type version 1 does not define.

    The null type is never drawn.
    """
    size, kind = draw(_SIZES), draw(st.integers(0x00A, 0xFFF))
    count = SIZES.get(size)
    data = draw(st.binary(min_size=count or 0, max_size=40 if count is None else count))
    return unknown(size << 12 | kind, data.hex())


def _valid_values(schema: Schema) -> SearchStrategy[Any]:
    """Return the valid values of a schema.

    The strategy is built when the first value is drawn: building takes long, and most runs need
    none.
    """
    return st.deferred(lambda: valid(schema))


def _finite(value: dict[str, Any]) -> dict[str, Any]:
    """Replace coordinates that are not finite, which are decoded as texts, by 0."""
    if "points" in value:
        points = [[_finite_number(number) for number in point] for point in value["points"]]
        return {**value, "points": points}
    return {**value, **{axis: _finite_number(value[axis]) for axis in "xyz"}}


def _finite_number(number: Any) -> Any:
    return number if is_finite(number) else 0.0


@cache
def of_a_server() -> SearchStrategy[list[Any]]:
    """Draw messages that a server can send after the handshake, in any order.

    All coordinates are finite, because the specification does not say how others are shown.
    """
    protocol = protocols.load("deltarobot")
    schemas = (
        protocol.schemas.schema(protocol.messages["server", name].schema) for name in EXERCISE
    )
    # The specification does not define the effect of a curve without points.
    known = [
        _valid_values(each).filter(lambda value: value.get("points") != []).map(_finite)
        for each in schemas
    ]
    pings = st.one_of(_U64, st.sampled_from([0, 2**64 - 1])).map(ping)
    return st.lists(st.one_of(pings, strangers(), *known), min_size=1, max_size=30)


def of_a_client() -> SearchStrategy[list[Any]]:
    """Draw messages of a client that version 1 does not define, in any order."""
    return st.lists(strangers(), min_size=1, max_size=30)


@st.composite
def near_handshakes(draw: st.DrawFn) -> tuple[str, str, list[Any]]:
    """Draw an opening that differs slightly from magic and version.

    The result has three parts: the requirement by which the IUT is to refuse it, a description of
    the difference, and the messages.
    """
    magic, version = dict(MAGIC), dict(VERSION)
    match draw(st.sampled_from(["character", "version", "other"])):
        case "character":
            place, by = draw(st.integers(0, 7)), draw(st.integers(1, 255))
            text = magic["magic"]
            magic["magic"] = f"{text[:place]}{chr(ord(text[place]) ^ by)}{text[place + 1 :]}"
            wrong = "handshake.closes-wrong-magic", f"the magic {magic['magic']!r}"
        case "version":
            number = draw(st.one_of(st.integers(0, 2**32 - 1), st.just(2**24), st.just(257)))
            version["version"] = number + (number == 1)
            wrong = "handshake.closes-wrong-version", f"the version {version['version']}"
        case _:
            first = draw(strangers())
            what = f"{first['identifier']} before magic and version"
            return "handshake.closes-different", what, [first, magic, version]
    both = [magic, version]
    return *wrong, both if draw(st.booleans()) else both[::-1]


def points() -> SearchStrategy[list[list[float]]]:
    """Draw the points of a curve; all numbers are finite."""
    numbers = st.floats(width=32, allow_nan=False, allow_infinity=False)
    return st.lists(st.lists(numbers, min_size=3, max_size=3), min_size=1, max_size=40)
