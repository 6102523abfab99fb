"""Faults of the robot in its HTTP requests."""

import json
from typing import Any
from urllib.parse import urlencode

from conformance.codec import Frame
from conformance.openroberta import message_names
from mocks.deviations import fault
from mocks.openroberta.http import Caller
from mocks.openroberta.robot import Robot


class _Raw(Caller):
    """Changes the bytes of requests; `count` is the number of the current request."""

    count = 0

    async def exchange(self, data: bytes) -> Frame | None:
        self.count += 1
        return await super().exchange(self.altered(data))

    def altered(self, data: bytes) -> bytes:
        raise NotImplementedError


class _NoHost(_Raw):
    def altered(self, data: bytes) -> bytes:
        return data.replace(b"Host:", b"X-Host:")


@fault("no-host", violates="http.messages")
class NoHost(Robot):
    """Sends requests without the header field Host."""

    caller_type = _NoHost


@fault("no-port", violates="robustness.host", subtle=True)
class NoPort(Robot):
    """Sends the lab's name without the port in the header field Host."""

    def headers(self) -> dict[str, str]:
        return {**super().headers(), "host": self.caller.host.partition(":")[0]}


class _LineFeeds(_Raw):
    def altered(self, data: bytes) -> bytes:
        head, line, body = data.partition(b"\r\n\r\n")
        return (head + line).replace(b"\r\n", b"\n") + body


@fault("lines-end-with-lf", violates="http.messages", subtle=True)
class LinesEndWithLf(Robot):
    """Ends the lines of its requests with LF instead of CR LF."""

    caller_type = _LineFeeds


class _LongLength(_Raw):
    def altered(self, data: bytes) -> bytes:
        # The third request is one byte shorter than its length, and then its connection ends.
        return data[:-1] if self.count == 3 else data

    async def next(self) -> Frame | None:
        if self.count == 3:
            await self.close()
            return None
        return await super().next()


@fault("third-request-cut", violates="http.messages", subtle=True)
class ThirdRequestCut(Robot):
    """Sends its third request incompletely, and tries again."""

    caller_type = _LongLength


@fault("puts", violates="http.post")
class Puts(Robot):
    """Registers and pushes with PUT."""

    def post(self, path: str, data: dict[str, Any]) -> Any:
        return {**super().post(path, data), "method": "PUT"}


@fault("gets-programs", violates="http.post", subtle=True)
class GetsPrograms(Robot):
    """Requests programs with GET."""

    def post(self, path: str, data: dict[str, Any]) -> Any:
        asked = super().post(path, data)
        return {**asked, "method": "GET"} if path == message_names.DOWNLOAD else asked


class _Body(_Raw):
    """Changes the bytes of a body."""

    def altered(self, data: bytes) -> bytes:
        head, _, body = data.partition(b"\r\n\r\n")
        changed = self.instead(body) if body else b""
        length = b"Content-Length: %d" % len(body)
        head = head.replace(length, b"Content-Length: %d" % len(changed))
        return head + b"\r\n\r\n" + changed

    def instead(self, body: bytes) -> bytes:
        raise NotImplementedError


class _Array(_Body):
    def instead(self, body: bytes) -> bytes:
        return b"[" + body + b"]"


@fault("objects-in-arrays", violates="http.json")
class ObjectsInArrays(Robot):
    """Sends its data object in an array."""

    caller_type = _Array


class _Form(_Body):
    def instead(self, body: bytes) -> bytes:
        return urlencode(json.loads(body)).encode()


@fault("as-a-form", violates="http.json")
class AsAForm(Robot):
    """Sends its data object as an HTML form."""

    caller_type = _Form


class _Ended(_Body):
    def instead(self, body: bytes) -> bytes:
        return body + b"\0" if b'"push"' in body else body


@fault("pushes-end-with-zero", violates="http.json", subtle=True)
class PushesEndWithZero(Robot):
    """Sends a zero byte after the object of a push, as in C."""

    caller_type = _Ended


class _Latin(_Body):
    def instead(self, body: bytes) -> bytes:
        changed = body.replace(b'"brickname":"Toy"', b'"brickname":"T\xf6y"')
        return changed if self.count > 1 else body


@fault("pushes-in-latin-1", violates="http.json", subtle=True)
class PushesInLatin1(Robot):
    """Writes its name in Latin-1 in pushes."""

    caller_type = _Latin


@fault("no-rest", violates="http.paths")
class NoRest(Robot):
    """Uses paths without /rest."""

    def post(self, path: str, data: dict[str, Any]) -> Any:
        return super().post(path.removeprefix("/rest"), data)


@fault("program-at-pushcmd", violates="http.paths", subtle=True)
class ProgramAtPushcmd(Robot):
    """Requests programs at /download, and goes on without them."""

    def post(self, path: str, data: dict[str, Any]) -> Any:
        return super().post("/download" if path == message_names.DOWNLOAD else path, data)


@fault("pushes-with-a-slash", violates="http.paths", subtle=True)
class PushesWithASlash(Robot):
    """Pushes at /rest/pushcmd/, a path that does not exist."""

    def post(self, path: str, data: dict[str, Any]) -> Any:
        pushes = path == message_names.PUSHCMD and data["cmd"] == "push"
        return super().post(f"{path}/" if pushes else path, data)


@fault("token-behind-paths", violates="http.paths", subtle=True)
class TokenBehindPaths(Robot):
    """Adds its token to each path, as REST services often do."""

    def post(self, path: str, data: dict[str, Any]) -> Any:
        return super().post(f"{path}/{data['token']}", data)


@fault("no-content-type", violates="robustness.content-type")
class NoContentType(Robot):
    """Sends JSON without a Content-Type."""

    def post(self, path: str, data: dict[str, Any]) -> Any:
        asked = super().post(path, data)
        headers = {k: v for k, v in asked["headers"].items() if k != "content-type"}
        return {**asked, "headers": headers}


@fault("programs-as-forms", violates="robustness.content-type", subtle=True)
class ProgramsAsForms(Robot):
    """Sends the Content-Type of a form in requests for a program."""

    def post(self, path: str, data: dict[str, Any]) -> Any:
        asked = super().post(path, data)
        form = {"content-type": "application/x-www-form-urlencoded"}
        return (
            {**asked, "headers": {**asked["headers"], **form}}
            if path == message_names.DOWNLOAD
            else asked
        )
