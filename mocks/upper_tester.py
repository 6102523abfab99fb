"""The upper tester of a mock: operations as JSON lines on its standard streams."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from mocks import run
from mocks.streams import Stream, standard_streams

Operation = Callable[[dict[str, Any]], Awaitable[Any]]
"""Takes the arguments; returns the result, or raises ValueError with the reason."""


@dataclass(frozen=True, slots=True)
class Warned:
    """A result with warnings."""

    result: Any
    warnings: list[str]


class Refused(Exception):
    """The operation has no result; `error`, any JSON value, is the reason."""

    def __init__(self, error: Any) -> None:
        super().__init__(str(error))
        self.error = error


async def serve(operations: Mapping[str, Operation], wire: bool = True) -> None:
    """Answer lines `{"id", "op", "args"}` until the input ends; each answer comes when it is ready.

    A mock without a wire logs that it takes operations. Any other mock has already logged where it
    listens or connects. Inside another program, this program calls the operations itself, and ends
    the run.
    """
    here = run.here()
    here.operations = operations
    here.offered.set()
    if not wire:
        here.tell("ready", "takes operations")
    if here.inside:
        await asyncio.Event().wait()
    stream = await standard_streams()
    running: set[asyncio.Task[None]] = set()
    rest = b""
    while data := await stream.read():
        *lines, rest = (rest + data).split(b"\n")
        for line in filter(bytes.strip, lines):
            task = asyncio.create_task(_answer(line, operations, stream))
            running.add(task)
            task.add_done_callback(running.discard)
    for task in running:
        task.cancel()
    await stream.closed()


async def _answer(line: bytes, operations: Mapping[str, Operation], stream: Stream) -> None:
    request: dict[str, Any] = {}
    answer: dict[str, Any]
    try:
        request = json.loads(line)
        operation = operations.get(request["op"])
        if operation is None:
            answer = {"ok": False, "offered": False, "error": f"no operation {request['op']!r}"}
        else:
            result = await operation(request.get("args") or {})
            answer = {"ok": True, "result": result}
            if isinstance(result, Warned):
                answer |= {"result": result.result, "warnings": result.warnings}
    except Refused as refused:
        answer = {"ok": False, "error": refused.error}
    except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError) as error:
        answer = {"ok": False, "error": str(error) or type(error).__name__}
    number = request.get("id") if isinstance(request, dict) else None
    stream.write(json.dumps({"id": number, **answer}).encode() + b"\n")
