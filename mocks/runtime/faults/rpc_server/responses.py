"""Faults of the RPC server about the form, the ids and the number of responses."""

import asyncio
from collections.abc import Callable
from typing import Any, ClassVar

from conformance.codec import Decoder
from mocks.deviations import fault
from mocks.runtime.rpc_server import Server
from mocks.streams import Stream


@fault("map-responses", violates="rpc.response-form")
class MapResponses(Server):
    """Answers with maps, as JSON-RPC does."""

    def response(self, number: int, error: Any, result: Any) -> Any:
        return {"id": number, "error": error, "result": result}


@fault("numbered-maps", violates="rpc.response-form")
class NumberedMaps(Server):
    """Answers with maps from index to element instead of arrays."""

    def response(self, number: int, error: Any, result: Any) -> Any:
        whole = super().response(number, error, result)
        return {"$map": [[place, part] for place, part in enumerate(whole)]}


@fault("typed-as-notifications", violates="rpc.response-form")
class TypedAsNotifications(Server):
    """Writes 2, the type of a notification, in its responses."""

    def response(self, number: int, error: Any, result: Any) -> Any:
        return [2, number, error, result]


@fault("results-before-errors", violates="rpc.result")
class ResultsBeforeErrors(Server):
    """Swaps the error and the result."""

    def response(self, number: int, error: Any, result: Any) -> Any:
        return [1, number, result, error]


@fault("no-element-for-nil", violates="rpc.response-form", subtle=True)
class NoElementForNil(Server):
    """Omits a nil result."""

    def response(self, number: int, error: Any, result: Any) -> Any:
        whole = super().response(number, error, result)
        return whole if error is not None or result is not None else whole[:3]


@fault("method-behind-response", violates="rpc.response-form", subtle=True)
class MethodBehindResponse(Server):
    """Adds a fifth element to responses with an error."""

    def response(self, number: int, error: Any, result: Any) -> Any:
        return super().response(number, error, result) + ([self.number] if error else [])


@fault("sixteen-levels", violates="rpc.values", subtle=True)
class SixteenLevels(Server):
    """Replaces parts of a result that are nested deeper than 16 levels by nil."""

    def response(self, number: int, error: Any, result: Any) -> Any:
        return super().response(number, error, _cut_depth(result, 16))


def _cut_depth(value: Any, levels: int) -> Any:
    if isinstance(value, list):
        return [_cut_depth(entry, levels - 1) for entry in value] if levels else None
    return value


@fault("own-ids", violates="rpc.response-id")
class OwnIds(Server):
    """Uses its own counter instead of the ids of requests."""

    count = 0

    def response(self, number: int, error: Any, result: Any) -> Any:
        self.count += 1
        return super().response(self.count + 10_000_000, error, result)


@fault("ids-of-16-bits", violates="rpc.response-id", subtle=True)
class IdsOf16Bits(Server):
    """Truncates an id to 16 bits."""

    def response(self, number: int, error: Any, result: Any) -> Any:
        return super().response(number & 0xFFFF, error, result)


@fault("signed-ids", violates="rpc.response-id", subtle=True)
class SignedIds(Server):
    """Stores ids in signed integers of 32 bits."""

    def response(self, number: int, error: Any, result: Any) -> Any:
        return super().response(number - (number >> 31 << 32), error, result)


@fault("large-ids-as-floats", violates="rpc.response-id", subtle=True)
class LargeIdsAsFloats(Server):
    """Writes ids from 2 to the power of 31 as doubles."""

    def response(self, number: int, error: Any, result: Any) -> Any:
        return [1, float(number) if number >= 2**31 else number, error, result]


@fault("id-zero-unanswered", violates="rpc.each-answered", subtle=True)
class IdZeroUnanswered(Server):
    """Does not answer requests with the id 0."""

    def answer(self, number: int, error: Any, result: Any) -> None:
        if number:
            super().answer(number, error, result)


@fault("nil-unanswered", violates="rpc.each-answered")
class NilUnanswered(Server):
    """Does not answer if the result is nil."""

    def answer(self, number: int, error: Any, result: Any) -> None:
        if error is not None or result is not None:
            super().answer(number, error, result)


