"""Content codings: how HTTP compresses bodies (RFC 9110, section 8.4)."""

import gzip
import zlib
from collections.abc import Mapping

_ZIPPED = ("gzip", "x-gzip")


def coding_of(headers: Mapping[str, str]) -> str:
    """Return the content coding of a message, in lower case; empty without a coding."""
    coding = headers.get("content-encoding", "").strip().lower()
    return "" if coding == "identity" else coding


def with_coding(body: bytes, headers: Mapping[str, str]) -> bytes:
    """Return the body in the coding of these headers; unchanged if it is unknown."""
    coding = coding_of(headers)
    if coding in _ZIPPED:
        return gzip.compress(body, mtime=0)
    return zlib.compress(body) if coding == "deflate" else body


def without_coding(body: bytes, headers: Mapping[str, str], limit: int) -> bytes:
    """Return at most `limit` bytes of the body, decoded if the coding is known.

    The body is unchanged if it does not have the coding that the headers name.
    """
    coding = coding_of(headers)
    if coding not in (*_ZIPPED, "deflate"):
        return body
    try:
        wide = zlib.MAX_WBITS | (16 if coding in _ZIPPED else 0)
        return zlib.decompressobj(wide).decompress(body, limit)
    except zlib.error:
        return body
