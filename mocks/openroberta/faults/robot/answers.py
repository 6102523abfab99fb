"""Faults of the robot in reading HTTP answers."""

import asyncio
import re
from collections.abc import Mapping
from typing import Any

from conformance.codec import Frame
from conformance.openroberta.codec import Decoder, content
from mocks.deviations import fault
from mocks.openroberta.http import Caller
from mocks.openroberta.robot import Robot
from mocks.steps import die


@fault("one-line-of-json", violates="http.json", subtle=True)
class OneLineOfJson(Robot):
    """Reads only the first line of an answer's body."""

    def command(self, answer: Frame | None) -> str:
        body = answer.raw.partition(b"\r\n\r\n")[2] if answer else b""
        chunked = answer and answer.value and "transfer-encoding" in answer.value["headers"]
        whole = chunked or b"}" in body.partition(b"\n")[0]
        return super().command(answer) if whole else ""


@fault("words-behind-a-space", violates="http.json")
class WordsBehindASpace(Robot):
    """Searches the text of an answer for commands with a space after the colon."""

    spelt = b'"cmd": "'

    def command(self, answer: Frame | None) -> str:
        chunked = answer and answer.value and "transfer-encoding" in answer.value["headers"]
        found = chunked or (answer and self.spelt in answer.raw)
        return super().command(answer) if found else ""


@fault("words-behind-a-colon", violates="http.json", subtle=True)
class WordsBehindAColon(WordsBehindASpace):
    """Searches the text of an answer for commands without a space after the colon."""

    spelt = b'"cmd":"'


@fault("escapes-unread", violates="robustness.escaped-letters")
class EscapesUnread(Robot):
    """Does not decode JSON escapes in commands."""

    def command(self, answer: Frame | None) -> str:
        word = super().command(answer)
        escapes = (f"\\u{ord(letter):04x}".encode() for letter in word)
        return "" if answer and any(escape in answer.raw for escape in escapes) else word


@fault("backslashes-unread", violates="robustness.escaped-letters", subtle=True)
class BackslashesUnread(Robot):
    """Finds no command in an answer with any JSON escape."""

    def command(self, answer: Frame | None) -> str:
        return "" if answer and b"\\" in answer.raw else super().command(answer)


@fault("short-answers-only", violates="robustness.extra-members", subtle=True)
class ShortAnswersOnly(Robot):
    """Reads answers of at most 64 bytes, and finds no command in longer ones."""

    def command(self, answer: Frame | None) -> str:
        told = answer.value.get("json", {}) if answer and answer.value else {}
        return super().command(answer) if len(str(told)) <= 64 else ""


@fault("answers-below-4-kib", violates="robustness.extra-members", subtle=True)
class AnswersBelow4Kib(Robot):
    """Finds no command in an answer of more than 4096 bytes."""

    def command(self, answer: Frame | None) -> str:
        return super().command(answer) if answer and len(answer.raw) <= 4096 else ""


@fault("charset-unread", violates="robustness.charset")
class CharsetUnread(Robot):
    """Finds no command if the Content-Type has a character set."""

    def command(self, answer: Frame | None) -> str:
        headers = answer.value.get("headers", {}) if answer and answer.value else {}
        plain = headers.get("content-type", "application/json") == "application/json"
        return super().command(answer) if plain else ""


@fault("compressed-programs-kept", violates="robustness.compressed")
class CompressedProgramsKept(Robot):
    """Stores a compressed program as it is, although its request accepts gzip."""

    def plain(self, answer: Any) -> bytes:
        return content(answer)


@fault("title-case-only", violates="http.header-names")
class TitleCaseOnly(Robot):
    """Finds a program's name only in a header field spelt Filename."""

    async def ask(self, value: Any, patience: float) -> Frame | None:
        answer = await super().ask(value, patience)
        if answer and answer.name == "File" and b"\r\nFilename:" not in answer.raw:
            await asyncio.sleep(3600)
        return answer


@fault("upper-case-unread", violates="http.header-names", subtle=True)
class UpperCaseUnread(Robot):
    """Waits for ever if Content-Length is written in upper case."""

    async def ask(self, value: Any, patience: float) -> Frame | None:
        answer = await super().ask(value, patience)
        if answer and b"CONTENT-LENGTH" in answer.raw:
            await asyncio.sleep(3600)
        return answer


@fault("no-chunks", violates="http.chunked-answers")
class NoChunks(Robot):
    """Cannot read an answer in chunks."""

    async def ask(self, value: Any, patience: float) -> Frame | None:
        answer = await super().ask(value, patience)
        if answer and "transfer-encoding" in (answer.value or {}).get("headers", {}):
            await asyncio.sleep(3600)
        return answer


@fault("one-chunk", violates="http.chunked-answers", subtle=True)
class OneChunk(Robot):
    """Reads the first chunk of a program as the whole program, and stops."""

    async def ask(self, value: Any, patience: float) -> Frame | None:
        answer = await super().ask(value, patience)
        if answer and b"\r\n\r\n7\r\n" in answer.raw:
            await asyncio.sleep(3600)
        return answer


@fault("nothing-of-chunks", violates="http.chunked-answers", subtle=True)
class NothingOfChunks(Robot):
    """Runs an empty program if the answer has no Content-Length."""

    async def run(self, name: str, data: bytes) -> None:
        await super().run(name, data if self.has_length else b"")

    def name_of(self, headers: Mapping[str, str]) -> str:
        self.has_length = "content-length" in headers or headers.get("connection") == "close"
        return super().name_of(headers)