@fault("two-hundred-answers", violates="rpc.each-answered", subtle=True)
class TwoHundredAnswers(Server):
    """Answers only the first two hundred requests of a connection."""

    count = 0

    def answer(self, number: int, error: Any, result: Any) -> None:
        self.count += 1
        if self.count <= 200:
            super().answer(number, error, result)


@fault("each-id-once", violates="rpc.each-answered", subtle=True)
class EachIdOnce(Server):
    """Ignores a request whose id was used before on the connection."""

    def __init__(self, number: int = 1) -> None:
        super().__init__(number)
        self.seen: set[int] = set()

    def request(self, number: int, method: str, params: list[Any]) -> None:
        if number not in self.seen:
            super().request(number, method, params)
        self.seen.add(number)


@fault("slow-answers-twice", violates="rpc.each-answered", subtle=True)
class SlowAnswersTwice(Server):
    """Answers a slow procedure twice."""

    async def outcome(self, running: Any, then: Callable[[Any, Any], None]) -> None:
        await super().outcome(running, then)
        then(None, None)


@fault("one-at-a-time", violates="rpc.pipelining")
class OneAtATime(Server):
    """Drops requests that arrive while a slow call runs."""

    def request(self, number: int, method: str, params: list[Any]) -> None:
        if not self._running:
            super().request(number, method, params)


@fault("five-at-a-time", violates="rpc.pipelining", subtle=True)
class FiveAtATime(Server):
    """Drops requests that arrive while five slow calls run."""

    def request(self, number: int, method: str, params: list[Any]) -> None:
        if len(self._running) < 5:
            super().request(number, method, params)


@fault("pieces-by-turns", violates="rpc.response-form", subtle=True)
class PiecesByTurns(Server):
    """Writes long responses in pieces of 4096 bytes, which mix with other responses."""

    def write(self, data: bytes) -> None:
        super().write(data[:4096])
        if data[4096:]:
            asyncio.get_running_loop().call_soon(self.write, data[4096:])


@fault("others-in-between", violates="rpc.response-form", subtle=True)
class OthersInBetween(Server):
    """Writes long responses in pieces with pauses, which mix with other responses."""

    def write(self, data: bytes) -> None:
        if not self.stream.is_behind or len(data) < 4096:
            super().write(data[:4096])
            data = data[4096:]
        if data:
            asyncio.get_running_loop().call_later(0.001, self.write, data)


@fault("fifty-in-a-read", violates="encoding.segmentation", subtle=True)
class FiftyInARead(Server):
    """Uses at most fifty requests of one read."""

    def receive(self, data: bytes) -> None:
        for frame in self.decoder.feed(data)[:50]:
            self.take(frame)


@fault("answers-notifications", violates="rpc.notification-unanswered")
class AnswersNotifications(Server):
    """Answers notifications with a nil id."""

    def notification(self, method: str, params: list[Any]) -> None:
        self.call(method, params, lambda error, result: self.send([1, None, error, result]))


@fault("errors-of-notifications", violates="rpc.notification-unanswered", subtle=True)
class ErrorsOfNotifications(Server):
    """Answers a failing notification with the id 0."""

    def notification(self, method: str, params: list[Any]) -> None:
        def then(error: Any, result: Any) -> None:
            if error is not None:
                self.answer(0, error, None)

        self.call(method, params, then)


@fault("slow-notifications-answered", violates="rpc.notification-unanswered", subtle=True)
class SlowNotificationsAnswered(Server):
    """Answers a notification of a slow procedure."""

    def notification(self, method: str, params: list[Any]) -> None:
        if method == "sleep":
            self.call(method, params, lambda error, result: self.answer(1, error, result))


@fault("every-seventh-as-before", violates="rpc.response-id", subtle=True)
class EverySeventhAsBefore(Server):
    """Writes the previous id in every seventh response."""

    answers = before = 0

    def response(self, number: int, error: Any, result: Any) -> list[Any]:
        self.answers += 1
        own, self.before = number, self.before if self.answers % 7 == 0 else number
        return super().response(self.before if self.answers % 7 == 0 else own, error, result)


