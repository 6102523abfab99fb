"""What a message of HTTP is called in this protocol, by what it says alone.

A request is known by its path and, at /rest/pushcmd, by its command; a response by its status, its
header field Filename and its command. What the protocol has no message for is a `Request` or a
`Response`; a TLS connection that begins on a plain port is a `TlsHello`.
"""

import base64
import re
from collections.abc import Mapping
from typing import Any

from conformance.openroberta.bodies import json_object, meant

TLS_HELLO, OVERSIZED = "TlsHello", "Oversized"
REQUEST, RESPONSE = "Request", "Response"

PUSHCMD, DOWNLOAD, UPDATE = "/rest/pushcmd", "/rest/download", "/rest/update/"
MANDATORY = (
    *("firmwarename", "robot", "macaddr", "cmd", "firmwareversion"),
    *("token", "brickname", "battery", "menuversion"),
)
"""The fields of a robot's data object that must be there. Source: JsonObject."""

COMMANDS = ("Repeat", "Abort", "Update", "Download", "Configuration")
"""The answers to registrations and pushes."""

CALLS = ("Download", "Update", "Abort")
"""Those that call a robot away from pushing."""

LOOKING = ("OPTIONS", "HEAD")
"""The methods by which a program looks what there is, and asks for nothing."""

SENSOR_MEMBER = re.compile(r"[0-9]+-.+|[A-Za-z]-.+", re.DOTALL)

_NAMES = {name.lower(): name for name in COMMANDS}


def name_of(value: Mapping[str, Any]) -> str:
    """The name of a request or response in its decoded form."""
    return _request(value) if "method" in value else _response(value)


def _request(value: Mapping[str, Any]) -> str:
    path, said = value["path"], value.get("json", {})
    if value["method"] in LOOKING:
        return REQUEST
    if path == PUSHCMD:
        return "Register" if said.get("cmd") == "register" else "Push"
    if path == DOWNLOAD:
        return "DownloadRequest"
    if path.startswith(UPDATE):
        return "UpdateRequest"
    if value["headers"].get("upgrade", "").lower() == "websocket":
        return "SensorUpgrade"
    if "cmd" not in said and ("token" in said or any(map(SENSOR_MEMBER.fullmatch, said))):
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
    """Whether a response is an error, in whatever form: by its status, or with no command in it."""
    return name == "Refusal" or (name == RESPONSE and "cmd" not in value.get("json", {}))


def refuses(name: str, value: Mapping[str, Any]) -> bool:
    """Whether a response is an error, or the abort by which a lab may refuse as well."""
    return name == "Abort" or is_error(name, value)


def with_body(head: Mapping[str, Any], body: bytes) -> tuple[dict[str, Any], str]:
    """A decoded message: its head, and its body as `json` or `base64`, unless it is empty.

    Its headers stand last, where they hide nothing from whoever reads it. Also, what is wrong with
    the body where it is to be a JSON object and is none, else empty.
    """
    value, headers = dict(head), head["headers"]
    del value["headers"]
    parsed = None if "filename" in headers else json_object(body)
    wrong = ""
    if parsed is None and _is_object(head):
        parsed, came = meant(body)
        # A response without a command is told of by what was asked.
        if parsed or "method" in head:
            wrong = f"a JSON object was expected as the body; {came}"
    if parsed is not None:
        value["json"] = parsed
    elif body:
        value["base64"] = base64.b64encode(body).decode()
    return {**value, "headers": headers}, wrong


def _is_object(head: Mapping[str, Any]) -> bool:
    """Whether the body of such a message is to be a JSON object."""
    if "method" in head:
        return head["method"] == "POST" and head["path"] in (PUSHCMD, DOWNLOAD)
    return head["status"] == 200 and "filename" not in head["headers"]