@fault("lower-case-unnamed", violates="http.header-names", subtle=True)
class LowerCaseUnnamed(Robot):
    """Does not run a program whose header field is not spelt Filename."""

    async def ask(self, value: Any, patience: float) -> Frame | None:
        answer = await super().ask(value, patience)
        self.named = bool(answer and b"\r\nFilename:" in answer.raw)
        return answer

    async def run(self, name: str, data: bytes) -> None:
        if self.named:
            await super().run(name, data)


@fault("names-with-spaces", violates="http.header-names", subtle=True)
class NamesWithSpaces(Robot):
    """Includes spaces of the header field in a program's name."""

    async def ask(self, value: Any, patience: float) -> Frame | None:
        answer = await super().ask(value, patience)
        found = re.search(rb"\r\n(?i:filename):.([^\r]*)", answer.raw) if answer else None
        self.read = found[1].decode() if found else ""
        return answer

    def name_of(self, headers: Mapping[str, str]) -> str:
        return self.read


class _NeedsLength(Caller):
    """Does not accept the end of the connection as the end of an answer."""

    async def next(self) -> Frame | None:
        answer = await super().next()
        if answer and answer.value and "content-length" not in answer.value["headers"]:
            chunked = "transfer-encoding" in answer.value["headers"]
            return answer if chunked else None
        return answer


class _ToTheEnd(Caller):
    async def next(self) -> Frame | None:
        answer = await super().next()
        assert self._stream is not None
        while await self._stream.read():
            pass
        return answer


@fault("reads-to-the-end", violates="http.persistence")
class ReadsToTheEnd(Robot):
    """Reads an answer until the connection ends, although it has a Content-Length."""

    caller_type = _ToTheEnd

    async def ask(self, value: Any, patience: float) -> Frame | None:
        return await super().ask(value, 3600)

    def start_sensors(self) -> None:
        """Start no sensors, because they need a lasting connection."""


@fault("needs-a-length", violates="http.persistence")
class NeedsALength(Robot):
    """Rejects an answer that ends with its connection."""

    caller_type = _NeedsLength


class _KeepsAlways(Caller):
    """Uses the same connection for all requests, even if the lab has closed it."""

    async def ask(self, value: Any, patience: float, keep: bool = False) -> Frame | None:
        return await super().ask(value, patience, True)

    async def exchange(self, data: bytes) -> Frame | None:
        stream = await self.open()
        stream.write(data)
        return await self.next()


@fault("keeps-closed-connections", violates="http.persistence", subtle=True)
class KeepsClosedConnections(Robot):
    """Sends requests on a connection that the lab has closed, and then stops."""

    caller_type = _KeepsAlways

    async def ask(self, value: Any, patience: float) -> Frame | None:
        answer = await super().ask(value, patience)
        if answer is None:
            await asyncio.sleep(3600)
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


@fault("dies-of-a-silent-close", violates="http.persistence", subtle=True)
class DiesOfASilentClose(Robot):
    """Crashes if the lab has closed a kept connection without an announcement."""

    caller_type = _Trusting


class _HeedsOneSpelling(_KeepsAlways):
    """Closes a connection only after a header field spelt Connection."""

    async def ask(self, value: Any, patience: float, keep: bool = False) -> Frame | None:
        answer = await super().ask(value, patience)
        announced = answer and b"\r\nConnection: close" in answer.raw
        if announced or (answer and b"\r\nconnection:" not in answer.raw.lower()):
            await self.close()
        return answer


@fault("close-in-title-case-only", violates="http.header-names", subtle=True)
class CloseInTitleCaseOnly(KeepsClosedConnections):
    """Uses a closed connection again unless the answer said so in the usual spelling."""

    caller_type = _HeedsOneSpelling


@fault("chunks-in-title-case-only", violates="http.header-names", subtle=True)
class ChunksInTitleCaseOnly(Robot):
    """Reads chunks only after a header field spelt Transfer-Encoding: chunked."""

    async def ask(self, value: Any, patience: float) -> Frame | None:
        answer = await super().ask(value, patience)
        chunked = answer and "transfer-encoding" in (answer.value or {}).get("headers", {})
        if answer and chunked and b"\r\nTransfer-Encoding: chunked" not in answer.raw:
            await asyncio.sleep(3600)
        return answer


@fault("new-http-only", violates="http.persistence", subtle=True)
class NewHttpOnly(Robot):
    """Takes an answer in HTTP/1.0 for no answer."""

    async def ask(self, value: Any, patience: float) -> Frame | None:
        answer = await super().ask(value, patience)
        return None if answer and (answer.value or {}).get("version") == "1.0" else answer


class _OneRead(Caller):
    """Reads the bytes of a single read as a whole answer."""

    async def next(self) -> Frame | None:
        stream = await self.open()
        data = await stream.read()
        frames = Decoder().feed(data)
        return frames[0] if frames else None


@fault("one-read", violates="http.segmentation")
class OneRead(Robot):
    """Reads the bytes of a single read as a whole answer."""

    caller_type = _OneRead


class _HeadAtOnce(Caller):
    """Waits for the body, but reads the headers only from the first read."""

    async def next(self) -> Frame | None:
        stream = await self.open()
        data = await stream.read()
        decoder = Decoder()
        frames = decoder.feed(data)
        if b"\r\n\r\n" not in data:
            return None
        while not frames and data:
            data = await stream.read()
            frames = decoder.feed(data) if data else decoder.end()
        return frames[0] if frames else None


@fault("headers-in-one-read", violates="http.segmentation", subtle=True)
class HeadersInOneRead(Robot):
    """Reads the headers of an answer only from the first read."""

    caller_type = _HeadAtOnce
