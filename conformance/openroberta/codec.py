"""Decode one direction of an HTTP connection into requests or responses, and encode them.

Decoded forms:

- request: `{"method", "path", "query"?, "version", "headers", "json" or "base64"?}`
- response: `{"status", "reason"?, "version", "headers", "json" or "base64"?}`
- websocket message, after an upgrade: `{"opcode", "masked", "json" or "base64"}`

The names in `headers` are in lower case. A body that is a JSON object is `json`; any other body is
`base64`. The body of a message with a Filename is always `base64`. An empty body has no member. The
module `message_names` gives each message its name.

HTTP allows many spellings of a message. `encode` writes a spelling that decodes to the same value,
except for the content length.
"""

import base64
import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import h11

from conformance.codec import Frame
from conformance.openroberta import message_names, websocket
from conformance.openroberta.codings import with_coding, without_coding

INCIDENTAL = ("content-length",)
"""Members of a decoded form that depend on the spelling only, because JSON has many spellings."""

# bytes of one message that are kept; four times the largest message of a test
LIMIT = 8 * 1024 * 1024
_HELLO = b"\x16\x03"  # first bytes of a TLS connection
_RESPONSE = b"HTTP/"
_BEGINS = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]")  # a character that HTTP allows in a method
_REQUIREMENT = "http.messages"
_LAB = re.compile("^https?://[^/?]*", re.IGNORECASE)
_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
_HOST = re.compile(rb"(\[[^\]]*\]|[^\s:/?#@\[\]]*)(:[0-9]*)?")
_ONCE = (b"content-length", b"content-type")  # header fields that a message can have only once

UPGRADE = {"connection": "Upgrade", "upgrade": "websocket"}


# Messages in their decoded form


def request(
    method: str, path: str, headers: Mapping[str, str] | None = None, body: Any = None
) -> dict[str, Any]:
    """Return a request in its decoded form. A body that is not bytes is sent as JSON."""
    content = b"" if body is None else _bytes(body)
    given = {"host": "127.0.0.1", **(headers or {})}
    if body is not None and not isinstance(body, bytes):
        given.setdefault("content-type", "application/json")
    value = {"method": method, "path": path, "version": "1.1"}
    return {**value, "headers": _with_length(given, content, body is not None), **_body(body)}


def response(
    status: int, headers: Mapping[str, str] | None = None, body: Any = None
) -> dict[str, Any]:
    """Return a response in its decoded form. A body that is not bytes is sent as JSON."""
    content = b"" if body is None else _bytes(body)
    given = dict(headers or {})
    if body is not None and not isinstance(body, bytes):
        given.setdefault("content-type", "application/json")
    value = {"status": status, "reason": _REASONS.get(status, "Other"), "version": "1.1"}
    return {**value, "headers": _with_length(given, content, status != 101), **_body(body)}


_REASONS = {
    101: "Switching Protocols",
    200: "OK",
    400: "Bad Request",
    404: "Not Found",
    405: "Method Not Allowed",
    500: "Internal Server Error",
    503: "Service Unavailable",
}


def _with_length(headers: dict[str, str], content: bytes, has_body: bool) -> dict[str, str]:
    if has_body and "transfer-encoding" not in headers:
        return {**headers, "content-length": str(len(content))}
    return headers


def _body(body: Any) -> dict[str, Any]:
    if isinstance(body, bytes):
        return {"base64": base64.b64encode(body).decode()} if body else {}
    return {} if body is None else {"json": body}


def _bytes(body: Any) -> bytes:
    """Return the bytes of a body. JSON is written as in published labs, which all robots read."""
    return body if isinstance(body, bytes) else json.dumps(body, separators=(",", ":")).encode()


def content(value: Mapping[str, Any]) -> bytes:
    """Return the bytes of a decoded message's body. Raises ValueError if they are not Base64."""
    if "json" in value:
        return _bytes(value["json"])
    return base64.b64decode(value.get("base64", ""), validate=True)


