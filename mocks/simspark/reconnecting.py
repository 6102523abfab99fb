"""Clients that connect again after a disconnect."""

import contextlib
from collections.abc import Awaitable, Callable
from typing import Any

from mocks.simspark.client import Client
from mocks.streams import Stream


def comes_back(kind: Callable[[Any], Client]) -> Callable[[Client, Stream], Awaitable[None]]:
    """Return a deed: connect once more to the server, as a client of this kind."""

    async def again(client: Client, _: Stream) -> None:
        # The server can be gone.
        with contextlib.suppress(OSError):
            other = kind(client.settings)
            await other.run(await other.connect(client.address))

    return again
