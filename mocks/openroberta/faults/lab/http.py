"""Faults of the lab in HTTP."""

import base64
import gzip
import re
from typing import Any

from conformance.codec import Frame
from conformance.openroberta.codec import Decoder, chunks, content, encode, response
from mocks.deviations import fault
from mocks.openroberta.http import Served
from mocks.openroberta.lab import Lab
from mocks.streams import Stream


@fault("bare-json", violates="http.messages")
class BareJson(Lab):
    """Answers with JSON, but without HTTP."""

    def respond(self, served: Served, answer: Any) -> None:
        served.write(content(answer))


@fault("answers-twice", violates="http.messages", subtle=True)
class AnswersTwice(Lab):
    """Sends the answer to a registration twice."""

    def respond(self, served: Served, answer: Any) -> None:
        served.write(encode(answer))
        if answer.get("json") == {"cmd": "repeat"} and not any(r.pushes for r in self.known()):
            served.write(encode(answer))

    def known(self) -> Any:
        return self.robots.values()


@fault("length-too-long", violates="http.messages", subtle=True)
class LengthTooLong(Lab):
    """Announces one byte more than a program has, and closes the connection."""

    def respond(self, served: Served, answer: Any) -> None:
        data = encode(answer)
        if "Filename" in answer["headers"]:
            length = len(content(answer))
            data = data.replace(b"Length: %d\r" % length, b"Length: %d\r" % (length + 1))
            served.write(data)
            served.stream.close()
        else:
            served.write(data)


@fault("length-of-chunks", violates="http.messages", subtle=True)
class LengthOfChunks(Lab):
    """Sends programs in chunks, and with a Content-Length."""

    def respond(self, served: Served, answer: Any) -> None:
        data = encode(answer)
        if "Filename" in answer["headers"]:
            head, line, body = data.partition(b"\r\n\r\n")
            data = head + b"\r\nTransfer-Encoding: chunked" + line + chunks([body])
        served.write(data)


@fault("plain-text", violates="http.json")
class PlainText(Lab):
    """Answers registrations and pushes with the command as plain text."""

    def command(self, word: str) -> Any:
        return response(200, {"content-type": "text/plain"}, word.encode())


@fault("quoted-json", violates="http.json", subtle=True)
class QuotedJson(Lab):
    """Answers with an array of an object at the end of push_hold."""

    def pushed(self, robot: Any, command: str) -> Any:
        answer = super().pushed(robot, command)
        if command == "repeat":
            return response(200, {"content-type": "application/json"}, b'[{"cmd":"repeat"}]')
        return answer


@fault("no-rest", violates="http.paths")
class NoRest(Lab):
    """Serves /pushcmd instead of /rest/pushcmd."""

    async def answer(self, frame: Frame, served: Served) -> Any:
        path = self.path(frame.value)
        if path == "/pushcmd":
            return await self.pushcmd(frame.value, served)
        return self.refusal(404)


@fault("title-case-headers-only", violates="http.header-names")
class TitleCaseHeadersOnly(Lab):
    """Reads the length of a body only from a header field spelt Content-Length."""

    async def take(self, frame: Frame, served: Served) -> bool:
        if re.search(rb"(?i)\ncontent-length:", frame.raw) and b"Content-Length" not in frame.raw:
            self.respond(served, self.refusal(400))
            return False
        return await super().take(frame, served)


@fault("odd-headers-unread", violates="http.header-names", subtle=True)
class OddHeadersUnread(Lab):
    """Reads names of header fields only in lower, upper and title case."""

    async def take(self, frame: Frame, served: Served) -> bool:
        if b"cONTENT-lENGTH" in frame.raw:
            self.respond(served, self.refusal(400))
            return False
        return await super().take(frame, served)


@fault("one-space-before-values", violates="http.header-names", subtle=True)
class OneSpaceBeforeValues(Lab):
    """Skips the first character after the colon of Content-Length."""

    async def take(self, frame: Frame, served: Served) -> bool:
        if re.search(rb"(?i)\ncontent-length:\S", frame.raw):
            self.respond(served, self.refusal(400))
            return False
        return await super().take(frame, served)


@fault("connection-in-title-case-only", violates="http.header-names", subtle=True)
class ConnectionInTitleCaseOnly(Lab):
    """Closes a connection only if the request has a header field spelt Connection."""

    async def take(self, frame: Frame, served: Served) -> bool:
        if re.search(rb"(?i)\nconnection:", frame.raw) and b"\nConnection" not in frame.raw:
            frame.value["headers"].pop("connection")
        return await super().take(frame, served)


