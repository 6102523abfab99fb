"""The peripheral catalog: reads the YAML file, and says in one line what is wrong with it.

Source: Buffers, Catalog. It takes what the schema of the file (`catalog.json`) takes. A mock reads
it hundreds of times in a test run, and to load a validator takes longer than all else it does.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from typing import Any

import yaml

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
    # Their values have no form in JSON; a long double has more digits than its numbers.
    **dict.fromkeys(("char", "wchar", "longdouble", "char_p", "wchar_p", "void_p"), OTHER),
}
"""What the values of each type are: the suffixes of `ctypes.c_*`."""


class CatalogError(ValueError):
    """A catalog that breaks a rule; one line that says where and which."""


@dataclass(frozen=True)
class Parameter:
    """One parameter: ``count`` is None for a single value, else the length of its array."""

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
        """The value within the bounds: itself, or the bound that it is beyond.

        Bounds are of numbers only; an array of numbers is not a number.
        """
        if self.kind not in (INTEGER, REAL) or self.count is not None:
            return value
        bound = max(self.lower, min(self.upper, value))
        if bound == value:
            return value
        return int(bound) if self.kind == INTEGER else bound


@dataclass(frozen=True)
class Peripheral:
    """One type of peripheral: a Smart Device where it has a ``device_id``. ``delay`` is in ms."""

    name: str
    params: tuple[Parameter, ...]
    device_id: int | None = None
    delay: float | None = None

    def __getitem__(self, name: str) -> Parameter:
        """The parameter of a name. Raises ValueError where there is none."""
        return self.params[self.index(name)]

    def index(self, name: str) -> int:
        """The number of a parameter's bit. Raises ValueError where there is no such parameter."""
        for index, param in enumerate(self.params):
            if param.name == name:
                return index
        raise ValueError(f"{self.name} has no parameter {name!r}")

    def bits(self, names: Any) -> int:
        """The bitmap of these parameters."""
        return sum({1 << self.index(name) for name in names})

    def names(self, bitmap: int) -> list[str]:
        """The parameters whose bits are set."""
        return [param.name for index, param in enumerate(self.params) if bitmap >> index & 1]


MOST = 16  # parameters of a Smart Device

# What the keys of a parameter that may be left out have to be.
_KEYS: Mapping[str, tuple[type, ...]] = {
    **dict.fromkeys(("lower", "upper"), (int, float)),
    **dict.fromkeys(("readable", "writeable", "subscribed"), (bool,)),
}
_TYPE = re.compile(rf"({'|'.join(KINDS)})(?:\[([1-9][0-9]*)\])?", re.ASCII)
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def load(text: str | bytes) -> dict[str, Peripheral]:
    """The peripherals of a catalog file, by name. Raises CatalogError."""
    try:
        raw = yaml.load(text, _Loader)
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError) as error:
        raise CatalogError(f"no YAML: {' '.join(str(error).split())}") from error
    _check(isinstance(raw, dict), "the catalog is not a map of peripherals")
    return {name: _peripheral(name, entry) for name, entry in raw.items()}


def _check(holds: bool, otherwise: str) -> None:
    if not holds:
        raise CatalogError(otherwise)


def _is(value: Any, *types: type) -> bool:
    """Whether a value is of one of these types; a boolean is not a number."""
    return isinstance(value, types) and (not isinstance(value, bool) or bool in types)


def _peripheral(name: Any, raw: Any) -> Peripheral:
    _check(isinstance(name, str) and isinstance(raw, dict), f"{name!r} is not a peripheral")
    params, device, delay = raw.get("params", []), raw.get("device_id"), raw.get("delay")
    _check(isinstance(params, list), f"the params of {name!r} are not a list")
    if "device_id" in raw:
        _check(_is(device, int) and device >= 0, f"{name!r}: the device_id is not a number")
        _check(len(params) <= MOST, f"{name!r} has {len(params)} parameters, {MOST} are allowed")
    _check("delay" not in raw or _is(delay, int, float), f"{name!r}: the delay is not a number")
    return Peripheral(name, tuple(_parameter(repr(name), entry) for entry in params), device, delay)


def _parameter(peripheral: str, raw: Any) -> Parameter:
    """A parameter; `peripheral` is whose, as messages have it: any text can be a key of YAML."""
    _check(isinstance(raw, dict), f"a parameter of {peripheral} is not a map")
    for key in ("name", "type"):
        _check(isinstance(raw.get(key), str), f"a parameter of {peripheral} has no {key}")
    name = raw["name"]
    _check(name.isidentifier(), f"{peripheral}: {name!r} is not an identifier")
    of = _TYPE.fullmatch(raw["type"])
    if of is None:
        raise CatalogError(f"{peripheral}.{name}: there is no type {raw['type']!r}")
    given = {key: raw[key] for key in _KEYS if key in raw}
    for key, value in given.items():
        _check(_is(value, *_KEYS[key]), f"{peripheral}.{name}: {key} cannot be {value!r}")
    return Parameter(name, of[1], int(of[2]) if of[2] else None, **given)
