"""Read the body of a message that should be a JSON object, even if malformed.

Some wrong forms still have a clear meaning. An example is an HTML form, which many HTTP libraries
make of an object. These bodies are read and judged too. A single finding names the form.
"""

import ast
import contextlib
import json
import re
import zlib
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qsl

_MAX_SIZE = 64 << 10  # bytes; no data object of a robot is longer
_GZIP = b"\x1f\x8b"  # the first bytes of a gzip stream
_MARK = "\ufeff"  # the byte order mark
# A comma before the closing brace: JSON forbids it, but Python accepts it.
_COMMA = re.compile(r",\s*}\s*$")
_ERRORS = (zlib.error, ValueError, TypeError, SyntaxError, RecursionError, MemoryError)


def json_object(data: bytes) -> dict[str, Any] | None:
    """Return the JSON object that these UTF-8 bytes encode, or None."""
    try:
        value, rest = _parse(data.decode("utf-8"))
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) and not rest else None


def guess_object(data: bytes) -> tuple[dict[str, Any] | None, str]:
    """Return the object that a malformed body evidently encodes, and a text for the report.

    `data` is not a JSON object. The object is None if no known form fits.
    """
    if 0 < len(data) <= _MAX_SIZE:
        with contextlib.suppress(*_ERRORS):
            for value, form in _readings(data):
                if isinstance(value, dict):
                    return value, f"received the object {form}"
    return None, f"received {data[:60]!r}" if data else "received nothing"


def _readings(data: bytes) -> Iterator[tuple[Any, str]]:
    """Yield possible values of the bytes, each with a description of its form.

    Raises one of `_ERRORS` if no form fits.
    """
    if data.startswith(_GZIP):
        plain = zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(data, _MAX_SIZE)
        yield _parse(plain.decode())[0], "compressed by gzip"
    try:
        text, form = data.decode("utf-8"), ""
    except UnicodeDecodeError as wrong:
        wide = data.startswith((b"\xff\xfe", b"\xfe\xff"))
        text = data.decode("utf-16" if wide else "latin-1")
        form = f"in another encoding: {data[wrong.start : wrong.start + 1]!r} is not UTF-8"
    if text.startswith(_MARK):
        text, form = text.removeprefix(_MARK), "after a byte order mark"
    try:
        value, rest = _parse(text)
    except ValueError:
        with contextlib.suppress(ValueError):
            yield _parse(_COMMA.sub("}", text))[0], "with a comma after its last member"
        if text.lstrip().startswith("{"):
            yield json.loads(json.dumps(ast.literal_eval(text.strip()))), "as Python writes it"
        else:
            yield dict(parse_qsl(text, strict_parsing=True)), "as an HTML form"
        return
    yield value, form or f"followed by {rest[:20]!r}"
    if isinstance(value, list) and len(value) == 1:
        yield value[0], "within an array"
    if isinstance(value, str):
        yield _parse(value)[0], "within a string"


def _parse(text: str) -> tuple[Any, str]:
    """Return the JSON value at the start of the text, and the text after it. Raises ValueError."""
    begins = text.lstrip(" \t\r\n")
    value, end = _READER.raw_decode(begins)
    return value, begins[end:].strip(" \t\r\n")


def _no_number(text: str) -> None:
    raise ValueError(f"{text} is not JSON")


_READER = json.JSONDecoder(parse_constant=_no_number)
