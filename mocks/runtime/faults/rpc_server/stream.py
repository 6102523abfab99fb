"""Faults of the RPC server about decoding and unusual input."""

import asyncio
import time
from typing import Any, ClassVar

from conformance.codec import Decoder, Frame
from conformance.runtime.codec import encode
from conformance.runtime.shapes import RESPONSE
from mocks.deviations import fault
from mocks.runtime.faults.dying import die
from mocks.runtime.faults.rpc_server.responses import AnswersToTheNewest
from mocks.runtime.rpc_server import Server
from mocks.stream_readers import FirstOfARead, PerRead
from mocks.streams import Stream


@fault("ends-responses", violates="encoding.messagepack")
class EndsResponses(Server):
    """Writes the byte c1 after each response to mark its end."""

    def encode(self, value: Any) -> bytes:
        return super().encode(value) + b"\xc1"


@fault("ends-long-responses", violates="encoding.messagepack", subtle=True)
class EndsLongResponses(Server):
    """Writes the byte c1 after responses of more than 1000 bytes."""

    def encode(self, value: Any) -> bytes:
        data = super().encode(value)
        return data + b"\xc1" if len(data) > 1000 else data


@fault(
    "long-responses-in-two",
    violates="encoding.messagepack",
    subtle=True,
    needs={"transport": "zmq"},
)
class LongResponsesInTwo(Server):
    """Splits a response of more than 1000 bytes into two ZeroMQ messages."""

    def write(self, data: bytes) -> None:
        super().write(data[:1000])
        if len(data) > 1000:
            super().write(data[1000:])


@fault("forgets-what-does-not-fit", violates="encoding.messagepack", subtle=True)
class ForgetsWhatDoesNotFit(Server):
    """Drops parts of a response that its connection cannot send immediately."""

    def write(self, data: bytes) -> None:
        for at in range(0, len(data), 4096):
            if not self.stream.is_behind:
                super().write(data[at : at + 4096])


@fault("arrays-of-four-bits", violates="rpc.response-form", subtle=True)
class ArraysOfFourBits(Server):
    """Writes the length of an array of 16 items in four bits, which is 0."""

    def encode(self, value: Any) -> bytes:
        return super().encode(value).replace(b"\xdc\x00\x10", b"\x90")


@fault("sixteen-kilobytes", violates="encoding.messagepack", subtle=True)
class SixteenKilobytes(Server):
    """Truncates a response to 16 kB."""

    def write(self, data: bytes) -> None:
        super().write(data[: 2**14])


@fault("shortest-forms-only", violates="encoding.wider-forms")
class ShortestFormsOnly(Server):
    """Ignores requests that are not in their shortest form."""

    def take(self, frame: Frame) -> None:
        if frame.name is None or frame.raw == encode(frame.value):
            super().take(frame)


@fault("single-precision-misread", violates="encoding.wider-forms", subtle=True)
class SinglePrecisionMisread(Server):
    """Drops the arguments after a float of single precision."""

    def take(self, frame: Frame) -> None:
        if frame.name and b"\xca\x3f" in frame.raw:
            frame = Frame(frame.raw, frame.name, [*frame.value[:3], frame.value[3][:2]])
        super().take(frame)


@fault("counts-of-16-bits", violates="encoding.wider-forms", subtle=True)
class CountsOf16Bits(Server):
    """Ignores requests with an array header of 32 bits."""

    def take(self, frame: Frame) -> None:
        if not frame.raw.startswith(b"\xdd"):
            super().take(frame)


@fault("a-read-is-a-request", violates="encoding.segmentation")
class AReadIsARequest(Server):
    """Treats each read as complete requests."""

    def make_decoder(self) -> Decoder:
        return PerRead(super().make_decoder)


@fault("later-reads-are-requests", violates="encoding.segmentation", subtle=True)
class LaterReadsAreRequests(Server):
    """Treats each read as complete requests, on all connections except the first."""

    def make_decoder(self) -> Decoder:
        made = super().make_decoder
        return made() if self.number == 1 else PerRead(made)


@fault("first-of-a-read", violates="encoding.segmentation", subtle=True)
class FirstRequestOfARead(Server):
    """Uses only the first request of a read."""

    def make_decoder(self) -> Decoder:
        return FirstOfARead(super().make_decoder())


@fault("one-byte-reads-lost", violates="encoding.segmentation", subtle=True)
class OneByteReadsLost(Server):
    """Ignores reads of a single byte."""

    def receive(self, data: bytes) -> None:
        if len(data) > 1:
            super().receive(data)


@fault("requests-of-64-kilobytes", violates="encoding.segmentation", subtle=True)
class RequestsOf64Kilobytes(Server):
    """Drops a request of more than 65536 bytes."""

    def take(self, frame: Frame) -> None:
        if len(frame.raw) <= 65536:
            super().take(frame)


@fault("dies-of-nil-arguments", violates="robustness.malformed-requests")
class DiesOfNilArguments(Server):
    """Crashes after a request with nil instead of its arguments."""

    def malformed(self, value: Any) -> None:
        if isinstance(value, list) and len(value) == 4 and (value[0], value[3]) == (0, None):
            die()
        super().malformed(value)


@fault("hangs-of-an-odd-id", violates="robustness.malformed-requests", subtle=True)
class HangsOfAnOddId(Server):
    """Answers nothing on a connection after a request with an array as its id."""

    hung = False

    def malformed(self, value: Any) -> None:
        self.hung |= isinstance(value, list) and len(value) == 4 and isinstance(value[1], list)
        super().malformed(value)

    def answer(self, number: int, error: Any, result: Any) -> None:
        if not self.hung:
            super().answer(number, error, result)