@fault("ids-of-all-clients", violates="rpc.clients-apart", subtle=True)
class IdsOfAllClients(Server):
    """Sends a response to the client that used its id last."""

    clients: ClassVar[dict[int, Stream]] = {}

    def request(self, number: int, method: str, params: list[Any]) -> None:
        self.clients[number] = self.stream
        super().request(number, method, params)

    def answer(self, number: int, error: Any, result: Any) -> None:
        own, self.stream = self.stream, self.clients.get(number, self.stream)
        super().answer(number, error, result)
        self.stream = own


@fault("ids-of-all-clients-once", violates="rpc.clients-apart", subtle=True)
class IdsOfAllClientsOnce(IdsOfAllClients):
    """Sends the first response to a shared id to the wrong client."""

    def answer(self, number: int, error: Any, result: Any) -> None:
        super().answer(number, error, result)
        self.clients.pop(number, None)


@fault("one-buffer-for-all", violates="rpc.clients-apart", subtle=True)
class OneBufferForAll(Server):
    """Collects the responses to all clients in one buffer."""

    buffer: ClassVar[bytearray] = bytearray()

    def write(self, data: bytes) -> None:
        self.buffer.extend(data)
        asyncio.get_running_loop().call_soon(self.flush)

    def flush(self) -> None:
        data = bytes(self.buffer)
        self.buffer.clear()
        super().write(data)


@fault("answers-to-the-newest", violates="rpc.clients-apart", subtle=True)
class AnswersToTheNewest(Server):
    """Sends every response to the client that connected last."""

    newest: ClassVar[list[Stream]] = []

    async def run(self, stream: Stream) -> None:
        self.newest[:] = [stream]
        await super().run(stream)

    def answer(self, number: int, error: Any, result: Any) -> None:
        own, self.stream = self.stream, self.newest[0]
        super().answer(number, error, result)
        self.stream = own


@fault("answers-to-everybody", violates="rpc.clients-apart")
class AnswersToEverybody(Server):
    """Sends every response to all clients."""

    all: ClassVar[list[Stream]] = []

    async def run(self, stream: Stream) -> None:
        self.all.append(stream)
        await super().run(stream)

    def answer(self, number: int, error: Any, result: Any) -> None:
        own = self.stream
        for stream in self.all:
            self.stream = stream
            super().answer(number, error, result)
        self.stream = own


@fault("one-decoder-for-all", violates="rpc.clients-apart", subtle=True)
class OneDecoderForAll(Server):
    """Uses one decoder for the data of all clients."""

    shared: ClassVar[list[Decoder]] = []

    def make_decoder(self) -> Decoder:
        if not self.shared:
            self.shared.append(super().make_decoder())
        return self.shared[0]


@fault("asks-its-clients", violates="rpc.own-direction")
class AsksItsClients(Server):
    """Sends a request to each new client."""

    async def run(self, stream: Stream) -> None:
        stream.write(self.encode([0, 1, "who", []]))
        await super().run(stream)


@fault("asks-after-a-while", violates="rpc.own-direction", subtle=True)
class AsksAfterAWhile(Server):
    """Sends a request to its client after the third response."""

    answered = 0

    def answer(self, number: int, error: Any, result: Any) -> None:
        super().answer(number, error, result)
        self.answered += 1
        if self.answered == 3:
            self.send([0, 1, "ping", []])


@fault("notifications-unheard", violates="rpc.notification-calls")
class NotificationsUnheard(Server):
    """Ignores notifications."""

    def notification(self, method: str, params: list[Any]) -> None:
        pass


@fault("notifications-in-a-row", violates="rpc.notification-calls", subtle=True)
class NotificationsInARow(Server):
    """Ignores a notification that is equal to the previous one."""

    before: Any = None

    def notification(self, method: str, params: list[Any]) -> None:
        if self.before != [method, params]:
            super().notification(method, params)
        self.before = [method, params]

    def request(self, number: int, method: str, params: list[Any]) -> None:
        self.before = None
        super().request(number, method, params)
