"""Reads the body of a message that is to be a JSON object, also in forms that it must not have.

What is meant is clear in some of them, as in that of an HTML form, which the HTTP libraries of many
languages make of an object: so it is read and judged, and one finding names the form.
"""

import ast
import contextlib
import json
import re
import zlib
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qsl

_MOST = 64 << 10  # bytes of a body that is read in another form than JSON
_GZIP = b"\x1f\x8b"  # how that begins
_MARK = "\ufeff"  # the byte order mark
_COMMA = re.compile(r",\s*}\s*$")  # no JSON, but Python and many others take it
_WRONG = (zlib.error, ValueError, TypeError, SyntaxError, RecursionError, MemoryError)


def json_object(data: bytes) -> dict[str, Any] | None:
    """The JSON object in UTF-8 that these bytes are; None if they are not one."""
    try:
        value, behind = _parsed(data.decode("utf-8"))
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) and not behind else None


def meant(data: bytes) -> tuple[dict[str, Any] | None, str]:
    """The object that these bytes, which are no JSON object, were to be, if any; and what came."""
    if 0 < len(data) <= _MOST:
        with contextlib.suppress(*_WRONG):
            for value, form in _readings(data):
                if isinstance(value, dict):
                    return value, f"it came {form}"
    return None, f"{data[:60]!r} came" if data else "nothing came"


def _readings(data: bytes) -> Iterator[tuple[Any, str]]:
    """What the bytes may stand for, each with the form that it then has. Raises one of `_WRONG`."""
    if data.startswith(_GZIP):
        plain = zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(data, _MOST)
        yield _parsed(plain.decode())[0], "compressed by gzip"
    try:
        text, form = data.decode("utf-8"), ""
    except UnicodeDecodeError as wrong:
        wide = data.startswith((b"\xff\xfe", b"\xfe\xff"))
        text = data.decode("utf-16" if wide else "latin-1")
        form = f"in another encoding: {data[wrong.start : wrong.start + 1]!r} is not UTF-8"
    if text.startswith(_MARK):
        text, form = text.removeprefix(_MARK), "behind a byte order mark"
    try:
        value, behind = _parsed(text)
    except ValueError:
        with contextlib.suppress(ValueError):
            yield _parsed(_COMMA.sub("}", text))[0], "with a comma behind its last member"
        if text.lstrip().startswith("{"):
            yield json.loads(json.dumps(ast.literal_eval(text.strip()))), "as Python writes it"
        else:
            yield dict(parse_qsl(text, strict_parsing=True)), "as an HTML form"
        return
    yield value, form or f"with {behind[:20]!r} behind it"
    if isinstance(value, list) and len(value) == 1:
        yield value[0], "within an array"
    if isinstance(value, str):
        yield _parsed(value)[0], "within a string"


def _parsed(text: str) -> tuple[Any, str]:
    """A JSON value, and what stands behind it. Raises ValueError."""
    begins = text.lstrip(" \t\r\n")
    value, end = _READER.raw_decode(begins)
    return value, begins[end:].strip(" \t\r\n")


def _no_number(text: str) -> None:
    raise ValueError(f"{text} is not JSON")


_READER = json.JSONDecoder(parse_constant=_no_number)