def plain_content(value: Mapping[str, Any]) -> bytes:
    """Return the bytes of a decoded message's body without its content coding."""
    data = content(value)
    return data if "json" in value else without_coding(data, value["headers"], LIMIT)


def brief(value: Mapping[str, Any]) -> str:
    """Summarise a decoded message in one line, without headers; a binary file is its length."""
    parts = [value.get(name) for name in ("method", "path", "status", "reason")]
    if "json" in value:
        parts.append(json.dumps(value["json"], ensure_ascii=False))
    elif "base64" in value:
        data = content(value)
        text = data[:160].decode("utf-8", "replace")
        parts.append(text if text.isprintable() else f"{len(data)} bytes")
    return " ".join(str(each) for each in parts if each is not None)


def label(message: str, value: Any) -> str:
    """Return the name of a message for the report, with the status of a refusal."""
    if not isinstance(value, dict):
        return message
    if message == "Refusal":
        return f"Refusal {value.get('status')}"
    if message == "Request":
        return f"Request {value.get('method')} {value.get('path')}"[:80]
    return message


# To bytes


Spelling = Callable[[str, str], str]
"""Writes a header field from its name and value."""


def title_case(name: str, text: str) -> str:
    """Spell a header field as most programs do, for peers that know no other spelling."""
    return f"{name.title()}: {text}"


def with_a_blank(name: str, text: str) -> str:
    """Write a header field whose value has a blank at its end."""
    return f"{title_case(name, text)} "


def encode(value: Any, spell: Spelling = title_case) -> bytes:
    """Return the bytes of a decoded message; `spell` writes each header field.

    Raises ValueError if the value is not a message.
    """
    try:
        if "opcode" in value:
            return websocket.encode(value, content(value))
        if "method" in value:
            query = f"?{value['query']}" if "query" in value else ""
            first = f"{value['method']} {value['path']}{query} HTTP/{value['version']}"
        else:
            first = f"HTTP/{value['version']} {value['status']} {value.get('reason', '')}"
        body, headers = content(value), dict(value["headers"])
        if "json" in value:
            body = with_coding(body, headers)
        if "content-length" in headers:
            headers["content-length"] = str(len(body))
        lines = [first, *(spell(name, text) for name, text in headers.items()), "", ""]
        chunked = headers.get("transfer-encoding", "").lower() == "chunked"
        return "\r\n".join(lines).encode("latin-1") + (chunks([body]) if chunked else body)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise ValueError(f"cannot encode this message: {str(value)[:200]}: {error!r}") from error


def chunks(pieces: Iterable[bytes], *, capitals: bool = False) -> bytes:
    """Return a chunked body with one chunk for each non-empty piece.

    ``capitals``: True to write the hexadecimal sizes with capital letters.
    """
    form = b"%X\r\n%s\r\n" if capitals else b"%x\r\n%s\r\n"
    coded = (form % (len(piece), piece) for piece in pieces if piece)
    return b"".join(coded) + b"0\r\n\r\n"


# From bytes


