"""Faults of the lab in HTTP."""

import re
import time
from typing import Any

from conformance.codec import Frame
from conformance.openroberta.codec import Decoder, chunks, content, encode, response
from mocks.deviations import Fault, Subtle, Table
from mocks.openroberta.faults.lab.bases import commands, compressed, is_program, refuses, serves
from mocks.openroberta.http import Served
from mocks.openroberta.lab import Lab
from mocks.steps import When, after, alter, before, call, instead, note, noted, skip, then

AFTER_ONE, AFTER_TWO = after(1), after(2)


def header(pattern: bytes) -> When:
    """If a line of the request begins with this pattern, in any case."""
    return When(lambda _, frame, served: re.search(rb"(?i)\n" + pattern, frame.raw))


def spelt_otherwise(name: bytes) -> When:
    """If a request has a header field of this name, but with other capital letters."""
    return header(name + b":") & (lambda _, frame, served: b"\n" + name not in frame.raw)


def _refuse(lab: Lab, frame: Frame, served: Served) -> bool:
    lab.respond(served, lab.refusal(400))
    return False


def _is_repeat_without_pushes(lab: Lab, served: Served, answer: Any) -> bool:
    pushes = any(robot.pushes for robot in lab.robots.values())
    return answer.get("json") == {"cmd": "repeat"} and not pushes


def _respond_too_long(_: Lab, served: Served, answer: Any) -> None:
    length = len(content(answer))
    longer = b"Length: %d\r" % (length + 1)
    served.write(encode(answer).replace(b"Length: %d\r" % length, longer))
    served.stream.close()


def _respond_in_chunks(_: Lab, served: Served, answer: Any) -> None:
    head, line, body = encode(answer).partition(b"\r\n\r\n")
    served.write(head + b"\r\nTransfer-Encoding: chunked" + line + chunks([body]))


def _plain_text(_: Lab, word: str) -> Any:
    return response(200, {"content-type": "text/plain"}, word.encode())


def _array(*_: Any) -> Any:
    return response(200, {"content-type": "application/json"}, b'[{"cmd":"repeat"}]')


def _without_rest(lab: Lab, frame: Frame, served: Served) -> Any:
    if lab.path(frame.value) == "/pushcmd":
        return lab.pushcmd(frame.value, served)
    return lab.refusal(404)


def _keeps_capitals(_: Lab, value: Any) -> bool:
    asked = value["headers"].get("connection", "")
    return bool(asked.lower() == "close" != asked)


async def _wait_for_the_end(_: Lab, frame: Frame, served: Served) -> bool:
    await served.gone.wait()
    return False


class _BodyAtOnce(Served):
    """Does not wait for the rest of a body."""

    held = b""

    def frames(self, data: bytes) -> list[Frame]:
        self.held += data
        frames = Decoder().feed(self.held)
        if not frames and not self.held.partition(b"\r\n\r\n")[2]:
            return []
        self.held = b""
        return frames or [Frame(data, error="half a body")]


class _OneBody(Served):
    """Collects the bodies of all connections in one place."""

    latest: Served | None = None
    inside = False

    def frames(self, data: bytes) -> list[Frame]:
        if self.inside and _OneBody.latest is not self:
            data = bytes(len(data))
        frames = super().frames(data)
        self.inside, _OneBody.latest = not frames, self
        return frames


class _Impatient(Served):
    """Loses the beginning of a request if the rest comes a fifth of a second later."""

    held, latest = b"", 0.0

    def frames(self, data: bytes) -> list[Frame]:
        before, self.latest = self.latest, time.monotonic()
        self.held = data if self.latest - before > 0.2 else self.held + data
        frames = Decoder().feed(self.held)
        if frames:
            self.held = b""
        return frames


FAULTS = Table(Lab)

FAULTS["http.messages"] = {
    "bare-json": Fault(
        "Answers with JSON, but without HTTP.",
        instead("respond", lambda _, served, answer: served.write(content(answer))),
    ),
    "answers-twice": Subtle(
        "Sends the answer to a registration twice.",
        then("respond", lambda _, served, answer: served.send(answer), _is_repeat_without_pushes),
    ),
    "length-too-long": Subtle(
        "Announces one byte more than a program has, and closes the connection.",
        instead("respond", _respond_too_long, is_program),
    ),
    "length-of-chunks": Subtle(
        "Sends programs in chunks, and with a Content-Length.",
        instead("respond", _respond_in_chunks, is_program),
    ),
}

FAULTS["http.json"] = {
    "plain-text": Fault(
        "Answers registrations and pushes with the command as plain text.",
        instead("command", _plain_text),
    ),
    "quoted-json": Subtle(
        "Answers with an array of an object at the end of push_hold.",
        instead("pushed", _array, commands("repeat")),
    ),
    "ascii-only": Subtle(
        "Refuses registrations with characters beyond ASCII.",
        refuses(lambda _, data, served: not str(data).isascii()),
    ),
}

