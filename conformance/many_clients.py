"""Very many clients of a server, one after another."""

import asyncio
from collections.abc import Callable

from conformance.harness.instance import Instance
from conformance.verdicts import Unreachable

_CLIENTS = 1100  # more than the 1024 open files that many systems allow a process
_VISITING = 10  # seconds for these clients, so that a slow server does not slow down the run


async def visit_often(
    instance: Instance, data: Callable[[], bytes], within: float, channel: str = ""
) -> int:
    """Let very many clients come and go; return their number.

    They are more than the files that a process can have open. Each client sends ``data``, and
    leaves when the server closes, or after ``within`` seconds. A server that needs long for each
    client gets fewer clients. After a refusal no client follows.
    """
    loop = asyncio.get_running_loop()
    number, deadline = 0, loop.time() + _VISITING
    while number < _CLIENTS and loop.time() < deadline:
        try:
            link = await instance.link(channel)
        except Unreachable:
            break
        number += 1
        await link.visit(data(), within)
    return number
