"""Lawful variants of peers whose reader of JSON rounds the last digit of a decimal."""

from decimal import Decimal
from typing import Any

from mocks.deviations import Table, Variant
from mocks.runtime.buffer_consumer import Consumer
from mocks.runtime.buffer_owner import Owner
from mocks.steps import alter


def _rounded(value: Any) -> Any:
    """Return what a reader makes of a float that multiplies its digits by a power of ten."""
    if isinstance(value, list):
        return [_rounded(each) for each in value]
    if not isinstance(value, float) or not value:
        return value
    sign, digits, exponent = Decimal(repr(value)).as_tuple()
    assert isinstance(exponent, int)
    whole = float("".join(map(str, digits))) * (-1 if sign else 1)
    if exponent >= 0:
        return whole * 10.0**exponent
    # 10**-308 is the smallest power of ten with full precision.
    return whole / 10.0 ** min(-exponent, 308) / 10.0 ** max(-exponent - 308, 0)


OWNER = Table(Owner)
CONSUMER = Table(Consumer)
SUMMARY = "Reads a float as its digits, multiplied by a power of ten, which can round the last one."

OWNER["set-data.values"] = {
    "floats-by-their-digits": Variant(
        SUMMARY,
        alter(
            "set_data",
            lambda peer, buffer, values: (
                buffer,
                {name: _rounded(value) for name, value in values.items()},
            ),
        ),
    ),
}

CONSUMER["set-value.value"] = {
    "floats-by-their-digits": Variant(
        SUMMARY,
        alter("set_value", lambda peer, buffer, name, value: (buffer, name, _rounded(value))),
    ),
}