@fault("chunks-in-title-case-only", violates="http.header-names", subtle=True)
class ChunksInTitleCaseOnly(Lab):
    """Reads chunks only after a header field spelt Transfer-Encoding."""

    async def take(self, frame: Frame, served: Served) -> bool:
        spelt = re.search(rb"(?i)\ntransfer-encoding:", frame.raw)
        if spelt and b"\nTransfer-Encoding" not in frame.raw:
            self.respond(served, self.refusal(400))
            return False
        return await super().take(frame, served)


@fault("never-closes", violates="http.persistence")
class NeverCloses(Lab):
    """Never closes a connection, even if the robot asks for it."""

    def keeps(self, value: Any) -> bool:
        return True


@fault("old-clients-wait", violates="http.persistence", subtle=True)
class OldClientsWait(Lab):
    """Keeps the connections of robots with HTTP/1.0 open."""

    def keeps(self, value: Any) -> bool:
        return value["version"] == "1.0" or super().keeps(value)


@fault("close-in-lower-case-only", violates="http.persistence", subtle=True)
class CloseInLowerCaseOnly(Lab):
    """Ignores the request to close a connection if it is not spelt in lower case."""

    def keeps(self, value: Any) -> bool:
        asked = value["headers"].get("connection", "")
        return super().keeps(value) or asked.lower() == "close" != asked


def compressed(answer: Any) -> Any:
    """Return an answer whose body is compressed with gzip."""
    if not content(answer):
        return answer
    coded = {**answer, "headers": {**answer["headers"], "content-encoding": "gzip"}}
    if "json" not in answer:
        zipped = gzip.compress(content(answer), mtime=0)
        coded["base64"] = base64.b64encode(zipped).decode()
    return coded


@fault("compresses-anyway", violates="robustness.codings")
class CompressesAnyway(Lab):
    """Compresses each answer, whatever codings the request accepts."""

    def respond(self, served: Served, answer: Any) -> None:
        super().respond(served, compressed(answer))


@fault("compresses-programs-anyway", violates="robustness.codings", subtle=True)
class CompressesProgramsAnyway(Lab):
    """Compresses programs, whatever codings the request accepts."""

    def respond(self, served: Served, answer: Any) -> None:
        program = "Filename" in answer["headers"]
        super().respond(served, compressed(answer) if program else answer)


class _Unprompting(Served):
    """Waits for a body without sending 100 Continue."""

    def frames(self, data: bytes) -> list[Frame]:
        return self._decoder.feed(data)


@fault("expectations-unmet", violates="robustness.expectations")
class ExpectationsUnmet(Lab):
    """Never sends 100 Continue to a robot that waits for it."""

    def served(self, stream: Stream) -> Served:
        return _Unprompting(stream)


@fault("third-request-unanswered", violates="http.persistence", subtle=True)
class ThirdRequestUnanswered(Lab):
    """Answers only two requests of a connection, and keeps it open."""

    async def connection(self, stream: Stream) -> None:
        self.count: dict[Served, int] = getattr(self, "count", {})
        await super().connection(stream)

    async def take(self, frame: Frame, served: Served) -> bool:
        self.count[served] = self.count.get(served, 0) + 1
        if self.count[served] > 2:
            await served.gone.wait()
            return False
        return await super().take(frame, served)


class _OneRead(Served):
    """Reads the bytes of a single read as a whole request."""

    def frames(self, data: bytes) -> list[Frame]:
        return Decoder().feed(data) or [Frame(data, error="half a request")]


@fault("one-read", violates="http.segmentation")
class OneRead(Lab):
    """Reads the bytes of a single read as a whole request."""

    def served(self, stream: Stream) -> Served:
        return _OneRead(stream)


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


@fault("body-in-one-read", violates="http.segmentation", subtle=True)
class BodyInOneRead(Lab):
    """Waits for the headers of a request, but not for the rest of its body."""

    def served(self, stream: Stream) -> Served:
        return _BodyAtOnce(stream)


class _WholeLetters(Served):
    """Replaces half a letter at the end of the first read of a request."""

    def frames(self, data: bytes) -> list[Frame]:
        half = data.startswith(b"POST") and data[-1] > 0x7F
        return super().frames(data[:-1] + b"?" if half else data)


@fault("halves-of-letters-lost", violates="http.segmentation", subtle=True)
class HalvesOfLettersLost(Lab):
    """Corrupts a name if a letter of two bytes arrives in two reads."""

    def served(self, stream: Stream) -> Served:
        return _WholeLetters(stream)


@fault("charset-refused", violates="robustness.charset")
class CharsetRefused(Lab):
    """Refuses a Content-Type with a character set with status 415."""

    async def pushcmd(self, value: Any, served: Served) -> Any:
        if ";" in value["headers"].get("content-type", ""):
            return self.refusal(415, "expected application/json")
        return await super().pushcmd(value, served)
