"""Cuts one direction of an HTTP connection into requests or responses, and back.

A request is `{"method", "path", "query"?, "version", "headers", "json" or "base64"?}`, a response
`{"status", "reason"?, "version", "headers", "json" or "base64"?}`; `headers` has the names in lower
case. A body that is a JSON object is `json`, any other `base64`, and so is the body of whatever
names a file; an empty one is neither. What follows an upgrade are messages of a websocket,
`{"opcode", "masked", "json" or "base64"}`. `naming` says how each is called.

HTTP has many ways to write a message: `encode` writes one that decodes to the same again, but for
the length of a body that it spells in its own way.
"""

import base64
import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import h11

from conformance.codec import Frame
from conformance.openroberta import naming, websocket

INCIDENTAL = ("content-length",)
"""Members of a decoded form that only say how it was written: JSON has many ways."""

LIMIT = 8 * 1024 * 1024  # bytes of one message that are held; the largest of a test has a quarter
_HELLO = b"\x16\x03"  # how a TLS connection begins, which does not belong on a plain port
_RESPONSE = b"HTTP/"
_BEGINS = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]")  # the characters of a method
_WRONG = "http.messages"
_LAB = re.compile("^https?://[^/?]*", re.IGNORECASE)
_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
_HOST = re.compile(rb"(\[[^\]]*\]|[^\s:/?#@\[\]]*)(:[0-9]*)?")
_ONCE = (b"content-length", b"content-type")  # header fields of which a message has one at most

UPGRADE = {"connection": "Upgrade", "upgrade": "websocket"}


# Messages in their decoded form


def request(
    method: str, path: str, headers: Mapping[str, str] | None = None, body: Any = None
) -> dict[str, Any]:
    """A request; a body that is not bytes is sent as JSON."""
    content = b"" if body is None else _bytes(body)
    given = {"host": "127.0.0.1", **(headers or {})}
    if body is not None and not isinstance(body, bytes):
        given.setdefault("content-type", "application/json")
    value = {"method": method, "path": path, "version": "1.1"}
    return {**value, "headers": _framed(given, content, body is not None), **_body(body)}


def response(
    status: int, headers: Mapping[str, str] | None = None, body: Any = None
) -> dict[str, Any]:
    """A response; a body that is not bytes is sent as JSON."""
    content = b"" if body is None else _bytes(body)
    given = dict(headers or {})
    if body is not None and not isinstance(body, bytes):
        given.setdefault("content-type", "application/json")
    value = {"status": status, "reason": _REASONS.get(status, "Other"), "version": "1.1"}
    return {**value, "headers": _framed(given, content, status != 101), **_body(body)}


_REASONS = {
    101: "Switching Protocols",
    200: "OK",
    400: "Bad Request",
    404: "Not Found",
    405: "Method Not Allowed",
    500: "Internal Server Error",
    503: "Service Unavailable",
}


def _framed(headers: dict[str, str], content: bytes, has_body: bool) -> dict[str, str]:
    if has_body and "transfer-encoding" not in headers:
        return {**headers, "content-length": str(len(content))}
    return headers


def _body(body: Any) -> dict[str, Any]:
    if isinstance(body, bytes):
        return {"base64": base64.b64encode(body).decode()} if body else {}
    return {} if body is None else {"json": body}


def _bytes(body: Any) -> bytes:
    """Its JSON is spelt as published labs do, and all robots read it."""
    return body if isinstance(body, bytes) else json.dumps(body, separators=(",", ":")).encode()


def content(value: Mapping[str, Any]) -> bytes:
    """The bytes of a decoded message's body. Raises ValueError where they are not Base64."""
    if "json" in value:
        return _bytes(value["json"])
    return base64.b64decode(value.get("base64", ""), validate=True)


def brief(value: Mapping[str, Any]) -> str:
    """What a decoded message says, without how: no headers, and of a file how long it is."""
    said = [value.get(name) for name in ("method", "path", "status", "reason")]
    if "json" in value:
        said.append(json.dumps(value["json"], ensure_ascii=False))
    elif "base64" in value:
        data = content(value)
        text = data[:160].decode("utf-8", "replace")
        said.append(text if text.isprintable() else f"{len(data)} bytes")
    return " ".join(str(each) for each in said if each is not None)


# To bytes


def titled(name: str, text: str) -> str:
    """A header field as most programs spell it: who knows no other spelling can talk, too."""
    return f"{name.title()}: {text}"


def encode(value: Any, spell: Callable[[str, str], str] = titled) -> bytes:
    """The bytes of a message in its decoded form, with each header field spelt so.

    Raises ValueError where it cannot be one.
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
        if "content-length" in headers:
            headers["content-length"] = str(len(body))
        lines = [first, *(spell(name, text) for name, text in headers.items()), "", ""]
        chunked = headers.get("transfer-encoding", "").lower() == "chunked"
        return "\r\n".join(lines).encode("latin-1") + (chunks([body]) if chunked else body)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise ValueError(f"no message has the form {str(value)[:200]}: {error!r}") from error


def chunks(pieces: Iterable[bytes]) -> bytes:
    """A body in chunks, one for each of these pieces that is not empty."""
    coded = (b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces if piece)
    return b"".join(coded) + b"0\r\n\r\n"


# From bytes


class Decoder:
    """One direction of one connection; which one shows in how it begins.

    Messages over `limit` bytes are an `Oversized`, and nothing is decoded any more; the same is so
    after a `TlsHello`, and after bytes that are not HTTP. `lost`: what is wrong then, else empty.
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
                # A websocket's first byte is never that of a request: reserved bits are zero.
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
            yield self._named(frame)

    def prompt(self) -> bytes:
        """Where a request says Expect: 100-continue and keeps its body back, what brings it."""
        return b"" if self.lost or self._socket else self._message.prompt()

    def end(self) -> list[Frame]:
        if self.lost:
            return []
        if self._socket:
            return self._socket.end()
        frame = self._message.end()
        return [self._named(frame)] if frame else []

    def _named(self, frame: Frame) -> Frame:
        """A message that is complete; what it changes for those behind it."""
        self._message = _Message(self._limit)
        if frame.name in (None, naming.TLS_HELLO, naming.OVERSIZED):
            self.lost = frame.error or str(frame.name)
        elif frame.name == "SensorUpgrade":
            self._upgrading = True
        elif frame.name == "SensorUpgraded":
            self._socket = websocket.Decoder(from_client=False, limit=self._limit)
        return frame


