"""The faults of the RPC client."""

import asyncio
from typing import Any

from conformance.codec import Frame
from conformance.runtime.codec import NOTIFICATION, REQUEST, RESPONSE, Decoder, encode
from mocks.fault import fault
from mocks.runtime.defects import die
from mocks.runtime.rpc_client import CallFailed, Client

# What it sends


@fault("ends-requests", violates="encoding.messagepack")
class EndsRequests(Client):
    """Puts the byte c1 behind each request, to mark its end."""

    def send(self, value: Any) -> None:
        self.stream.write(encode(value) + b"\xc1")


@fault("ends-long-requests", violates="encoding.messagepack", subtle=True)
class EndsLongRequests(Client):
    """Does so behind requests of more than 300 bytes."""

    def send(self, value: Any) -> None:
        data = encode(value)
        self.stream.write(data + b"\xc1" if len(data) > 300 else data)


@fault("names-as-bytes", violates="encoding.strings")
class NamesAsBytes(Client):
    """Writes the name of a procedure as a bin."""

    def request(self, number: int, method: str, params: list[Any]) -> Any:
        return [0, number, {"$bin": method.encode().hex()}, params]


@fault("names-of-notifications-as-bytes", violates="encoding.strings", subtle=True)
class NamesOfNotificationsAsBytes(Client):
    """Does so in notifications only."""

    def notification(self, method: str, params: list[Any]) -> Any:
        return [2, {"$bin": method.encode().hex()}, params]


@fault("no-arguments-left-out", violates="rpc.request-form", subtle=True)
class NoArgumentsLeftOut(Client):
    """Leaves the arguments out where there are none."""

    def request(self, number: int, method: str, params: list[Any]) -> Any:
        return [0, number, method, *([params] if params else [])]


@fault("nil-for-no-arguments", violates="rpc.request-form", subtle=True)
class NilForNoArguments(Client):
    """Writes nil for the arguments where there are none."""

    def request(self, number: int, method: str, params: list[Any]) -> Any:
        return [0, number, method, params or None]


@fault("map-requests", violates="rpc.request-form")
class MapRequests(Client):
    """Sends maps, as JSON-RPC does."""

    def request(self, number: int, method: str, params: list[Any]) -> Any:
        return {"id": number, "method": method, "params": params}


@fault("text-for-ids", violates="rpc.request-id")
class TextForIds(Client):
    """Writes ids as text."""

    def request(self, number: int, method: str, params: list[Any]) -> Any:
        return [0, str(number), method, params]

    def take(self, frame: Frame) -> None:
        if frame.name == RESPONSE and isinstance(frame.value[1], str):
            frame = Frame(frame.raw, RESPONSE, [1, int(frame.value[1]), *frame.value[2:]])
        super().take(frame)


@fault("ids-count-down", violates="rpc.request-id", subtle=True)
class IdsCountDown(Client):
    """Counts its ids down from 16, and goes on below 0."""

    def next_id(self) -> int:
        self.latest = 16 if self.latest == -1 else self.latest - 1 - (self.latest == 0)
        return self.latest


@fault("always-id-one", violates="rpc.ids-differ")
class AlwaysIdOne(Client):
    """Gives every request the id 1."""

    def next_id(self) -> int:
        return 1


@fault("ids-of-a-byte", violates="rpc.ids-differ", subtle=True)
class IdsOfAByte(Client):
    """Begins with 0 again after 255, whatever waits."""

    def next_id(self) -> int:
        self.latest = (self.latest + 1) % 256
        return self.latest


@fault("ids-of-sixteen", violates="rpc.ids-differ", subtle=True)
class IdsOfSixteen(Client):
    """Uses sixteen ids in turn; of calls that last long two come to have one."""

    def next_id(self) -> int:
        self.latest = (self.latest + 1) % 16
        return self.latest


@fault("arguments-wrapped", violates="rpc.request-content")
class ArgumentsWrapped(Client):
    """Puts the array of arguments into an array."""

    def request(self, number: int, method: str, params: list[Any]) -> Any:
        return [0, number, method, [params]]


@fault("nil-arguments-dropped", violates="rpc.request-content", subtle=True)
class NilArgumentsDropped(Client):
    """Leaves out arguments that are nil."""

    def request(self, number: int, method: str, params: list[Any]) -> Any:
        return [0, number, method, [param for param in params if param is not None]]


@fault("last-part-of-the-name", violates="rpc.request-content", subtle=True)
class LastPartOfTheName(Client):
    """Sends what stands behind the last dot of a procedure's name."""

    def request(self, number: int, method: str, params: list[Any]) -> Any:
        return [0, number, method.rpartition(".")[2], params]