@fault("dies-of-an-empty-array", violates="robustness.malformed-requests", subtle=True)
class DiesOfAnEmptyArray(Server):
    """Crashes after an empty array."""

    def malformed(self, value: Any) -> None:
        if value == []:
            die()
        super().malformed(value)


@fault("five-workers", violates="robustness.many-malformed", subtle=True)
class FiveWorkers(Server):
    """Loses one of five workers after each request with nil instead of its arguments."""

    left: ClassVar[list[int]] = [1, 2, 3, 4, 5]

    def malformed(self, value: Any) -> None:
        nil = isinstance(value, list) and len(value) == 4 and value[3] is None
        if nil and self.left:
            self.left.pop()

    def answer(self, number: int, error: Any, result: Any) -> None:
        if self.left:
            super().answer(number, error, result)


@fault("patience-for-ten", violates="robustness.many-malformed")
class PatienceForTen(Server):
    """Crashes after the tenth malformed request."""

    count: ClassVar[list[Any]] = []

    def malformed(self, value: Any) -> None:
        self.count.append(value)
        if len(self.count) == 10:
            die()


@fault("dies-of-broken-bytes", violates="robustness.broken-bytes")
class DiesOfBrokenBytes(Server):
    """Crashes after bytes that are not MessagePack."""

    def unreadable(self, frame: Frame) -> None:
        die()


@fault("waits-for-all-bytes", violates="robustness.broken-bytes", subtle=True)
class WaitsForAllBytes(Server):
    """Stops serving all clients after one has disconnected within a request."""

    stopped: ClassVar[list[bool]] = []

    async def run(self, stream: Stream) -> None:
        await super().run(stream)
        if self.decoder.end():
            self.stopped.append(True)

    def take(self, frame: Frame) -> None:
        if not self.stopped:
            super().take(frame)


@fault("dies-of-responses", violates="robustness.foreign-messages")
class DiesOfResponses(Server):
    """Crashes after a response."""

    def take(self, frame: Frame) -> None:
        if frame.name == RESPONSE:
            die()
        super().take(frame)


@fault("confused-by-responses", violates="robustness.foreign-messages", subtle=True)
class ConfusedByResponses(Server):
    """Ignores a request whose id was in a response from the client."""

    def __init__(self, number: int = 1) -> None:
        super().__init__(number)
        self.seen: set[Any] = set()

    def take(self, frame: Frame) -> None:
        if frame.name == RESPONSE:
            self.seen.add(frame.value[1])
        elif not (isinstance(frame.value, list) and frame.value[1] in self.seen):
            super().take(frame)


class _Leaving(Server):
    """Counts the unanswered requests of a client."""

    unanswered = 0

    def request(self, number: int, method: str, params: list[Any]) -> None:
        self.unanswered += 1
        super().request(number, method, params)

    def answer(self, number: int, error: Any, result: Any) -> None:
        self.unanswered -= 1
        super().answer(number, error, result)


@fault("dies-of-lost-clients", violates="robustness.clients-leave")
class DiesOfLostClients(_Leaving):
    """Crashes if a client disconnects before all its requests are answered."""

    async def run(self, stream: Stream) -> None:
        await super().run(stream)
        if self.unanswered:
            die()


@fault("dies-of-resets", violates="robustness.clients-leave", subtle=True)
class DiesOfResets(Server):
    """Crashes when a client resets its connection."""

    def input_ended(self) -> None:
        if self.stream.broken:
            die()
        super().input_ended()


@fault("waits-for-lost-clients", violates="robustness.clients-leave", subtle=True)
class WaitsForLostClients(_Leaving):
    """Stops serving all clients after one has disconnected with pending calls."""

    lost: ClassVar[list[int]] = []

    async def run(self, stream: Stream) -> None:
        await super().run(stream)
        if self.unanswered:
            self.lost.append(self.number)

    def take(self, frame: Frame) -> None:
        if not self.lost:
            super().take(frame)


@fault("answers-whoever-is-next", violates="rpc.response-id", subtle=True)
class AnswersWhoeverIsNext(AnswersToTheNewest):
    """Sends the responses for a disconnected client to the client that connected last."""

    pending: ClassVar[list[asyncio.Task[None]]] = []
    gone = False

    async def leave(self) -> None:
        self.gone = True
        self.pending.extend(self._running)
        self._running.clear()
        await super().leave()

    def answer(self, number: int, error: Any, result: Any) -> None:
        if self.gone:
            super().answer(number, error, result)
        else:
            Server.answer(self, number, error, result)


@fault("deaf-after-three-seconds", violates="rpc.each-answered", subtle=True)
class DeafAfterThreeSeconds(Server):
    """Ignores all requests on a connection after three seconds."""

    def __init__(self, number: int = 1) -> None:
        super().__init__(number)
        self.began = time.monotonic()

    def take(self, frame: Frame) -> None:
        if time.monotonic() < self.began + 3:
            super().take(frame)


@fault("a-second-for-everything", violates="rpc.each-answered", subtle=True)
class ASecondForEverything(Server):
    """Closes a connection after a second of silence, even while a call runs."""

    taken = 0

    def take(self, frame: Frame) -> None:
        super().take(frame)
        self.taken += 1
        asyncio.get_running_loop().call_later(1, self.close_after, self.taken)

    def close_after(self, taken: int) -> None:
        if taken == self.taken:
            self.close("nothing comes")


@fault("the-last-leaves-as-well", violates="rpc.each-answered", subtle=True)
class TheLastLeavesAsWell(Server):
    """Also closes the newest connection when a client disconnects."""

    all: ClassVar[list[Server]] = []

    async def run(self, stream: Stream) -> None:
        self.all.append(self)
        await super().run(stream)
        self.all.remove(self)
        for last in self.all[-1:]:
            last.close("a client has gone")
