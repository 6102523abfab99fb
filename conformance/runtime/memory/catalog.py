"""Reads the YAML file of the peripheral catalog, and reports errors in one line.

Source: Buffers, Catalog. The accepted files are those of the schema `catalog.json`. This module
uses no JSON Schema validator, because loading one takes too long. Mocks read catalogs hundreds of
times in a test run.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from typing import Any

from conformance import untrusted_files

BOOLEAN, INTEGER, REAL, OTHER = "boolean", "integer", "real", "other"

_INTEGERS = [
    *(
        f"{sign}{name}"
        for sign in ("", "u")
        for name in ("byte", "short", "int", "long", "longlong")
    ),
    *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)),
    *("size_t", "ssize_t"),
]
KINDS: Mapping[str, str] = {
    "bool": BOOLEAN,
    **dict.fromkeys(_INTEGERS, INTEGER),
    **dict.fromkeys(("float", "double"), REAL),
    # JSON cannot express these values; a long double has more digits than a JSON number.
    **dict.fromkeys(("char", "wchar", "longdouble", "char_p", "wchar_p", "void_p"), OTHER),
}
"""By type (the suffix of `ctypes.c_*`): the kind of its values."""


class CatalogError(ValueError):
    """A rule that the catalog violates, in one line with its position."""


@dataclass(frozen=True)
class Parameter:
    """One parameter; ``count`` is None for a single value, else the length of its array."""

    name: str
    type: str
    count: int | None = None
    lower: float = -inf
    upper: float = inf
    readable: bool = True
    writeable: bool = False
    subscribed: bool = True

    @property
    def kind(self) -> str:
        return KINDS[self.type]

    def clamp(self, value: Any) -> Any:
        """Return the value, limited to the bounds.

        Bounds apply only to single numbers, not to arrays.
        """
        if self.kind not in (INTEGER, REAL) or self.count is not None:
            return value
        bound = max(self.lower, min(self.upper, value))
        if bound == value:
            return value
        return int(bound) if self.kind == INTEGER else bound


@dataclass(frozen=True)
class Peripheral:
    """A type of peripheral; a Smart Device has a ``device_id``. ``delay`` is in milliseconds."""

    name: str
    params: tuple[Parameter, ...]
    device_id: int | None = None
    delay: float | None = None

    def __getitem__(self, name: str) -> Parameter:
        """Return the parameter of a name. Raises ValueError if it does not exist."""
        return self.params[self.index(name)]

    def index(self, name: str) -> int:
        """Return the number of a parameter's bit. Raises ValueError if it does not exist."""
        for index, param in enumerate(self.params):
            if param.name == name:
                return index
        raise ValueError(f"{self.name} has no parameter {name!r}")

    def bits(self, names: Any) -> int:
        """Return the bitmap of these parameters."""
        return sum({1 << self.index(name) for name in names})

    def names(self, bitmap: int) -> list[str]:
        """Return the parameters whose bits are set."""
        return [param.name for index, param in enumerate(self.params) if bitmap >> index & 1]


MAX_PARAMETERS = 16  # of a Smart Device; see section Catalog of the specification

# By optional key of a parameter: the types of its value.
_KEYS: Mapping[str, tuple[type, ...]] = {
    **dict.fromkeys(("lower", "upper"), (int, float)),
    **dict.fromkeys(("readable", "writeable", "subscribed"), (bool,)),
}
_TYPE = re.compile(rf"({'|'.join(KINDS)})(?:\[([1-9][0-9]*)\])?", re.ASCII)


def load(text: str | bytes) -> dict[str, Peripheral]:
    """Return the peripherals of a catalog file by name. Raises CatalogError."""
    try:
        raw = untrusted_files.read_yaml(text if isinstance(text, str) else text.decode("utf-8-sig"))
    except ValueError as error:
        raise CatalogError(f"the catalog is not valid YAML: {error}") from error
    _check(isinstance(raw, dict), "the catalog is not a map of peripherals")
    return {name: _peripheral(name, entry) for name, entry in raw.items()}


def _check(holds: bool, otherwise: str) -> None:
    if not holds:
        raise CatalogError(otherwise)


def _is(value: Any, *types: type) -> bool:
    """Return True if a value has one of these types; booleans are not numbers."""
    return isinstance(value, types) and (not isinstance(value, bool) or bool in types)


def _peripheral(name: Any, raw: Any) -> Peripheral:
    _check(isinstance(name, str) and isinstance(raw, dict), f"{name!r} is not a peripheral")
    params, device, delay = raw.get("params", []), raw.get("device_id"), raw.get("delay")
    _check(isinstance(params, list), f"the params of {name!r} are not a list")
    if "device_id" in raw:
        _check(_is(device, int) and device >= 0, f"{name!r}: the device_id is not a number")
        _check(
            len(params) <= MAX_PARAMETERS,
            f"{name!r} has {len(params)} parameters; at most {MAX_PARAMETERS} are allowed",
        )
    _check("delay" not in raw or _is(delay, int, float), f"{name!r}: the delay is not a number")
    return Peripheral(name, tuple(_parameter(repr(name), entry) for entry in params), device, delay)


def _parameter(peripheral: str, raw: Any) -> Parameter:
    """Return a parameter; `peripheral` is the peripheral's name for messages, in quotes."""
    _check(isinstance(raw, dict), f"a parameter of {peripheral} is not a map")
    for key in ("name", "type"):
        _check(isinstance(raw.get(key), str), f"a parameter of {peripheral} has no {key}")
    name = raw["name"]
    _check(name.isidentifier(), f"{peripheral}: {name!r} is not an identifier")
    of = _TYPE.fullmatch(raw["type"])
    if of is None:
        raise CatalogError(f"{peripheral}.{name}: the type {raw['type']!r} does not exist")
    given = {key: raw[key] for key in _KEYS if key in raw}
    for key, value in given.items():
        _check(_is(value, *_KEYS[key]), f"{peripheral}.{name}: {key} cannot be {value!r}")
    return Parameter(name, of[1], int(of[2]) if of[2] else None, **given)
