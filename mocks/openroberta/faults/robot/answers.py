"""Faults of the robot in reading HTTP answers."""

import asyncio
import re
from typing import Any

from conformance.codec import Frame
from conformance.openroberta.codec import Decoder, content
from mocks.deviations import Fault, Subtle, Table
from mocks.openroberta.faults.robot.bases import (
    answered,
    calls,
    gives_up,
    headers,
    in_chunks,
    said,
    stops,
)
from mocks.openroberta.http import Caller
from mocks.openroberta.robot import Robot
from mocks.steps import (
    Change,
    Function,
    alter,
    always,
    before,
    die,
    instead,
    note,
    noted,
    only,
    returning,
    skip,
    wait_for_ever,
)


def unread(holds: Function) -> Change:
    """Find no command in an answer for which a function is true."""
    return instead("command", lambda *_: "", answered(holds))


def _first_line_is_open(answer: Frame) -> bool:
    line = answer.raw.partition(b"\r\n\r\n")[2].partition(b"\n")[0]
    return not in_chunks(answer) and b"}" not in line


def _has_escaped_command(answer: Frame) -> bool:
    letters = str(said(answer).get("cmd", ""))
    return any(f"\\u{ord(letter):04x}".encode() in answer.raw for letter in letters)


def _written_name(_: Robot, asked: Any, answer: Frame | None) -> str:
    found = re.search(rb"\r\n(?i:filename):.([^\r]*)", answer.raw) if answer else None
    return found[1].decode() if found else ""


def _with_length(answer: Frame | None) -> Frame | None:
    endless = answer and answer.value and "content-length" not in headers(answer)
    return None if answer and endless and not in_chunks(answer) else answer


async def _read_to_the_end(usual: Function, caller: Caller) -> Frame | None:
    answer: Frame | None = await usual(caller)
    stream = await caller.open()
    while await stream.read():
        pass
    return answer


async def _read_once(caller: Caller) -> Frame | None:
    stream = await caller.open()
    frames = Decoder().feed(await stream.read())
    return frames[0] if frames else None


async def _read_headers_once(caller: Caller) -> Frame | None:
    stream = await caller.open()
    data = await stream.read()
    decoder = Decoder()
    frames = decoder.feed(data)
    if b"\r\n\r\n" not in data:
        return None
    while not frames and data:
        data = await stream.read()
        frames = decoder.feed(data) if data else decoder.end()
    return frames[0] if frames else None


async def _read_impatiently(caller: Caller) -> Frame | None:
    stream = await caller.open()
    decoder = Decoder()
    frames = decoder.feed(await stream.read())
    while not frames:
        try:
            async with asyncio.timeout(0.2):
                data = await stream.read()
        except TimeoutError:
            return None
        frames = decoder.feed(data) if data else decoder.end()
        if not data:
            break
    return frames[0] if frames else None


class _KeepsAlways(Caller):
    """Uses the same connection for all requests, even if the lab has closed it."""

    async def ask(self, value: Any, patience: float, keep: bool = False) -> Frame | None:
        return await super().ask(value, patience, True)

    async def exchange(self, data: bytes) -> Frame | None:
        stream = await self.open()
        stream.write(data)
        return await self.next()


class _HeedsOneSpelling(_KeepsAlways):
    """Closes a connection only after a header field spelt Connection."""

    async def ask(self, value: Any, patience: float, keep: bool = False) -> Frame | None:
        answer = await super().ask(value, patience)
        announced = answer and b"\r\nConnection: close" in answer.raw
        if announced or (answer and b"\r\nconnection:" not in answer.raw.lower()):
            await self.close()
        return answer


class _Trusting(Caller):
    """Has no other answer ready if a kept connection turns out to be closed."""

    async def exchange(self, data: bytes) -> Frame | None:
        kept = self._stream is not None
        stream = await self.open()
        stream.write(data)
        answer = await self.next()
        if answer is None and kept:
            die()
        return answer


STOPS_WITHOUT_ANSWER = before("heard", wait_for_ever, lambda _, asked, answer: answer is None)

FAULTS = Table(Robot)

FAULTS["http.json"] = {
    "one-line-of-json": Subtle(
        "Reads only the first line of an answer's body.", unread(_first_line_is_open)
    ),
    "words-behind-a-space": Fault(
        "Searches the text of an answer for commands with a space after the colon.",
        unread(lambda answer: not in_chunks(answer) and b'"cmd": "' not in answer.raw),
    ),
    "words-behind-a-colon": Subtle(
        "Searches the text of an answer for commands without a space after the colon.",
        unread(lambda answer: not in_chunks(answer) and b'"cmd":"' not in answer.raw),
    ),
}

FAULTS["robustness.escaped-letters"] = {
    "escapes-unread": Fault(
        "Does not decode JSON escapes in commands.", unread(_has_escaped_command)
    ),
    "backslashes-unread": Subtle(
        "Finds no command in an answer with any JSON escape.",
        unread(lambda answer: b"\\" in answer.raw),
    ),
}

