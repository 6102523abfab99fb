"""Read decoded JSON like Serde: into declared shapes, and note unknown fields.

A shape is one of
- a function: takes the value, returns its meaning, or raises `Unfit`;
- a dict: an object with these fields; unknown fields are noted and ignored;
- `OneOf`: an externally tagged enum, read as `(tag, content)`;
- `Maybe`: a shape whose value can also be null or absent; both are read as None.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any


class Unfit(ValueError):
    """A value that does not have the shape; `path` is its place, the text is the reason."""

    path = ""

    def __str__(self) -> str:
        return f"{self.path or 'its value'} {self.args[0]}"


@dataclass(frozen=True, slots=True)
class OneOf:
    """The variants by tag; the shape None means a variant without content."""

    variants: "Mapping[str, Shape | None]"


@dataclass(frozen=True, slots=True)
class Maybe:
    shape: "Shape"


Shape = Callable[[Any], Any] | Mapping[str, "Shape"] | OneOf | Maybe


def read(shape: Shape, value: Any, strange: list[str], path: str = "") -> Any:
    """Read a value; append the paths of unknown fields to `strange`. Raises Unfit."""
    if isinstance(shape, Maybe):
        return None if value is None else read(shape.shape, value, strange, path)
    try:
        if isinstance(shape, OneOf):
            return _read_variant(shape, value, strange, path)
        if isinstance(shape, Mapping):
            return _read_fields(shape, value, strange, path)
        return shape(value)
    except Unfit as error:
        error.path = error.path or path
        raise


def _read_variant(shape: OneOf, value: Any, strange: list[str], path: str) -> tuple[str, Any]:
    if isinstance(value, str):
        tag, content = value, None
    elif isinstance(value, dict) and len(value) == 1:
        ((tag, content),) = value.items()
    else:
        raise Unfit("is not externally tagged")
    if tag not in shape.variants:
        raise Unfit(f"is of the unknown variant {tag[:64]!r}")
    inner = shape.variants[tag]
    if inner is None:
        if content is not None:
            raise Unfit(f"is a {tag} with content")
        return tag, None
    if isinstance(value, str):
        raise Unfit(f"is a {tag} without content")
    return tag, read(inner, content, strange, path)


def _read_fields(
    shape: Mapping[str, Shape], value: Any, strange: list[str], path: str
) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise Unfit("is not an object")
    paths = {name: f"{path}.{name}" if path else name for name in (*value, *shape)}
    strange += [paths[name] for name in value if name not in shape]
    for name, inner in shape.items():
        if name not in value and not isinstance(inner, Maybe):
            raise Unfit(f"has no {name}")
    return {
        name: read(inner, value.get(name), strange, paths[name]) for name, inner in shape.items()
    }


def integer(low: int, high: int) -> Callable[[Any], int]:
    def shape(value: Any) -> int:
        if not isinstance(value, int) or isinstance(value, bool):
            raise Unfit("is not an integer")
        if not low <= value <= high:
            raise Unfit(f"is not within {low} to {high}")
        return value

    return shape


def number(value: Any) -> float:
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        raise Unfit("is not a number")
    try:
        result = float(value)
    except OverflowError:
        raise Unfit("does not fit a float") from None
    if not isfinite(result):
        raise Unfit("is not finite")
    return result


def boolean(value: Any) -> bool:
    if not isinstance(value, bool):
        raise Unfit("is not a boolean")
    return value


def text(value: Any) -> str:
    if not isinstance(value, str):
        raise Unfit("is not a string")
    return value


def anything(value: Any) -> Any:
    return value


def texts(value: Any) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise Unfit("is not an array of strings")
    return value


def choice(*names: str) -> Callable[[Any], str]:
    """Return the shape of an enum whose variants have no content."""

    def shape(value: Any) -> str:
        tag, _ = _read_variant(OneOf(dict.fromkeys(names)), value, [], "")
        return tag

    return shape
