"""Faults of the RPC server that mix up its clients, or suffer when one leaves."""

import asyncio
from typing import Any, ClassVar

from conformance.codec import Decoder
from mocks.deviations import Fault, Subtle, Table, fault
from mocks.runtime.rpc_server import Server
from mocks.steps import (
    Function,
    before,
    die,
    exit_process,
    from_connection,
    having,
    instead,
    later,
    leave_file_open,
    noted,
    skip,
    then,
)
from mocks.streams import Stream


def _count_unanswered(by: int) -> Function:
    def count(server: Any, *args: Any) -> None:
        server.unanswered = vars(server).get("unanswered", 0) + by

    return count


def _is_unanswered(server: Server, stream: Stream) -> bool:
    return bool(vars(server).get("unanswered"))


def _note_for_all(name: str) -> Function:
    """Note under a name for all connections."""
    return lambda server, *args: setattr(type(server), name, True)


COUNT_UNANSWERED = (
    before("request", _count_unanswered(1)),
    before("answer", _count_unanswered(-1)),
)

FAULTS = Table(Server)

FAULTS["robustness.broken-bytes"] = {
    "waits-for-all-bytes": Subtle(
        "Stops serving all clients after one has disconnected within a request.",
        then("run", _note_for_all("stopped"), lambda server, stream: server.decoder.end()),
        skip("take", noted("stopped")),
    ),
}

FAULTS["robustness.clients-leave"] = {
    "dies-of-lost-clients": Fault(
        "Crashes if a client disconnects before all its requests are answered.",
        *COUNT_UNANSWERED,
        then("run", die, _is_unanswered),
    ),
    "waits-for-lost-clients": Subtle(
        "Stops serving all clients after one has disconnected with pending calls.",
        *COUNT_UNANSWERED,
        then("run", _note_for_all("stopped"), _is_unanswered),
        skip("take", noted("stopped")),
    ),
    "exits-some-time-after-lost-clients": Subtle(
        "Exits 0.3 s after a client has disconnected with pending calls.",
        *COUNT_UNANSWERED,
        then("run", later(0.3, exit_process), _is_unanswered),
    ),
    "dies-of-resets": Subtle(
        "Crashes when a client resets its connection.",
        before("input_ended", die, having("stream.broken")),
    ),
}


def _is_crowded(server: Server, stream: Stream) -> bool:
    """Return True if more than 64 clients are connected."""
    kind = type(server)
    kind.connected = vars(kind).get("connected", 0) + 1  # type: ignore[attr-defined]
    return bool(kind.connected > 64)  # type: ignore[attr-defined]


def _leave_crowd(server: Server, stream: Stream) -> None:
    type(server).connected -= 1  # type: ignore[attr-defined]


FAULTS["robustness.many-clients"] = {
    "places-never-freed": Subtle(
        "Closes every connection after the thousandth, because it never frees places.",
        instead("run", lambda _, stream: stream.closed(), from_connection(1001)),
    ),
    "files-left-open": Subtle("Leaves a file open for each client.", then("run", leave_file_open)),
    "sixty-four-places": Subtle(
        "Closes a connection while 64 others are open.",
        instead("run", lambda _, stream: stream.closed(), _is_crowded),
        then("run", _leave_crowd),
    ),
}


class Forwarding(Server):
    """Sends some responses to other clients."""

    def receiver(self, number: int) -> Stream:
        raise NotImplementedError

    def answer(self, number: int, error: Any, result: Any) -> None:
        own, self.stream = self.stream, self.receiver(number)
        super().answer(number, error, result)
        self.stream = own


@fault("ids-of-all-clients", violates="rpc.clients-apart", subtle=True)
class IdsOfAllClients(Forwarding):
    """Sends a response to the client that used its id last."""

    clients: ClassVar[dict[int, Stream]] = {}

    def request(self, number: int, method: str, params: list[Any]) -> None:
        self.clients[number] = self.stream
        super().request(number, method, params)

    def receiver(self, number: int) -> Stream:
        return self.clients.get(number, self.stream)


@fault("ids-of-all-clients-once", violates="rpc.clients-apart", subtle=True)
class IdsOfAllClientsOnce(IdsOfAllClients):
    """Sends the first response to a shared id to the wrong client."""

    def receiver(self, number: int) -> Stream:
        return self.clients.pop(number, self.stream)


@fault("answers-to-the-newest", violates="rpc.clients-apart", subtle=True)
class AnswersToTheNewest(Forwarding):
    """Sends every response to the client that connected last."""

    newest: ClassVar[list[Stream]] = []

    async def run(self, stream: Stream) -> None:
        self.newest[:] = [stream]
        await super().run(stream)

    def receiver(self, number: int) -> Stream:
        return self.newest[0]


@fault("answers-whoever-is-next", violates="rpc.response-id", subtle=True)
class AnswersWhoeverIsNext(AnswersToTheNewest):
    """Sends the responses for a disconnected client to the client that connected last."""

    pending: ClassVar[list[asyncio.Task[None]]] = []
    gone = False

    async def leave(self) -> None:
        self.gone = True
        self.pending.extend(self.running)
        self.running.clear()
        await super().leave()

    def receiver(self, number: int) -> Stream:
        return super().receiver(number) if self.gone else self.stream


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


@fault("one-decoder-for-all", violates="rpc.clients-apart", subtle=True)
class OneDecoderForAll(Server):
    """Uses one decoder for the data of all clients."""

    shared: ClassVar[list[Decoder]] = []

    def make_decoder(self) -> Decoder:
        if not self.shared:
            self.shared.append(super().make_decoder())
        return self.shared[0]


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
