"""The reference RPC client: makes calls for its upper tester or command line.

It has no user interface.
"""

import argparse
import asyncio
import json
from collections.abc import Mapping
from typing import Any

from conformance import codec
from conformance.codec import Frame
from conformance.runtime.codec import IDS, Decoder, encode
from conformance.runtime.shapes import RESPONSE
from mocks import upper_tester, zeromq
from mocks.session import Session


class CallFailed(Exception):
    """A call has failed; `error` is the error object, any value except None."""

    def __init__(self, error: Any) -> None:
        super().__init__(str(error))
        self.error = error


class Client(Session):
    """A connection to a server; `address` is set if the client has connected.

    `patience` is the default timeout of a call in seconds.
    """

    def __init__(self, patience: float) -> None:
        super().__init__()
        self.patience = patience
        self.address = ""
        self.latest = -1
        self.waiting: dict[int, asyncio.Future[Any]] = {}
        self.connected = asyncio.Event()

    def opened(self) -> None:
        self.connected.set()

    async def leave(self) -> None:
        self.gone()
        await super().leave()

    # Sending

    async def call(self, method: str, params: list[Any], patience: float | None = None) -> Any:
        """Call a procedure and return its result. Raises CallFailed."""
        await self.connected.wait()
        number = self.next_id()
        response = asyncio.get_running_loop().create_future()
        self.waiting[number] = response
        self.send(self.request(number, method, params))
        try:
            async with asyncio.timeout(self.patience if patience is None else patience):
                return await response
        except TimeoutError:
            raise CallFailed({"message": "no response in time"}) from None
        finally:
            self.forget(number)

    async def notify(self, method: str, params: list[Any]) -> None:
        await self.connected.wait()
        self.send(self.notification(method, params))

    def next_id(self) -> int:
        self.latest = (self.latest + 1) % IDS
        while self.latest in self.waiting:
            self.latest = (self.latest + 1) % IDS
        return self.latest

    def request(self, number: int, method: str, params: list[Any]) -> Any:
        return [0, number, method, params]

    def notification(self, method: str, params: list[Any]) -> Any:
        return [2, method, params]

    def send(self, value: Any) -> None:
        self.stream.write(encode(value))

    def forget(self, number: int) -> None:
        self.waiting.pop(number, None)

    # Receiving

    def make_decoder(self) -> codec.Decoder:
        return Decoder()

    def take(self, frame: Frame) -> None:
        value = frame.value
        if frame.name is None:
            self.unreadable(frame)
        elif frame.name == RESPONSE and len(value) == 4 and type(value[1]) is int:
            _, number, error, result = value
            self.response(number, error, result)
        else:
            self.passed_over(value)

    def response(self, number: int, error: Any, result: Any) -> None:
        waiting = self.waiting.get(number)
        if waiting is None or waiting.done():
            self.passed_over([1, number, error, result])
        elif self.failed(error):
            waiting.set_exception(CallFailed(error))
        else:
            waiting.set_result(result)

    def failed(self, error: Any) -> bool:
        return error is not None

    def passed_over(self, value: Any) -> None:
        self.stream.tell("ignored", f"no call waits for {str(value)[:200]}")

    def unreadable(self, frame: Frame) -> None:
        self.close(frame.error or "bytes that are not a message")

    def gone(self) -> None:
        for waiting in self.waiting.values():
            if not waiting.done():
                waiting.set_exception(CallFailed({"message": "the server has gone"}))


PEER = Client


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--upper-tester", action="store_true", help="serve operations on stdin")
    parser.add_argument(
        "--patience",
        type=float,
        default=30.0,
        metavar="S",
        help="timeout for a response in seconds",
    )
    parser.add_argument(
        "--call",
        nargs="+",
        action="append",
        default=[],
        metavar="WORD",
        help="a procedure and its arguments, as JSON or else as text; can be repeated",
    )


async def main(args: argparse.Namespace, peer: type[Client]) -> int:
    """Connect, make the calls, and disconnect."""
    if not (args.connect or args.listen):
        raise ValueError("a client needs --connect")
    client = peer(args.patience)
    client.address = args.connect
    stream = await (zeromq.connect(args.connect) if args.connect else zeromq.accept(args.listen))
    running = asyncio.ensure_future(client.run(stream))
    try:
        if args.upper_tester:
            await upper_tester.serve(operations(client))
            return 0
        return await _calls(client, args.call or [["echo", "hello"]])
    finally:
        stream.close()
        await running


async def _calls(client: Client, calls: list[list[str]]) -> int:
    status = 0
    for method, *words in calls:
        try:
            print(json.dumps(await client.call(method, [_argument(word) for word in words])))
        except CallFailed as failed:
            print(f"failed: {json.dumps(failed.error)}")
            status = 1
    return status


def _argument(word: str) -> Any:
    try:
        return json.loads(word)
    except ValueError:
        return word


def operations(client: Client) -> Mapping[str, upper_tester.Operation]:
    async def call(args: dict[str, Any]) -> Any:
        try:
            return await client.call(args["method"], args.get("params") or [], args.get("timeout"))
        except CallFailed as failed:
            raise upper_tester.Refused(failed.error) from None

    async def notify(args: dict[str, Any]) -> None:
        await client.notify(args["method"], args.get("params") or [])

    return {"call": call, "notify": notify}
