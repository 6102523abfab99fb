"""The peripheral catalog: reads the YAML file, and says in one line what is wrong with it.

Source: Buffers, Catalog. The schema of the file is `catalog.json`; what it cannot say stands here.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from typing import Any

import yaml

from conformance import specs

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

        Bounds are of numbers only; an array of numbers is no number.
        """
        if self.kind not in (INTEGER, REAL) or self.count is not None:
            return value
        bound = max(self.lower, min(self.upper, value))
        return int(bound) if self.kind == INTEGER and bound != value else bound


@dataclass(frozen=True)
class Peripheral:
    """One type of peripheral: a Smart Device where it has a ``device_id``. ``delay`` is in ms."""

    name: str
    params: tuple[Parameter, ...]
    device_id: int | None = None
    delay: float | None = None

    def __getitem__(self, name: str) -> Parameter:
        return next(param for param in self.params if param.name == name)

    def index(self, name: str) -> int:
        """The number of a parameter's bit. Raises ValueError where there is no such parameter."""
        return [param.name for param in self.params].index(name)

    def bits(self, names: Any) -> int:
        """The bitmap of these parameters."""
        return sum({1 << self.index(name) for name in names})

    def names(self, bitmap: int) -> list[str]:
        """The parameters whose bits are set."""
        return [param.name for index, param in enumerate(self.params) if bitmap >> index & 1]


def load(text: str | bytes) -> dict[str, Peripheral]:
    """The peripherals of a catalog file, by name. Raises CatalogError."""
    try:
        raw = yaml.safe_load(text)
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError) as error:
        raise CatalogError(f"no YAML: {' '.join(str(error).split())}") from error
    if errors := specs.load("runtime").schemas.errors("catalog.json", raw):
        raise CatalogError(errors[0].message)
    return {name: _peripheral(name, entry) for name, entry in raw.items()}


def _peripheral(name: str, raw: Mapping[str, Any]) -> Peripheral:
    params = tuple(_parameter(name, entry) for entry in raw.get("params", ()))
    return Peripheral(name, params, raw.get("device_id"), raw.get("delay"))


def _parameter(peripheral: str, raw: Mapping[str, Any]) -> Parameter:
    if not raw["name"].isidentifier():
        raise CatalogError(f"{peripheral}: {raw['name']!r} is no identifier")
    type_, _, count = raw["type"].removesuffix("]").partition("[")
    known = ("lower", "upper", "readable", "writeable", "subscribed")
    given = {key: raw[key] for key in known if key in raw}
    return Parameter(raw["name"], type_, int(count) if count else None, **given)