class Decoder:
    """Decoder for one direction of a connection. The first bytes show the direction.

    Decoding stops after three events: a message above `limit` bytes (`Oversized`), a `TlsHello`,
    and bytes that are not HTTP. `lost` is then the reason, otherwise empty.
    """

    def __init__(self, limit: int = LIMIT) -> None:
        self._limit = limit
        self._message = _Message(limit)
        self._upgrading = False  # the last request asked for a websocket
        self._socket: websocket.Decoder | None = None
        self.lost = ""

    def feed(self, data: bytes) -> list[Frame]:
        return list(self._frames(data))

    def _frames(self, data: bytes) -> Iterable[Frame]:
        while data and not self.lost:
            if self._upgrading:
                # The first byte of a websocket frame is never a letter, because its reserved bits
                # are zero. A letter therefore begins another request.
                if data[:1].isalpha():
                    self._upgrading = False
                else:
                    self._socket = websocket.Decoder(from_client=True, limit=self._limit)
                    self._upgrading = False
            if self._socket:
                yield from self._socket.feed(data)
                self.lost = self._socket.lost
                return
            frame, data = self._message.feed(data)
            if frame is None:
                return
            yield self._finish_message(frame)

    def prompt(self) -> bytes:
        """Return "100 Continue" if a request keeps its body back until it gets that answer."""
        return b"" if self.lost or self._socket else self._message.prompt()

    def end(self) -> list[Frame]:
        if self.lost:
            return []
        if self._socket:
            return self._socket.end()
        frame = self._message.end()
        return [self._finish_message(frame)] if frame else []

    def _finish_message(self, frame: Frame) -> Frame:
        """Prepare the decoder for the message after this complete one; return the frame."""
        self._message = _Message(self._limit)
        if frame.name in (None, message_names.TLS_HELLO, message_names.OVERSIZED):
            self.lost = frame.error or str(frame.name)
        elif frame.name == "SensorUpgrade":
            self._upgrading = True
        elif frame.name == "SensorUpgraded":
            self._socket = websocket.Decoder(from_client=False, limit=self._limit)
        return frame


