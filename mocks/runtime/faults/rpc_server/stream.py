"""Faults of the RPC server in what it takes from the stream, and what it does not survive."""

import asyncio
import time
from typing import Any, ClassVar

from conformance.codec import Decoder, Frame
from conformance.runtime.codec import encode
from conformance.runtime.shapes import RESPONSE
from mocks.deviations import fault
from mocks.misreading import FirstOfARead, PerRead
from mocks.runtime.faults.dying import die
from mocks.runtime.faults.rpc_server.responses import AnswersToTheNewest
from mocks.runtime.rpc_server import Server
from mocks.streams import Stream


@fault("ends-responses", violates="encoding.messagepack")
class EndsResponses(Server):
    """Puts the byte c1 behind each response, to mark its end."""

    def encode(self, value: Any) -> bytes:
        return super().encode(value) + b"\xc1"


@fault("ends-long-responses", violates="encoding.messagepack", subtle=True)
class EndsLongResponses(Server):
    """Does so behind responses of more than a thousand bytes."""

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
    """Sends a response of more than a thousand bytes in two messages of ZeroMQ."""

    def write(self, data: bytes) -> None:
        super().write(data[:1000])
        if len(data) > 1000:
            super().write(data[1000:])


@fault("forgets-what-does-not-fit", violates="encoding.messagepack", subtle=True)
class ForgetsWhatDoesNotFit(Server):
    """Sends of a response only as much as its connection takes at once."""

    def write(self, data: bytes) -> None:
        for at in range(0, len(data), 4096):
            if not self.stream.behind:
                super().write(data[at : at + 4096])


@fault("arrays-of-four-bits", violates="rpc.response-form", subtle=True)
class ArraysOfFourBits(Server):
    """Writes how many items an array has in four bits, also where there are sixteen."""

    def encode(self, value: Any) -> bytes:
        return super().encode(value).replace(b"\xdc\x00\x10", b"\x90")


@fault("sixteen-kilobytes", violates="encoding.messagepack", subtle=True)
class SixteenKilobytes(Server):
    """Sends 16 kilobytes of a response at most."""

    def write(self, data: bytes) -> None:
        super().write(data[: 2**14])


@fault("shortest-forms-only", violates="encoding.wider-forms")
class ShortestFormsOnly(Server):
    """Takes no request that is not in its shortest form."""

    def take(self, frame: Frame) -> None:
        if frame.name is None or frame.raw == encode(frame.value):
            super().take(frame)


@fault("single-precision-misread", violates="encoding.wider-forms", subtle=True)
class SinglePrecisionMisread(Server):
    """Does not know floats of single precision, and leaves out what comes after one."""

    def take(self, frame: Frame) -> None:
        if frame.name and b"\xca\x3f" in frame.raw:
            frame = Frame(frame.raw, frame.name, [*frame.value[:3], frame.value[3][:2]])
        super().take(frame)


@fault("counts-of-16-bits", violates="encoding.wider-forms", subtle=True)
class CountsOf16Bits(Server):
    """Takes an array with a count of 32 bits for no request."""

    def take(self, frame: Frame) -> None:
        if not frame.raw.startswith(b"\xdd"):
            super().take(frame)


@fault("a-read-is-a-request", violates="encoding.segmentation")
class AReadIsARequest(Server):
    """Takes what it reads at once for whole requests."""

    def make_decoder(self) -> Decoder:
        return PerRead(super().make_decoder)


@fault("later-reads-are-requests", violates="encoding.segmentation", subtle=True)
class LaterReadsAreRequests(Server):
    """Does so on all connections but the first."""

    def make_decoder(self) -> Decoder:
        made = super().make_decoder
        return made() if self.number == 1 else PerRead(made)


@fault("first-of-a-read", violates="encoding.segmentation", subtle=True)
class FirstRequestOfARead(Server):
    """Takes the first request of a read only."""

    def make_decoder(self) -> Decoder:
        return FirstOfARead(super().make_decoder())


@fault("one-byte-reads-lost", violates="encoding.segmentation", subtle=True)
class OneByteReadsLost(Server):
    """Takes a read of a single byte for a sign of life."""

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
    """Dies of a request with nil for its arguments."""

    def malformed(self, value: Any) -> None:
        if isinstance(value, list) and len(value) == 4 and (value[0], value[3]) == (0, None):
            die()
        super().malformed(value)


