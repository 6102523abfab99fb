"""Very many clients of a server, one after another, and the files left open."""

import asyncio
import contextlib
import os
from collections.abc import Callable

from conformance.cases import check
from conformance.harness.process import process_ids
from conformance.session import Session
from conformance.verdicts import Unreachable

_CLIENTS = 1100  # more than the 1024 open files that many systems allow a process
_VISITING = 10  # seconds for these clients, so that a slow server does not slow down the run
_LEAKED = 1000  # files


async def visit_often(
    session: Session, data: Callable[[], bytes], within: float, channel: str = ""
) -> int:
    """Let very many clients of a server come and go; return their number.

    ``session`` is an earlier session with the server. The clients are more than the files that a
    process can have open. Each client sends ``data``, and leaves when the server closes, or after
    ``within`` seconds. A server that needs long for each client gets fewer clients. After a refusal
    no client follows.

    Raises Violation if a thousand more files are open than before. A server without a process that
    can be observed is not judged.
    """
    loop = asyncio.get_running_loop()
    before, number, deadline = _open_files(session), 0, loop.time() + _VISITING
    while number < _CLIENTS and loop.time() < deadline:
        try:
            link = await session.instance.link(channel)
        except Unreachable:
            break
        number += 1
        await link.visit(data(), within)

    async def are_closed() -> bool:
        return _open_files(session) - before < _LEAKED

    await session.poll_until(are_closed, "closed files", "response")
    more = _open_files(session) - before
    expected = f"the files of {number} other clients to be closed"
    check(more < _LEAKED, expected, f"{more} more files are open")
    return number


def _open_files(session: Session) -> int:
    """Return the number of open files of all processes of the IUT, or 0 if it is unknown."""
    process, found = session.instance.process, 0
    if process is not None:
        for pid in process_ids():
            with contextlib.suppress(OSError):
                if os.getpgid(int(pid)) == process.pid:
                    found += len(os.listdir(f"/proc/{pid}/fd"))
    return found
