"""Faults of the RPC client about its requests and notifications."""

import asyncio
from typing import Any

from conformance.codec import Frame
from conformance.runtime.codec import encode
from conformance.runtime.shapes import REQUEST, RESPONSE
from mocks.deviations import fault
from mocks.runtime.rpc_client import Client


@fault("ends-requests", violates="encoding.messagepack")
class EndsRequests(Client):
    """Writes the byte c1 after each request to mark its end."""

    def send(self, value: Any) -> None:
        self.stream.write(encode(value) + b"\xc1")


@fault("ends-long-requests", violates="encoding.messagepack", subtle=True)
class EndsLongRequests(Client):
    """Writes the byte c1 after requests of more than 300 bytes."""

    def send(self, value: Any) -> None:
        data = encode(value)
        self.stream.write(data + b"\xc1" if len(data) > 300 else data)


@fault("header-turned-round", violates="encoding.messagepack")
class HeaderTurnedRound(Client):
    """Writes the length of an array in two bytes, in little-endian order."""

    def send(self, value: Any) -> None:
        self.stream.write(b"\xdc" + len(value).to_bytes(2, "little") + encode(value)[1:])


@fault("names-as-bytes", violates="encoding.strings")
class NamesAsBytes(Client):
    """Writes the name of a procedure as a bin."""

    def request(self, number: int, method: str, params: list[Any]) -> Any:
        return [0, number, {"$bin": method.encode().hex()}, params]


@fault("names-of-notifications-as-bytes", violates="encoding.strings", subtle=True)
class NamesOfNotificationsAsBytes(Client):
    """Writes the name of a procedure as a bin in notifications."""

    def notification(self, method: str, params: list[Any]) -> Any:
        return [2, {"$bin": method.encode().hex()}, params]


@fault("no-arguments-left-out", violates="rpc.request-form", subtle=True)
class NoArgumentsLeftOut(Client):
    """Omits the array of arguments if there are none."""

    def request(self, number: int, method: str, params: list[Any]) -> Any:
        return [0, number, method, *([params] if params else [])]


@fault("nil-for-no-arguments", violates="rpc.request-form", subtle=True)
class NilForNoArguments(Client):
    """Writes nil instead of an empty array of arguments."""

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
    """Counts its ids down from 16, and continues below 0."""

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
    """Restarts at 0 after id 255, even if that id is in use."""

    def next_id(self) -> int:
        self.latest = (self.latest + 1) % 256
        return self.latest


@fault("ids-of-sixteen", violates="rpc.ids-differ", subtle=True)
class IdsOfSixteen(Client):
    """Uses sixteen ids in turn, so that long calls share an id."""

    def next_id(self) -> int:
        self.latest = (self.latest + 1) % 16
        return self.latest


@fault("ids-count-the-waiting", violates="rpc.ids-differ", subtle=True)
class IdsCountTheWaiting(Client):
    """Uses the number of waiting calls as id, which can be in use."""

    def next_id(self) -> int:
        return len(self.waiting)


@fault("arguments-wrapped", violates="rpc.request-content")
class ArgumentsWrapped(Client):
    """Wraps the array of arguments in another array."""

    def request(self, number: int, method: str, params: list[Any]) -> Any:
        return [0, number, method, [params]]


@fault("nil-arguments-dropped", violates="rpc.request-content", subtle=True)
class NilArgumentsDropped(Client):
    """Omits arguments that are nil."""

    def request(self, number: int, method: str, params: list[Any]) -> Any:
        return [0, number, method, [param for param in params if param is not None]]


@fault("small-negatives-as-bytes", violates="rpc.request-content", subtle=True)
class SmallNegativesAsBytes(Client):
    """Writes integers from -128 to -33 as unsigned bytes."""

    def request(self, number: int, method: str, params: list[Any]) -> Any:
        return [0, number, method, [_to_byte(param) for param in params]]


def _to_byte(param: Any) -> Any:
    return param % 256 if type(param) is int and -128 <= param < -32 else param


@fault("last-part-of-the-name", violates="rpc.request-content", subtle=True)
class LastPartOfTheName(Client):
    """Sends only the last part of a dotted procedure name."""

    def request(self, number: int, method: str, params: list[Any]) -> Any:
        return [0, number, method.rpartition(".")[2], params]


@fault("names-in-small-letters", violates="rpc.request-content", subtle=True)
class NamesInSmallLetters(Client):
    """Writes the name of a procedure in lower case."""

    def request(self, number: int, method: str, params: list[Any]) -> Any:
        return [0, number, method.lower(), params]


