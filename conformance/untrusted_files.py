"""Reads untrusted JSON, YAML and TOML files within bounds; every error is a ValueError."""

import json
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

MAX_SIZE = 4 * 1024 * 1024
"""The bytes of a file that are read: a hundred times the largest file that people write."""
_DIGITS = 300  # digits of a number: more than any floating-point number has before its point
_NODES = 500_000  # values in a YAML file: more than fit in the bytes, unless there are aliases
_MAX_DEPTH = 100  # nested collections in a YAML file; the fast loader would crash
_DOTTED = re.compile(
    r"""(?:^|[{,])[ \t\[]*+(?:(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){200}""",
    re.ASCII | re.MULTILINE,
)
"""A key of 200 parts or more, which takes tomllib a minute."""

T = TypeVar("T")


def text(path: Path, most: int = MAX_SIZE) -> str:
    """Return the text of a file. Raises OSError; ValueError if it is too large or not UTF-8."""
    with path.open("rb") as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise ValueError(f"larger than {most} bytes")
    return data.decode("utf-8-sig")


def read_json(source: str) -> Any:
    """Return the value of a JSON text; every number in it is finite. Raises ValueError."""
    return _parse_untrusted(
        lambda: json.loads(
            source, parse_float=_float, parse_int=_int, parse_constant=_reject_constant
        )
    )


def read_toml(source: str) -> dict[str, Any]:
    """Return the tables of a TOML text. Raises ValueError."""
    import tomllib

    if _DOTTED.search(source):
        raise ValueError("nested too deep")
    return _parse_untrusted(lambda: tomllib.loads(source))


def read_yaml(source: str) -> Any:
    """Return the value of a YAML text. Raises ValueError."""
    import yaml

    if len(source) > MAX_SIZE:
        raise ValueError(f"larger than {MAX_SIZE} bytes")
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        # The fast loader is recursive without a limit, so deep nesting would crash it.
        depth = 0
        for number, event in enumerate(yaml.parse(source, loader)):
            opens = isinstance(event, yaml.CollectionStartEvent)
            depth += opens - isinstance(event, yaml.CollectionEndEvent)
            if depth > _MAX_DEPTH:
                raise ValueError("nested too deep")
            if number > 2 * _NODES:  # a collection has two events
                raise ValueError(f"expected at most {_NODES} values")
        value = yaml.load(source, loader)
    except yaml.YAMLError as error:
        raise ValueError(" ".join(str(error).split())) from error
    except RecursionError:
        raise ValueError("nested too deep") from None
    if _size(value) > _NODES:
        raise ValueError(f"expected at most {_NODES} values, with each alias counted as its value")
    return value


def _parse_untrusted(parse: Callable[[], T]) -> T:
    try:
        return parse()
    except RecursionError:
        raise ValueError("nested too deep") from None


def _size(value: Any) -> int:
    """Count the values within a value; stop after the limit, because a value can be in itself."""
    count, waiting = 0, [value]
    while waiting and count <= _NODES:
        value = waiting.pop()
        count += 1
        if isinstance(value, dict):
            waiting += [*value.keys(), *value.values()]
        elif isinstance(value, list | tuple | set):
            waiting += value
    return count + len(waiting)


def _float(digits: str) -> float:
    if not math.isfinite(value := float(digits)):
        raise ValueError(f"the number {digits[:40]} is too large")
    return value


def _int(digits: str) -> int:
    if len(digits) > _DIGITS:
        raise ValueError(f"the number {digits[:40]}… is too large")
    return int(digits)


def _reject_constant(constant: str) -> Any:
    raise ValueError(f"{constant} is no JSON")