class _Message:
    """The message that is being received: its bytes, and the state of h11."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._raw = bytearray()
        self._http: h11.Connection | None = None
        self._head: h11.Request | h11.Response | None = None
        self._body = bytearray()
        self._prompted = False
        # where the next head begins, because interim answers can precede the final one
        self._at = 0
        self._ill_formed = ""

    def feed(self, data: bytes) -> tuple[Frame | None, bytes]:
        """Take the next bytes. Returns the message if it is complete, and the bytes after it."""
        self._raw += data
        if self._http is None:
            if self._raw.startswith(_HELLO):
                return Frame(bytes(self._raw), message_names.TLS_HELLO, {}), b""
            if _RESPONSE.startswith(self._raw[: len(_RESPONSE)]) and len(self._raw) < len(
                _RESPONSE
            ):
                return None, b""
            # RFC 9112 lets a server ignore empty lines before a request.
            if not self._raw.lstrip(b"\r\n"):
                return None, b""
            if not _BEGINS.match(self._raw.lstrip(b"\r\n")):
                return self._wrong(
                    "expected an HTTP message; received "
                    f"{bytes(self._raw[:20])!r}, which does not "
                    "begin one"
                ), b""
            self._http = _new_parser(self._raw.startswith(_RESPONSE))
            data = bytes(self._raw.lstrip(b"\r\n"))
        self._http.receive_data(data)
        return self._advance()

    def prompt(self) -> bytes:
        waits = self._http and self._http.they_are_waiting_for_100_continue
        if self._prompted or not waits:
            return b""
        self._prompted = True
        return _CONTINUE

    def end(self) -> Frame | None:
        """Handle the end of the stream, which can end a body. Returns the last message, if any."""
        if not self._raw.strip(b"\r\n") or self._interim:
            return None
        if self._http and self._head:
            self._http.receive_data(b"")
            frame, _ = self._advance()
            if frame:
                return frame
        return self._wrong("the stream ended inside a message")

    @property
    def _interim(self) -> bool:
        """True if only interim answers were received, after which no message has to follow."""
        return bool(self._http and not self._head and not self._http.trailing_data[0])

    def _advance(self) -> tuple[Frame | None, bytes]:
        assert self._http is not None
        while True:
            try:
                event = self._http.next_event()
            except h11.RemoteProtocolError as error:
                return self._wrong(f"expected an HTTP message; {error}"), b""
            if isinstance(event, h11.Request | h11.Response | h11.InformationalResponse):
                self._look_at_head()
            if isinstance(event, h11.Request | h11.Response):
                self._head = event
            elif isinstance(event, h11.InformationalResponse):
                # Other interim answers only announce that an answer follows.
                if event.status_code == 101:
                    return self._complete(_head_of(event), b"")
            elif isinstance(event, h11.Data):
                self._body += event.data
            elif isinstance(event, h11.EndOfMessage):
                assert self._head is not None
                return self._complete(_head_of(self._head), bytes(self._body))
            else:
                break
        if len(self._raw) > self._limit:
            return Frame(
                bytes(self._raw[:200]), message_names.OVERSIZED, {"bytes": len(self._raw)}
            ), b""
        return None, b""

    def _look_at_head(self) -> None:
        assert self._http is not None
        rest, _ = self._http.trailing_data
        ends = len(self._raw) - len(rest)
        self._ill_formed = self._ill_formed or _ill_formed(bytes(self._raw[self._at : ends]))
        self._at = ends

    def _complete(self, head: dict[str, Any], body: bytes) -> tuple[Frame, bytes]:
        assert self._http is not None
        rest, _ = self._http.trailing_data
        value, wrong = message_names.with_body(head, body)
        raw = bytes(self._raw[: len(self._raw) - len(rest)])
        about = _REQUIREMENT if self._ill_formed else "http.json" if wrong else None
        error = self._ill_formed or wrong or None
        return Frame(raw, message_names.name_of(value), value, error, about), bytes(rest)

    def _wrong(self, error: str) -> Frame:
        return Frame(bytes(self._raw), error=error, requirement=_REQUIREMENT)


def _ill_formed(head: bytes) -> str:
    """Return what HTTP forbids in the head of a readable message, or an empty string."""
    first, *fields, _ = head.lstrip(b"\r\n").split(b"\n")
    if not all(line.endswith(b"\r") for line in (first, *fields)):
        return "expected lines that end with CR LF; received a line that ends with LF alone"
    if any(line.startswith((b" ", b"\t")) for line in fields):
        return (
            "expected each header field in one line; received a field that continues in the "
            "next line"
        )
    names = [line.partition(b":")[0].lower() for line in fields]
    if {b"content-length", b"transfer-encoding"} <= set(names):
        return "expected Content-Length or Transfer-Encoding; received both"
    for name in _ONCE:
        if (times := names.count(name)) > 1:
            return f"expected {name.decode()} once; received it {times} times"
    for line in fields:
        name, _, text = line.partition(b":")
        if name.lower() == b"host" and not _HOST.fullmatch(text.strip()):
            return (
                "expected a name and a port in the field Host; received "
                f"{text.strip().decode('latin-1')!r}"
            )
    return ""


def _new_parser(response: bool) -> h11.Connection:
    """Return an h11 connection that accepts one request, or one response to any request."""
    if not response:
        return h11.Connection(h11.SERVER)
    http = h11.Connection(h11.CLIENT)
    headers = [("Host", "any"), *((name.title(), text) for name, text in UPGRADE.items())]
    http.send(h11.Request(method="GET", target="/", headers=headers))
    http.send(h11.EndOfMessage())
    return http


def _head_of(event: h11.Request | h11.Response | h11.InformationalResponse) -> dict[str, Any]:
    headers: dict[str, str] = {}
    for name, text in event.headers:
        key, given = name.decode("latin-1"), text.decode("latin-1")
        headers[key] = f"{headers[key]}, {given}" if key in headers else given
    version = event.http_version.decode()
    if isinstance(event, h11.Request):
        # A server accepts the form for proxies, too, which has the lab before the path (RFC 9112).
        target = _LAB.sub("", event.target.decode("latin-1"))
        path, mark, query = target.partition("?")
        asked = {"query": query} if mark else {}
        method = event.method.decode()
        return {"method": method, "path": path, **asked, "version": version, "headers": headers}
    reason = event.reason.decode("latin-1")
    optional = {"reason": reason} if reason else {}
    return {"status": event.status_code, **optional, "version": version, "headers": headers}