@fault("long-texts-cut", violates="rpc.request-content", subtle=True)
class LongTextsCut(Client):
    """Truncates texts to 4096 characters."""

    def request(self, number: int, method: str, params: list[Any]) -> Any:
        cut = [param[:4096] if isinstance(param, str) else param for param in params]
        return [0, number, method, cut]


@fault("calls-twice", violates="rpc.request-content")
class CallsTwice(Client):
    """Sends each request twice, with two ids, and uses the first response."""

    def request(self, number: int, method: str, params: list[Any]) -> Any:
        self.again = [0, self.next_id(), method, params]
        return super().request(number, method, params)

    def send(self, value: Any) -> None:
        super().send(value)
        if value[0] == 0:
            super().send(self.again)


@fault("last-call-twice", violates="rpc.request-content", subtle=True)
class LastCallTwice(Client):
    """Repeats a call after its response, from the tenth call."""

    def response(self, number: int, error: Any, result: Any) -> None:
        super().response(number, error, result)
        if number > 9 and number in self.waiting:
            self.send(self.request(self.next_id(), "method", []))


@fault("one-call-at-a-time", violates="rpc.concurrent-calls")
class OneCallAtATime(Client):
    """Makes a call only after the previous one has ended."""

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
    """Sends requests instead of notifications, without waiting for the responses."""

    def notification(self, method: str, params: list[Any]) -> Any:
        return self.request(self.next_id(), method, params)


@fault("short-notifications", violates="rpc.notification-form", subtle=True)
class ShortNotifications(Client):
    """Omits the array of arguments of a notification if there are none."""

    def notification(self, method: str, params: list[Any]) -> Any:
        return [2, method, *([params] if params else [])]


@fault("notifies-once", violates="rpc.notification-form", subtle=True)
class NotifiesOnce(Client):
    """Omits a notification that is equal to the previous one."""

    before: Any = None

    async def notify(self, method: str, params: list[Any]) -> None:
        known, self.before = self.before, [method, params]
        if known != self.before:
            await super().notify(method, params)


@fault("waits-after-notifying", violates="rpc.notification-waits-for-nothing")
class WaitsAfterNotifying(Client):
    """Waits forever after it has sent a notification."""

    async def notify(self, method: str, params: list[Any]) -> None:
        await super().notify(method, params)
        await asyncio.Event().wait()


@fault("notifies-between-calls", violates="rpc.notification-waits-for-nothing", subtle=True)
class NotifiesBetweenCalls(Client):
    """Waits for all pending calls after it has sent a notification."""

    async def notify(self, method: str, params: list[Any]) -> None:
        await super().notify(method, params)
        await asyncio.gather(*self.waiting.values(), return_exceptions=True)


@fault("acknowledges", violates="rpc.own-direction")
class Acknowledges(Client):
    """Sends each response back to the server."""

    def response(self, number: int, error: Any, result: Any) -> None:
        self.send([1, number, error, result])
        super().response(number, error, result)


@fault("answers-requests-twice", violates="rpc.own-direction", subtle=True)
class AnswersRequestsTwice(Client):
    """Answers a request from the server with two errors."""

    def take(self, frame: Frame) -> None:
        if frame.name == REQUEST:
            for _ in range(2):
                self.send([1, frame.value[1], "no server", None])
        super().take(frame)


@fault("remembers-results", violates="rpc.request-content")
class RemembersResults(Client):
    """Calls a procedure once, and reuses the result later."""

    def __init__(self, patience: float) -> None:
        super().__init__(patience)
        self.known: dict[str, Any] = {}

    async def call(self, method: str, params: list[Any], patience: float | None = None) -> Any:
        if method not in self.known:
            self.known[method] = await super().call(method, params, patience)
        return self.known[method]


@fault("notifies-only-when-idle", violates="rpc.notification-form", subtle=True)
class NotifiesOnlyWhenIdle(Client):
    """Drops notifications while calls wait."""

    async def notify(self, method: str, params: list[Any]) -> None:
        if not self.waiting:
            await super().notify(method, params)


@fault("sent-once-full", violates="rpc.request-form", subtle=True)
class SentOnceFull(Client):
    """Buffers its messages, and sends them only in blocks of 4096 bytes."""

    kept = b""

    def send(self, value: Any) -> None:
        self.kept += encode(value)
        while len(self.kept) >= 4096:
            self.stream.write(self.kept[:4096])
            self.kept = self.kept[4096:]


@fault("twenty-calls", violates="rpc.request-form", subtle=True)
class TwentyCalls(Client):
    """Sends only the first twenty requests."""

    called = 0

    def request(self, number: int, method: str, params: list[Any]) -> Any:
        self.called += 1
        return super().request(number, method, params)

    def send(self, value: Any) -> None:
        if value[0] != 0 or self.called <= 20:
            super().send(value)
