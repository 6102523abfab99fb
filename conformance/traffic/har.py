"""Reads the archive of an HTTP client (HAR): its messages, written as HTTP/1.1.

An archive contains no bytes, so the framing of its messages cannot be judged. Exchanges share a
connection if the archive says so and they do not overlap. Every other exchange has its own
connection.
"""

import base64
import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from conformance import untrusted_files
from conformance.definitions.protocol import Protocol
from conformance.judging.captures import CaptureError, Event
from conformance.live.sides import Side
from conformance.traffic.foreign_recordings import Foreign, capture

SUFFIX = ".har"
_MAX_SIZE = 1024 * 1024 * 1024  # bytes of an archive that are read
_FRAMING = ("content-length", "transfer-encoding", "content-encoding", "connection", "keep-alive")
_BODILESS = (204, 304)


def read(path: Path, protocol: Protocol, side: Side) -> Foreign:
    """Read the exchanges of an archive with a server. Raises CaptureError if it is invalid."""
    try:
        entries = untrusted_files.read_json(untrusted_files.text(path, _MAX_SIZE))["log"]["entries"]
        if not isinstance(entries, list):
            raise ValueError("expected a list of entries")
    except OSError as error:
        raise CaptureError(f"{path}: {error.strerror or error}") from error
    except (ValueError, KeyError, TypeError) as error:
        raise CaptureError(f"{path}: not HAR: {error!r}") from error
    exchanges = []
    left_out = ["framing, which an archive does not contain"]
    for number, entry in enumerate(entries, 1):
        try:
            exchanges.append(_exchange(number, entry))
        except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
            raise CaptureError(f"{path}:{number}: not an entry of HAR: {error!r}") from error
        if not exchanges[-1].response:
            left_out.append(f"entry {number}: its response is incomplete")
    exchanges.sort(key=lambda each: each.at)
    timed = _events_by_time(exchanges, side)
    found = capture(protocol, [event for _, event in timed], "read from an HTTP archive")
    return Foreign(found, tuple(number for number, _ in timed), tuple(left_out))


@dataclass(frozen=True)
class _Exchange:
    """A request and its response, if there is one; times are in seconds."""

    number: int
    connection: str
    at: float
    until: float
    request: bytes
    response: bytes


def _exchange(number: int, entry: Mapping[str, Any]) -> _Exchange:
    at = datetime.datetime.fromisoformat(entry["startedDateTime"]).timestamp()
    until = at + _duration(entry) / 1000
    request, response = entry["request"], entry["response"]
    whole = response["status"] and _is_complete(response, request["method"])
    response_bytes = _response(response, request["method"]) if whole else b""
    connection = str(entry.get("connection", ""))
    return _Exchange(number, connection, at, until, _request(request), response_bytes)


def _duration(entry: Mapping[str, Any]) -> float:
    """Return the milliseconds from a request to the end of its response.

    Some clients include the time to connect, even for a connection that existed before.
    """
    timings = entry.get("timings") or {}
    parts = [float(timings.get(name, -1)) for name in ("send", "wait", "receive")]
    took = max(0.0, float(entry["time"]))
    return min(took, sum(parts)) if min(parts) >= 0 else took


def _is_complete(response: Mapping[str, Any], method: str) -> bool:
    """Return True if the body of a response was recorded completely."""
    fields = {str(each["name"]).lower(): str(each["value"]) for each in response["headers"]}
    content = response.get("content") or {}
    length = fields.get("content-length", "")
    if method == "HEAD" or "content-encoding" in fields or not length.isdecimal():
        return bool(content.get("text")) or not int(content.get("size") or 0) > 0
    return len(_body(content)) >= int(length)


def _events_by_time(exchanges: Sequence[_Exchange], side: Side) -> list[tuple[int, Event]]:
    """Return the events of all exchanges by time, each with the number of its entry."""
    began = exchanges[0].at if exchanges else 0.0
    latest: dict[str, tuple[int, float]] = {}
    timed: list[tuple[float, int, Event]] = []
    connections = 0
    for each in exchanges:
        at, until = each.at - began, each.until - began
        connection, free = latest.get(each.connection, (0, 0.0))
        if not connection or not each.connection or at < free:
            connections += 1
            connection = connections
            details = {"transport": "tcp"}
            begun = Event(at, None, event="connected", details=details, connection=connection)
            timed.append((at, each.number, begun))
        latest[each.connection] = connection, until
        request = Event(at, side.client, each.request, connection=connection)
        timed.append((at, each.number, request))
        if each.response:
            event = Event(until, side.server, each.response, connection=connection)
            timed.append((until, each.number, event))
    timed.sort(key=lambda entry: entry[0])
    return [(number, event) for _, number, event in timed]


def _request(request: Mapping[str, Any]) -> bytes:
    where = urlsplit(request["url"])
    path = (where.path or "/") + (f"?{where.query}" if where.query else "")
    posted = request.get("postData") or {}
    headers = _headers(request)
    if not any(name.lower() == "host" for name, _ in headers):
        headers.insert(0, ("Host", where.netloc))
    body = _body(posted)
    return _message(f"{request['method']} {path} HTTP/1.1", headers, body, bool(posted))


def _response(response: Mapping[str, Any], method: str) -> bytes:
    status = int(response["status"])
    first = f"HTTP/1.1 {status} {response.get('statusText', '')}"
    framed = method != "HEAD" and status not in _BODILESS and status >= 200
    return _message(first, _headers(response), _body(response.get("content") or {}), framed)


def _headers(message: Mapping[str, Any]) -> list[tuple[str, str]]:
    pairs = [(str(entry["name"]), str(entry["value"])) for entry in message["headers"]]
    # Names with a colon belong to HTTP/2. The archive contains the body without any coding.
    return [
        (name, value)
        for name, value in pairs
        if not name.startswith(":") and name.lower() not in _FRAMING
    ]


def _body(content: Mapping[str, Any]) -> bytes:
    text = content.get("text") or ""
    if content.get("encoding") == "base64":
        return base64.b64decode(text, validate=True)
    return str(text).encode()


def _message(first: str, headers: list[tuple[str, str]], body: bytes, framed: bool) -> bytes:
    sent = [*headers, ("Content-Length", str(len(body)))] if framed else headers
    lines = [first, *(f"{name}: {value}" for name, value in sent), "", ""]
    return "\r\n".join(lines).encode("latin-1", "replace") + (body if framed else b"")
