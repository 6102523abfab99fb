"""Name HTTP messages in the terms of the protocol, by their content alone.

A request is named by its path and, at /rest/pushcmd, by its command. A response is named by its
status, its header field Filename and its command. HTTP messages that the protocol does not define
are `Request` or `Response`. A TLS connection that begins on a plain port is `TlsHello`.
"""

import base64
import re
from collections.abc import Mapping
from typing import Any

from conformance.definitions import protocols
from conformance.openroberta.bodies import guess_object, json_object
from conformance.openroberta.codings import coding_of, without_coding

TLS_HELLO, OVERSIZED = "TlsHello", "Oversized"
REQUEST, RESPONSE = "Request", "Response"

PUSHCMD, DOWNLOAD, UPDATE = "/rest/pushcmd", "/rest/download", "/rest/update/"
MANDATORY = (
    *("firmwarename", "robot", "macaddr", "cmd", "firmwareversion"),
    *("token", "brickname", "battery", "menuversion"),
)
"""Mandatory fields of a robot's data object. Source: JsonObject."""

HELD = protocols.load("openroberta").groups["held"]
"""Requests that a lab holds until it has an answer."""

COMMANDS = protocols.load("openroberta").groups["commands"]
"""Answers to registrations and pushes."""

CALLS = protocols.load("openroberta").groups["calls"]
"""Commands after which a robot stops pushing."""

LOOKING = ("OPTIONS", "HEAD")
"""Methods that only ask what a server offers."""

SENSOR_MEMBER = re.compile(r"[0-9]+-.+|[A-Za-z]-.+", re.DOTALL)

_MAX_BODY = 1 << 20  # bytes of a decoded body that are read as JSON
_NAMES = {name.lower(): name for name in COMMANDS}


def name_of(value: Mapping[str, Any]) -> str:
    """Return the name of a request or response in its decoded form."""
    return _request(value) if "method" in value else _response(value)


def _request(value: Mapping[str, Any]) -> str:
    path, data = value["path"], value.get("json", {})
    if value["method"] in LOOKING:
        return REQUEST
    if path == PUSHCMD:
        return "Register" if data.get("cmd") == "register" else "Push"
    if path == DOWNLOAD:
        return "DownloadRequest"
    if path.startswith(UPDATE):
        return "UpdateRequest"
    if value["headers"].get("upgrade", "").lower() == "websocket":
        return "SensorUpgrade"
    if "cmd" not in data and ("token" in data or any(map(SENSOR_MEMBER.fullmatch, data))):
        return "SensorPost"
    return REQUEST


def _response(value: Mapping[str, Any]) -> str:
    status = value["status"]
    if status >= 400:
        return "Refusal"
    if status == 101:
        return "SensorUpgraded"
    if "filename" in value["headers"]:
        return "File"
    command = value.get("json", {}).get("cmd")
    return _NAMES.get(command, RESPONSE) if isinstance(command, str) else RESPONSE


def is_error(name: str, value: Mapping[str, Any]) -> bool:
    """True if a response is an error: an error status, or no command."""
    return name == "Refusal" or (name == RESPONSE and "cmd" not in value.get("json", {}))


def is_refusal(name: str, value: Mapping[str, Any]) -> bool:
    """True if a response is an error or an abort, with which labs also refuse."""
    return name == "Abort" or is_error(name, value)


def with_body(head: Mapping[str, Any], body: bytes) -> tuple[dict[str, Any], str]:
    """Return a decoded message, and what is wrong with its body.

    The message has the members of `head`, and the body as `json` or `base64` unless it is empty.
    Its headers come last, so that a reader sees the rest first. The second value is empty unless
    the body should be a JSON object and is none.
    """
    value, headers = dict(head), head["headers"]
    del value["headers"]
    plain = without_coding(body, headers, _MAX_BODY)
    parsed = None if "filename" in headers else json_object(plain)
    wrong = ""
    if parsed is None and _is_object(head):
        parsed, came = guess_object(plain)
        if coding := coding_of(headers):
            came += f", with the coding {coding}"
        # A response can have a page of the lab as its body. For a response without a command, the
        # oracle reports a better finding: it knows the request.
        if "method" not in head and "cmd" not in (parsed or ()):
            parsed = None
        else:
            wrong = f"expected a JSON object as the body; {came}"
    if parsed is not None:
        value["json"] = parsed
    elif body:
        value["base64"] = base64.b64encode(body).decode()
    return {**value, "headers": headers}, wrong


def _is_object(head: Mapping[str, Any]) -> bool:
    """True if the body of a message with this head must be a JSON object."""
    if "method" in head:
        return head["method"] == "POST" and head["path"] in (PUSHCMD, DOWNLOAD)
    return head["status"] == 200 and "filename" not in head["headers"]
