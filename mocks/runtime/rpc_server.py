"""The reference RPC server: offers procedures of a robot's services, and declared procedures.

The services are simulated: there are no devices, and calls have no effect on hardware.
"""

import argparse
import asyncio
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from conformance import codec
from conformance.codec import Frame
from conformance.runtime.codec import Decoder, encode, is_notification, is_request
from conformance.runtime.shapes import NOTIFICATION, REQUEST, RESPONSE
from mocks import zeromq
from mocks.runtime import procedures
from mocks.runtime.procedures import Failed, Procedure
from mocks.session import Session
from mocks.streams import Stream


def echo(*args: Any) -> Any:
    return list(args)


def subtract(minuend: Any, subtrahend: Any) -> Any:
    return minuend - subtrahend


def fail() -> Any:
    raise Failed({"message": "failed as it was asked to"})


def nothing() -> None:
    pass


def unencodable() -> Any:
    return object()


async def sleep(seconds: Any) -> None:
    await asyncio.sleep(float(seconds))


_calls = 0


def count(number: int = 1) -> int:
    global _calls
    _calls += number
    return _calls


PROCEDURES: Mapping[str, Procedure] = {
    "echo": echo,
    "subtract": subtract,
    "fail": fail,
    "nothing": nothing,
    "sleep": sleep,
    "count": count,
    "unencodable": unencodable,
}


class Server(Session):
    """A connection to a client. `number` counts the connections from 1."""

    PROCEDURES = PROCEDURES

    def __init__(self, number: int = 1) -> None:
        self.number = number
        super().__init__()
        self.running: set[asyncio.Task[None]] = set()

    async def leave(self) -> None:
        for task in self.running:
            task.cancel()
        await super().leave()

    # Receiving

    def make_decoder(self) -> codec.Decoder:
        return Decoder()

    def take(self, frame: Frame) -> None:
        if frame.name is None:
            self.unreadable(frame)
        elif frame.name == REQUEST and is_request(frame.value):
            _, number, method, params = frame.value
            self.request(number, method, params)
        elif frame.name == NOTIFICATION and is_notification(frame.value):
            _, method, params = frame.value
            self.notification(method, params)
        elif frame.name == RESPONSE:
            self.stream.tell("ignored", f"a response to a server: {str(frame.value)[:200]}")
        else:
            self.malformed(frame.value)

    def request(self, number: int, method: str, params: list[Any]) -> None:
        self.call(method, params, lambda error, result: self.answer(number, error, result))

    def notification(self, method: str, params: list[Any]) -> None:
        self.call(method, params, lambda error, result: self.notified(method, error, result))

    def notified(self, method: str, error: Any, result: Any) -> None:
        """Handle the end of a call by a notification, which is not answered."""

    def malformed(self, value: Any) -> None:
        """Answer a malformed request with an error if it seems to have an id."""
        self.stream.tell("refused", f"neither a request nor a notification: {str(value)[:200]}")
        if isinstance(value, list) and len(value) > 1 and type(value[1]) is int:
            self.answer(value[1], {"message": "malformed request"}, None)

    def unreadable(self, frame: Frame) -> None:
        """Close the connection after bytes that are not MessagePack: the rest cannot be decoded."""
        self.close(frame.error or "bytes that are not a message")

    # Calling

    def call(self, method: str, params: list[Any], then: Callable[[Any, Any], None]) -> None:
        """Call a procedure, and pass its error and its result to `then`."""
        try:
            result = self.procedure(method)(*params)
        except Exception as error:
            self.stream.tell("failed", f"{str(method)[:80]}: {error}")
            then(self.error(error), None)
            return
        if asyncio.iscoroutine(result):
            task = asyncio.create_task(self.outcome(result, then))
            self.running.add(task)
            task.add_done_callback(self.running.discard)
        else:
            then(None, result)

    async def outcome(self, running: Any, then: Callable[[Any, Any], None]) -> None:
        try:
            then(None, await running)
        except Exception as error:
            self.stream.tell("failed", str(error))
            then(self.error(error), None)

    def procedure(self, method: str) -> Callable[..., Any]:
        if method not in self.PROCEDURES:
            raise Failed({"message": "no such procedure", "method": method})
        return self.PROCEDURES[method]

    def error(self, error: Exception) -> Any:
        """Return the error object of a response."""
        if isinstance(error, Failed):
            return error.error
        return {"message": str(error) or type(error).__name__}

    def answer(self, number: int, error: Any, result: Any) -> None:
        self.send(self.response(number, error, result))

    def response(self, number: int, error: Any, result: Any) -> list[Any]:
        return [1, number, error, result]

    def send(self, value: Any) -> None:
        try:
            data = self.encode(value)
        except (OverflowError, TypeError, ValueError) as error:
            data = self.encode(
                [1, value[1], {"message": f"no MessagePack has this: {error}"}, None]
            )
        self.write(data)

    def encode(self, value: Any) -> bytes:
        return encode(value)


PEER = Server


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--procedure",
        metavar="NAME=JSON",
        action="append",
        default=[],
        type=_procedure,
        help="a procedure that returns this value",
    )
    parser.add_argument(
        "--procedures",
        metavar="FILE",
        type=Path,
        help="procedures with results, errors, delays and effects (mocks/runtime/procedures.py)",
    )


def _procedure(text: str) -> tuple[str, Procedure]:
    name, equals, result = text.partition("=")
    if not equals:
        raise ValueError(text)
    return name, procedures.make_procedure({"result": json.loads(result)}, {})


async def main(args: argparse.Namespace, peer: type[Server]) -> int:
    """Serve any number of clients until terminated."""
    if not (args.listen or args.connect):
        raise ValueError("a server needs --listen")
    declared = procedures.read(args.procedures) if args.procedures else {}
    robot = procedures.Robot().procedures()
    peer.PROCEDURES = {**robot, **peer.PROCEDURES, **declared, **dict(args.procedure)}
    sessions = 0

    async def session(stream: Stream) -> None:
        nonlocal sessions
        sessions += 1
        await peer(sessions).run(stream)

    if args.connect:
        await session(await zeromq.connect(args.connect))
    else:
        await zeromq.serve(args.listen, session)
    return 0