@fault("one-call-at-a-time", violates="rpc.concurrent-calls")
class OneCallAtATime(Client):
    """Makes a call only when the one before has ended."""

    def __init__(self, patience: float) -> None:
        super().__init__(patience)
        self.turn = asyncio.Lock()

    async def call(self, method: str, params: list[Any], patience: float | None = None) -> Any:
        async with self.turn:
            return await super().call(method, params, patience)


@fault("notifications-with-ids", violates="rpc.notification-form")
class NotificationsWithIds(Client):
    """Gives notifications an id."""

    def notification(self, method: str, params: list[Any]) -> Any:
        return [2, self.next_id(), method, params]


@fault("notifications-as-requests", violates="rpc.notification-form", subtle=True)
class NotificationsAsRequests(Client):
    """Sends a request for a notification, and does not wait for its response."""

    def notification(self, method: str, params: list[Any]) -> Any:
        return self.request(self.next_id(), method, params)


@fault("short-notifications", violates="rpc.notification-form", subtle=True)
class ShortNotifications(Client):
    """Leaves the arguments of a notification out where there are none."""

    def notification(self, method: str, params: list[Any]) -> Any:
        return [2, method, *([params] if params else [])]


@fault("waits-after-notifying", violates="rpc.notification-waits-for-nothing")
class WaitsAfterNotifying(Client):
    """Waits for the server to take notice."""

    async def notify(self, method: str, params: list[Any]) -> None:
        await super().notify(method, params)
        await asyncio.Event().wait()


@fault("notifies-between-calls", violates="rpc.notification-waits-for-nothing", subtle=True)
class NotifiesBetweenCalls(Client):
    """Does not notify before all calls have ended."""

    async def notify(self, method: str, params: list[Any]) -> None:
        await super().notify(method, params)
        await asyncio.gather(*self.waiting.values(), return_exceptions=True)


@fault("acknowledges", violates="rpc.own-direction")
class Acknowledges(Client):
    """Sends each response back."""

    def response(self, number: int, error: Any, result: Any) -> None:
        self.send([1, number, error, result])
        super().response(number, error, result)


@fault("answers-requests", violates="rpc.own-direction", subtle=True)
class AnswersRequests(Client):
    """Answers what looks like a request with an error."""

    def take(self, frame: Frame) -> None:
        if frame.name == REQUEST:
            self.send([1, frame.value[1], "no server", None])
        super().take(frame)


# What it makes of responses


@fault("first-comes-first", violates="rpc.matching")
class FirstComesFirst(Client):
    """Takes a response for that to the call which has waited longest."""

    def response(self, number: int, error: Any, result: Any) -> None:
        super().response(next(iter(self.waiting), number), error, result)


@fault("ids-of-three-bits", violates="rpc.matching", subtle=True)
class IdsOfThreeBits(Client):
    """Compares the lowest three bits of ids only."""

    def response(self, number: int, error: Any, result: Any) -> None:
        near = (other for other in self.waiting if other % 8 == number % 8)
        super().response(next(near, number), error, result)


@fault("nil-is-no-result", violates="rpc.success")
class NilIsNoResult(Client):
    """Takes a result of nil for a failure."""

    def response(self, number: int, error: Any, result: Any) -> None:
        super().response(number, "no result" if error is None and result is None else error, result)


@fault("false-as-nil", violates="rpc.success", subtle=True)
class FalseAsNil(Client):
    """Hands on nil where the result is false, 0 or empty."""

    def response(self, number: int, error: Any, result: Any) -> None:
        super().response(number, error, result or None)


@fault("only-maps-are-errors", violates="rpc.failure")
class OnlyMapsAreErrors(Client):
    """Takes an error that is no map for none."""

    def failed(self, error: Any) -> bool:
        return isinstance(error, dict)


@fault("empty-is-no-error", violates="rpc.failure", subtle=True)
class EmptyIsNoError(Client):
    """Takes false, 0 and what is empty for no error."""

    def failed(self, error: Any) -> bool:
        return bool(error)


@fault("result-before-error", violates="rpc.failure", subtle=True)
class ResultBeforeError(Client):
    """Looks at the error only where there is no result."""

    def response(self, number: int, error: Any, result: Any) -> None:
        super().response(number, error if result is None else None, result)


@fault("errors-kept-back", violates="rpc.error-reachable")
class ErrorsKeptBack(Client):
    """Tells its program that a call has failed, and no more."""

    def response(self, number: int, error: Any, result: Any) -> None:
        super().response(number, None if error is None else "the call has failed", result)


@fault("messages-of-errors-only", violates="rpc.error-reachable", subtle=True)
class MessagesOfErrorsOnly(Client):
    """Tells the message of an error that is a map, and of any other that it is one."""

    def response(self, number: int, error: Any, result: Any) -> None:
        if error is not None:
            error = error.get("message") if isinstance(error, dict) else "failed"
        super().response(number, error, result)


