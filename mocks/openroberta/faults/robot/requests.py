"""Faults of the robot in its HTTP requests."""

import json
import re
from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

from mocks.deviations import Fault, Subtle, Table
from mocks.openroberta.faults.robot.bases import POSTS_PROGRAM, calls
from mocks.openroberta.robot import Robot
from mocks.steps import (
    Change,
    Function,
    after,
    alter,
    always,
    before,
    instead,
    note,
    noted,
    nth,
    returning,
)


def writes(change: Callable[[bytes], bytes], when: Function = always) -> Change:
    """Send requests with other bytes."""
    return alter("exchange", lambda _, data: change(data), when)


def writes_body(change: Callable[[bytes], bytes], when: Function = always) -> Change:
    """Send requests with other bodies."""

    def changed(data: bytes) -> bytes:
        head, _, body = data.partition(b"\r\n\r\n")
        new = change(body) if body else b""
        length = b"Content-Length: %d" % len(body)
        return head.replace(length, b"Content-Length: %d" % len(new)) + b"\r\n\r\n" + new

    return writes(changed, when)


def posts_at(change: Callable[[str, dict[str, Any]], str], when: Function = always) -> Change:
    """Post to the path that a function makes of the path and data."""
    return alter("post", lambda _, path, data: (change(path, data), data), when)


def _with_longer_length(data: bytes) -> bytes:
    def longer(field: re.Match[bytes]) -> bytes:
        return b"%s%d" % (field[1], int(field[2]) + 1)

    return re.sub(rb"(?i)(\r\nContent-Length: )(\d+)", longer, data) if b'"push"' in data else data


def _with_line_feeds(data: bytes) -> bytes:
    head, line, body = data.partition(b"\r\n\r\n")
    return (head + line).replace(b"\r\n", b"\n") + body


def _without_type(asked: Any) -> Any:
    headers = {name: text for name, text in asked["headers"].items() if name != "content-type"}
    return {**asked, "headers": headers}


def _as_form(asked: Any) -> Any:
    form = {"content-type": "application/x-www-form-urlencoded"}
    return {**asked, "headers": {**asked["headers"], **form}}


FAULTS = Table(Robot)

FAULTS["http.messages"] = {
    "no-host": Fault(
        "Sends requests without the header field Host.",
        calls(writes(lambda data: data.replace(b"Host:", b"X-Host:"))),
    ),
    "lines-end-with-lf": Subtle(
        "Ends the lines of its requests with LF instead of CR LF.", calls(writes(_with_line_feeds))
    ),
    "counts-a-byte-more": Subtle(
        "Announces one byte more than its pushes have, and waits for their answers.",
        calls(writes(_with_longer_length)),
    ),
    "third-request-cut": Subtle(
        "Sends its third request incompletely, and tries again.",
        calls(
            writes(lambda data: data[:-1], noted("cut")),
            before("exchange", note("cut", nth(3))),
            instead("next", lambda caller: caller.close(), noted("cut")),
        ),
    ),
}

FAULTS["robustness.host"] = {
    "no-port": Subtle(
        "Sends the lab's name without the port in the header field Host.",
        returning(
            "headers", lambda headers: {**headers, "host": headers["host"].partition(":")[0]}
        ),
    ),
}

FAULTS["http.post"] = {
    "puts": Fault(
        "Registers and pushes with PUT.",
        returning("post", lambda asked: {**asked, "method": "PUT"}),
    ),
    "gets-programs": Subtle(
        "Requests programs with GET.",
        returning("post", lambda asked: {**asked, "method": "GET"}, POSTS_PROGRAM),
    ),
}

FAULTS["http.json"] = {
    "objects-in-arrays": Fault(
        "Sends its data object in an array.", calls(writes_body(lambda body: b"[" + body + b"]"))
    ),
    "as-a-form": Fault(
        "Sends its data object as an HTML form.",
        calls(writes_body(lambda body: urlencode(json.loads(body)).encode())),
    ),
    "pushes-end-with-zero": Subtle(
        "Sends a zero byte after the object of a push, as in C.",
        calls(writes_body(lambda body: body + b"\0", lambda _, data: b'"push"' in data)),
    ),
    "pushes-in-latin-1": Subtle(
        "Writes its name in Latin-1 in pushes.",
        calls(
            writes_body(
                lambda body: body.replace(b'"brickname":"Toy"', b'"brickname":"T\xf6y"'), after(1)
            )
        ),
    ),
}

FAULTS["http.paths"] = {
    "no-rest": Fault(
        "Uses paths without /rest.", posts_at(lambda path, data: path.removeprefix("/rest"))
    ),
    "program-at-pushcmd": Subtle(
        "Requests programs at /download, and goes on without them.",
        posts_at(lambda *_: "/download", POSTS_PROGRAM),
    ),
    "pushes-with-a-slash": Subtle(
        "Pushes at /rest/pushcmd/, a path that does not exist.",
        posts_at(
            lambda path, data: f"{path}/",
            ~POSTS_PROGRAM & (lambda _, path, data: data["cmd"] == "push"),
        ),
    ),
    "token-behind-paths": Subtle(
        "Adds its token to each path, as REST services often do.",
        posts_at(lambda path, data: f"{path}/{data['token']}"),
    ),
}

FAULTS["robustness.content-type"] = {
    "no-content-type": Fault(
        "Sends JSON without a Content-Type.", returning("post", _without_type)
    ),
    "programs-as-forms": Subtle(
        "Sends the Content-Type of a form in requests for a program.",
        returning("post", _as_form, POSTS_PROGRAM),
    ),
}