class _Message:
    """The message at hand: its bytes, and what h11 has made of them so far."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._raw = bytearray()
        self._http: h11.Connection | None = None
        self._head: h11.Request | h11.Response | None = None
        self._body = bytearray()
        self._prompted = False
        self._at = 0  # where the next head begins: interim answers may come before the last one
        self._ill_formed = ""

    def feed(self, data: bytes) -> tuple[Frame | None, bytes]:
        """Take the next bytes; the message if they complete it, and what lies behind it."""
        self._raw += data
        if self._http is None:
            if self._raw.startswith(_HELLO):
                return Frame(bytes(self._raw), naming.TLS_HELLO, {}), b""
            if _RESPONSE.startswith(self._raw[: len(_RESPONSE)]) and len(self._raw) < len(
                _RESPONSE
            ):
                return None, b""
            # Empty lines before a request are passed over, as RFC 9112 has it.
            if not self._raw.lstrip(b"\r\n"):
                return None, b""
            if not _BEGINS.match(self._raw.lstrip(b"\r\n")):
                return self._wrong(f"no HTTP message begins with {bytes(self._raw[:20])!r}"), b""
            self._http = _expecting(self._raw.startswith(_RESPONSE))
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
        """The stream has ended; that may be the end of a body."""
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
        """Whether all that has come is what may come before a message, and needs none behind it."""
        return bool(self._http and not self._head and not self._http.trailing_data[0])

    def _advance(self) -> tuple[Frame | None, bytes]:
        assert self._http is not None
        while True:
            try:
                event = self._http.next_event()
            except h11.RemoteProtocolError as error:
                return self._wrong(f"no HTTP message: {error}"), b""
            if isinstance(event, h11.Request | h11.Response | h11.InformationalResponse):
                self._look_at_head()
            if isinstance(event, h11.Request | h11.Response):
                self._head = event
            elif isinstance(event, h11.InformationalResponse):
                # Others tell nothing but that an answer will come.
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
            return Frame(bytes(self._raw[:200]), naming.OVERSIZED, {"bytes": len(self._raw)}), b""
        return None, b""

    def _look_at_head(self) -> None:
        assert self._http is not None
        behind, _ = self._http.trailing_data
        ends = len(self._raw) - len(behind)
        self._ill_formed = self._ill_formed or _ill_formed(bytes(self._raw[self._at : ends]))
        self._at = ends

    def _complete(self, head: dict[str, Any], body: bytes) -> tuple[Frame, bytes]:
        assert self._http is not None
        behind, _ = self._http.trailing_data
        value, wrong = naming.with_body(head, body)
        raw = bytes(self._raw[: len(self._raw) - len(behind)])
        about = _WRONG if self._ill_formed else "http.json" if wrong else None
        error = self._ill_formed or wrong or None
        return Frame(raw, naming.name_of(value), value, error, about), bytes(behind)

    def _wrong(self, error: str) -> Frame:
        return Frame(bytes(self._raw), error=error, requirement=_WRONG)


def _ill_formed(head: bytes) -> str:
    """What HTTP forbids in the head of a message that can be read all the same; else empty."""
    first, *fields, _ = head.lstrip(b"\r\n").split(b"\n")
    if not all(line.endswith(b"\r") for line in (first, *fields)):
        return "lines were expected to end with CR and LF; one ends with LF alone"
    if any(line.startswith((b" ", b"\t")) for line in fields):
        return "each header field was expected in one line; one goes on in the next"
    names = [line.partition(b":")[0].lower() for line in fields]
    if {b"content-length", b"transfer-encoding"} <= set(names):
        return "Content-Length or Transfer-Encoding was expected; both came"
    for name in _ONCE:
        if (times := names.count(name)) > 1:
            return f"{name.decode()} was expected once; it came {times} times"
    for line in fields:
        name, _, text = line.partition(b":")
        if name.lower() == b"host" and not _HOST.fullmatch(text.strip()):
            return (
                f"a name and a port were expected as Host; {text.strip().decode('latin-1')!r} came"
            )
    return ""


def _expecting(response: bool) -> h11.Connection:
    """A connection of h11 that takes one request, or one response to whatever was asked."""
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
        # A server takes the form that is for proxies, too, with the lab before the path (RFC 9112).
        target = _LAB.sub("", event.target.decode("latin-1"))
        path, mark, query = target.partition("?")
        asked = {"query": query} if mark else {}
        method = event.method.decode()
        return {"method": method, "path": path, **asked, "version": version, "headers": headers}
    reason = event.reason.decode("latin-1")
    said = {"reason": reason} if reason else {}
    return {"status": event.status_code, **said, "version": version, "headers": headers}