@fault("shortest-responses-only", violates="encoding.wider-forms")
class ShortestResponsesOnly(Client):
    """Passes over a response that is not in its shortest form."""

    def take(self, frame: Frame) -> None:
        if frame.name is None or frame.raw == encode(frame.value):
            super().take(frame)


@fault("signed-ids-passed-over", violates="encoding.wider-forms", subtle=True)
class SignedIdsPassedOver(Client):
    """Does not know the id of a response that is written as a signed integer."""

    def take(self, frame: Frame) -> None:
        if frame.raw[3:5] not in (b"\xd0\x01", b"\xd0\x00"):
            super().take(frame)


@fault("a-read-is-a-response", violates="encoding.segmentation")
class AReadIsAResponse(Client):
    """Takes what it reads at once for whole responses."""

    def receive(self, data: bytes) -> None:
        self.decoder = Decoder()
        super().receive(data)


@fault("last-of-a-read", violates="encoding.segmentation", subtle=True)
class LastOfARead(Client):
    """Takes the last response of a read only."""

    def receive(self, data: bytes) -> None:
        for frame in self.decoder.feed(data)[-1:]:
            self.take(frame)


@fault("responses-of-64-kilobytes", violates="encoding.segmentation", subtle=True)
class ResponsesOf64Kilobytes(Client):
    """Drops a response of more than 65535 bytes."""

    def take(self, frame: Frame) -> None:
        if len(frame.raw) <= 65535:
            super().take(frame)


# What it does not survive


@fault("dies-of-strangers", violates="robustness.unknown-ids")
class DiesOfStrangers(Client):
    """Dies of a response that no call waits for."""

    def response(self, number: int, error: Any, result: Any) -> None:
        if number not in self.waiting:
            die()
        super().response(number, error, result)


@fault("strangers-to-the-first", violates="robustness.unknown-ids", subtle=True)
class StrangersToTheFirst(Client):
    """Gives a response with an unknown id to the only call that waits."""

    def response(self, number: int, error: Any, result: Any) -> None:
        if number not in self.waiting and len(self.waiting) == 1:
            number = next(iter(self.waiting))
        super().response(number, error, result)


@fault("three-elements-suffice", violates="robustness.malformed-responses", subtle=True)
class ThreeElementsSuffice(Client):
    """Takes a response without a result for a success."""

    def take(self, frame: Frame) -> None:
        if frame.name == RESPONSE and len(frame.value) == 3:
            frame = Frame(frame.raw, RESPONSE, [*frame.value, None])
        super().take(frame)


@fault("any-array-of-four", violates="robustness.malformed-responses", subtle=True)
class AnyArrayOfFour(Client):
    """Does not look at the type of a message."""

    def take(self, frame: Frame) -> None:
        value = frame.value
        if isinstance(value, list) and len(value) == 4 and type(value[1]) is int:
            self.response(*value[1:])
        else:
            super().take(frame)


@fault("dies-of-notifications", violates="robustness.malformed-responses")
class DiesOfNotifications(Client):
    """Dies of a notification from the server."""

    def take(self, frame: Frame) -> None:
        if frame.name == NOTIFICATION:
            die()
        super().take(frame)


@fault("dies-of-noise", violates="robustness.broken-bytes")
class DiesOfNoise(Client):
    """Dies of what is no MessagePack."""

    def unreadable(self, frame: Frame) -> None:
        die()


@fault("dies-of-a-cut", violates="robustness.broken-bytes", subtle=True)
class DiesOfACut(Client):
    """Dies where the connection ends within a response."""

    def ended(self) -> None:
        if self.decoder.end():
            die()
        super().ended()


@fault("waits-for-ever", violates="robustness.no-response")
class WaitsForEver(Client):
    """Has no timeout."""

    async def call(self, method: str, params: list[Any], patience: float | None = None) -> Any:
        return await super().call(method, params, 3600)


@fault("waits-for-a-lost-server", violates="robustness.no-response", subtle=True)
class WaitsForALostServer(Client):
    """Does not tell its calls that the connection has ended."""

    def ended(self) -> None:
        pass


@fault("no-call-after-a-timeout", violates="robustness.no-response", subtle=True)
class NoCallAfterATimeout(Client):
    """Makes no further call once one was not answered in time."""

    late = False

    async def call(self, method: str, params: list[Any], patience: float | None = None) -> Any:
        if self.late:
            raise CallFailed("the server is gone")
        try:
            return await super().call(method, params, patience)
        except CallFailed as failed:
            self.late = "in time" in str(failed)
            raise