FAULTS["robustness.extra-members"] = {
    "short-answers-only": Subtle(
        "Reads answers of at most 64 bytes, and finds no command in longer ones.",
        unread(lambda answer: len(str(said(answer))) > 64),
    ),
    "answers-below-4-kib": Subtle(
        "Finds no command in an answer of more than 4096 bytes.",
        unread(lambda answer: len(answer.raw) > 4096),
    ),
}

FAULTS["robustness.charset"] = {
    "charset-unread": Fault(
        "Finds no command if the Content-Type has a character set.",
        unread(lambda answer: ";" in headers(answer).get("content-type", "")),
    ),
}

FAULTS["robustness.reason-phrase"] = {
    "only-200-ok": Fault(
        "Finds no command in an answer whose first line does not end with 200 OK.",
        unread(lambda answer: not answer.raw.partition(b"\r\n")[0].endswith(b" 200 OK")),
    ),
}

FAULTS["robustness.compressed"] = {
    "compressed-programs-kept": Fault(
        "Stores a compressed program as it is, although its request accepts gzip.",
        instead("plain", lambda _, answer: content(answer)),
    ),
}

FAULTS["http.header-names"] = {
    "title-case-only": Fault(
        "Finds a program's name only in a header field spelt Filename.",
        stops(lambda answer: answer.name == "File" and b"\r\nFilename:" not in answer.raw),
    ),
    "upper-case-unread": Subtle(
        "Waits for ever if Content-Length is written in upper case.",
        stops(lambda answer: b"CONTENT-LENGTH" in answer.raw),
    ),
    "lower-case-unnamed": Subtle(
        "Does not run a program whose header field is not spelt Filename.",
        before("heard", note("named", answered(lambda answer: b"\r\nFilename:" in answer.raw))),
        only("run", noted("named")),
    ),
    "names-with-spaces": Subtle(
        "Includes spaces of the header field in a program's name.",
        before("heard", note("written", _written_name)),
        instead("name_of", lambda robot, headers: robot.written),
    ),
    "close-in-title-case-only": Subtle(
        "Uses a closed connection again unless the answer said so in the usual spelling.",
        calls(caller=_HeedsOneSpelling),
        STOPS_WITHOUT_ANSWER,
    ),
    "chunks-in-title-case-only": Subtle(
        "Reads chunks only after a header field spelt Transfer-Encoding: chunked.",
        stops(
            lambda answer: in_chunks(answer) and b"\r\nTransfer-Encoding: chunked" not in answer.raw
        ),
    ),
}

FAULTS["robustness.trailing-blanks"] = {
    "blanks-after-lengths": Fault(
        "Cannot read an answer with a blank after its Content-Length.",
        stops(lambda answer: b" \r\n" in answer.raw and b"Content-Length" in answer.raw),
    ),
}

FAULTS["http.chunked-answers"] = {
    "no-chunks": Fault("Cannot read an answer in chunks.", stops(in_chunks)),
    "small-letters-only": Subtle(
        "Cannot read the size of a chunk with capital letters.",
        stops(lambda answer: b"\r\nA\r\n" in answer.raw),
    ),
    "one-chunk": Subtle(
        "Reads the first chunk of a program as the whole program, and stops.",
        stops(lambda answer: b"\r\n\r\n7\r\n" in answer.raw),
    ),
    "nothing-of-chunks": Subtle(
        "Runs an empty program if the answer has no Content-Length.",
        before(
            "name_of",
            note(
                "has_end",
                lambda _, headers: (
                    "content-length" in headers or headers.get("connection") == "close"
                ),
            ),
        ),
        alter("run", lambda _, name, data: (name, b""), ~noted("has_end")),
    ),
}

FAULTS["http.persistence"] = {
    "reads-to-the-end": Fault(
        "Reads an answer until the connection ends, although it has a Content-Length.",
        calls(Change("next", _read_to_the_end)),
        gives_up(3600, always),
        # Sensors need a lasting connection.
        skip("start_sensors"),
    ),
    "needs-a-length": Fault(
        "Rejects an answer that ends with its connection.", calls(returning("next", _with_length))
    ),
    "keeps-closed-connections": Subtle(
        "Sends requests on a connection that the lab has closed, and then stops.",
        calls(caller=_KeepsAlways),
        STOPS_WITHOUT_ANSWER,
    ),
    "dies-of-a-silent-close": Subtle(
        "Crashes if the lab has closed a kept connection without an announcement.",
        calls(caller=_Trusting),
    ),
    "new-http-only": Subtle(
        "Takes an answer in HTTP/1.0 for no answer.",
        instead(
            "heard",
            lambda *_: None,
            answered(lambda answer: (answer.value or {}).get("version") == "1.0"),
        ),
    ),
}

FAULTS["http.segmentation"] = {
    "one-read": Fault(
        "Reads the bytes of a single read as a whole answer.", calls(instead("next", _read_once))
    ),
    "pauses-are-ends": Subtle(
        "Gives up an answer whose rest comes a fifth of a second later.",
        calls(instead("next", _read_impatiently)),
    ),
    "headers-in-one-read": Subtle(
        "Reads the headers of an answer only from the first read.",
        calls(instead("next", _read_headers_once)),
    ),
}