@fault("hangs-of-an-odd-id", violates="robustness.malformed-requests", subtle=True)
class HangsOfAnOddId(Server):
    """Stops serving a connection after a request with an array for its id."""

    hung = False

    def malformed(self, value: Any) -> None:
        self.hung |= isinstance(value, list) and len(value) == 4 and isinstance(value[1], list)
        super().malformed(value)

    def answer(self, number: int, error: Any, result: Any) -> None:
        if not self.hung:
            super().answer(number, error, result)


@fault("dies-of-an-empty-array", violates="robustness.malformed-requests", subtle=True)
class DiesOfAnEmptyArray(Server):
    """Dies of an array of no elements."""

    def malformed(self, value: Any) -> None:
        if value == []:
            die()
        super().malformed(value)


@fault("five-workers", violates="robustness.many-malformed", subtle=True)
class FiveWorkers(Server):
    """Loses one of its five workers by each request with nil for its arguments."""

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
    """Dies of the tenth malformed request."""

    count: ClassVar[list[Any]] = []

    def malformed(self, value: Any) -> None:
        self.count.append(value)
        if len(self.count) == 10:
            die()


@fault("dies-of-broken-bytes", violates="robustness.broken-bytes")
class DiesOfBrokenBytes(Server):
    """Dies of what is not MessagePack."""

    def unreadable(self, frame: Frame) -> None:
        die()


@fault("waits-for-all-bytes", violates="robustness.broken-bytes", subtle=True)
class WaitsForAllBytes(Server):
    """Stops serving all clients once one has left within a request."""

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
    """Dies of a response."""

    def take(self, frame: Frame) -> None:
        if frame.name == RESPONSE:
            die()
        super().take(frame)


@fault("confused-by-responses", violates="robustness.foreign-messages", subtle=True)
class ConfusedByResponses(Server):
    """Does not serve the request whose id it has seen in a response."""

    def __init__(self, number: int = 1) -> None:
        super().__init__(number)
        self.seen: set[Any] = set()

    def take(self, frame: Frame) -> None:
        if frame.name == RESPONSE:
            self.seen.add(frame.value[1])
        elif not (isinstance(frame.value, list) and frame.value[1] in self.seen):
            super().take(frame)


class _Leaving(Server):
    """Knows how many of a client's requests are not answered yet when it leaves."""

    unanswered = 0

    def request(self, number: int, method: str, params: list[Any]) -> None:
        self.unanswered += 1
        super().request(number, method, params)

    def answer(self, number: int, error: Any, result: Any) -> None:
        self.unanswered -= 1
        super().answer(number, error, result)


@fault("dies-of-lost-clients", violates="robustness.clients-leave")
class DiesOfLostClients(_Leaving):
    """Dies where it is to answer a client that has gone."""

    async def run(self, stream: Stream) -> None:
        await super().run(stream)
        if self.unanswered:
            die()


@fault("dies-of-resets", violates="robustness.clients-leave", subtle=True)
class DiesOfResets(Server):
    """Dies when the connection of a client is reset."""

    def input_ended(self) -> None:
        if self.stream.broken:
            die()
        super().input_ended()


@fault("waits-for-lost-clients", violates="robustness.clients-leave", subtle=True)
class WaitsForLostClients(_Leaving):
    """Stops serving all clients once one has gone that had calls pending."""

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
    """Sends what a client has asked for that has gone to the one that has connected last."""

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
    """Passes over all requests on a connection that is older than three seconds."""

    def __init__(self, number: int = 1) -> None:
        super().__init__(number)
        self.began = time.monotonic()

    def take(self, frame: Frame) -> None:
        if time.monotonic() < self.began + 3:
            super().take(frame)


@fault("a-second-for-everything", violates="rpc.each-answered", subtle=True)
class ASecondForEverything(Server):
    """Closes a connection on which nothing has come for a second, also while a call runs."""

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
    """Closes, where a client has gone, the connection of the last one as well."""

    all: ClassVar[list[Server]] = []

    async def run(self, stream: Stream) -> None:
        self.all.append(self)
        await super().run(stream)
        self.all.remove(self)
        for last in self.all[-1:]:
            last.close("a client has gone")