FAULTS["http.paths"] = {
    "no-rest": Fault("Serves /pushcmd instead of /rest/pushcmd.", instead("answer", _without_rest)),
}

FAULTS["http.header-names"] = {
    "title-case-headers-only": Fault(
        "Reads the length of a body only from a header field spelt Content-Length.",
        instead("take", _refuse, spelt_otherwise(b"Content-Length")),
    ),
    "odd-headers-unread": Subtle(
        "Reads names of header fields only in lower, upper and title case.",
        instead("take", _refuse, lambda _, frame, served: b"cONTENT-lENGTH" in frame.raw),
    ),
    "one-space-before-values": Subtle(
        "Skips the first character after the colon of Content-Length.",
        instead("take", _refuse, header(rb"content-length:\S")),
    ),
    "connection-in-title-case-only": Subtle(
        "Closes a connection only if the request has a header field spelt Connection.",
        before(
            "take",
            lambda _, frame, served: frame.value["headers"].pop("connection"),
            spelt_otherwise(b"Connection"),
        ),
    ),
    "chunks-in-title-case-only": Subtle(
        "Reads chunks only after a header field spelt Transfer-Encoding.",
        instead("take", _refuse, spelt_otherwise(b"Transfer-Encoding")),
    ),
}

FAULTS["robustness.trailing-blanks"] = {
    "blanks-after-lengths": Fault(
        "Refuses a request with a blank after its Content-Length.",
        instead("take", _refuse, header(rb"content-length:\s*\d+[ \t]")),
    ),
    "blanks-after-close": Subtle(
        "Keeps a connection open if a blank follows the request to close it.",
        instead("keeps", lambda *_: True, noted("blank")),
        before("take", note("blank", header(rb"connection: close[ \t]"))),
    ),
}

FAULTS["http.persistence"] = {
    "never-closes": Fault(
        "Never closes a connection, even if the robot asks for it.",
        instead("keeps", lambda *_: True),
    ),
    "old-clients-wait": Subtle(
        "Keeps the connections of robots with HTTP/1.0 open.",
        instead("keeps", lambda *_: True, lambda _, value: value["version"] == "1.0"),
    ),
    "close-in-lower-case-only": Subtle(
        "Ignores the request to close a connection if it is not spelt in lower case.",
        instead("keeps", lambda *_: True, _keeps_capitals),
    ),
    "second-request-unanswered": Subtle(
        "Answers only one request of a connection, and keeps it open.",
        instead("take", _wait_for_the_end, lambda _, frame, served: AFTER_ONE(served)),
    ),
    "third-request-unanswered": Subtle(
        "Answers only two requests of a connection, and keeps it open.",
        instead("take", _wait_for_the_end, lambda _, frame, served: AFTER_TWO(served)),
    ),
}

FAULTS["robustness.codings"] = {
    "compresses-anyway": Fault(
        "Compresses each answer, whatever codings the request accepts.",
        alter("respond", lambda _, served, answer: (served, compressed(answer))),
    ),
    "compresses-programs-anyway": Subtle(
        "Compresses programs, whatever codings the request accepts.",
        alter("respond", lambda _, served, answer: (served, compressed(answer)), is_program),
    ),
}

FAULTS["robustness.expectations"] = {
    "expectations-unmet": Fault(
        "Never sends 100 Continue to a robot that waits for it.", serves(skip("prompt"))
    ),
}

FAULTS["robustness.charset"] = {
    "charset-refused": Fault(
        "Refuses a Content-Type with a character set with status 415.",
        instead(
            "pushcmd",
            call("refusal", 415, "expected application/json"),
            lambda _, value, served: ";" in value["headers"].get("content-type", ""),
        ),
    ),
}

FAULTS["http.segmentation"] = {
    "one-read": Fault(
        "Reads the bytes of a single read as a whole request.",
        serves(
            instead(
                "frames",
                lambda _, data: Decoder().feed(data) or [Frame(data, error="half a request")],
            )
        ),
    ),
    "body-in-one-read": Subtle(
        "Waits for the headers of a request, but not for the rest of its body.",
        instead("served", lambda _, stream: _BodyAtOnce(stream)),
    ),
    "beginnings-lost": Subtle(
        "Loses the beginning of a request if the rest comes a fifth of a second later.",
        instead("served", lambda _, stream: _Impatient(stream)),
    ),
    "one-body-for-all": Subtle(
        "Loses the rest of a request if another connection sends one meanwhile.",
        instead("served", lambda _, stream: _OneBody(stream)),
    ),
    "halves-of-letters-lost": Subtle(
        "Corrupts a name if a letter of two bytes arrives in two reads.",
        serves(
            alter(
                "frames",
                lambda _, data: data[:-1] + b"?",
                lambda _, data: data.startswith(b"POST") and data[-1] > 0x7F,
            )
        ),
    ),
}
