"""Building blocks of deviations in RPC: conditions on calls, other arguments and other answers."""

import asyncio
import contextlib
from collections.abc import Callable
from typing import Any

from mocks import zeromq
from mocks.runtime.rpc_client import Client
from mocks.steps import Change, Function, When, alter, always, instead, returning, with_changes

NIL = When(lambda _, number, error, result: error is None and result is None)
"""If the step is about a success without a result."""


def of(name: str) -> When:
    """If the step is about a request of a procedure."""
    return When(lambda _, number, method, params: method == name)


def answers(change: Callable[[Any, Any], tuple[Any, Any]], when: Function = always) -> Change:
    """Answer another error and another result."""
    return alter("answer", lambda _, number, *answer: (number, *change(*answer)), when)


def results(change: Callable[[Any], Any]) -> Change:
    """Answer another result."""
    return alter("response", lambda _, number, error, result: (number, error, change(result)))


def calling(name: str, change: Callable[[Callable[..., Any]], Callable[..., Any]]) -> Change:
    """Call another function for a procedure."""
    return returning("procedure", change, lambda _, method: method == name)


def _send_if_encodable(server: Any, value: Any) -> None:
    with contextlib.suppress(TypeError):
        server.write(server.encode(value))


SEND_IF_ENCODABLE = instead("send", _send_if_encodable)
"""Send nothing if a result cannot be encoded."""


async def _call_in_turn(usual: Function, client: Any, *args: Any) -> Any:
    async with vars(client).setdefault("turn", asyncio.Lock()):
        return await usual(client, *args)


CALL_IN_TURN = Change("call", _call_in_turn)
"""Make a call only after the previous one has ended."""


def call_apart(*changes: Change) -> Change:
    """Open a connection for each call, of a client with these changes."""

    async def call(client: Any, *args: Any) -> Any:
        other, stream = (
            with_changes(Client, changes)(client.patience),
            await zeromq.connect(client.address),
        )
        running = asyncio.ensure_future(other.run(stream))
        try:
            return await other.call(*args)
        finally:
            stream.close()
            await running

    return instead("call", call)
