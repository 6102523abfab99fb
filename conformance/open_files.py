"""The open files of an IUT's processes, which can leak with each connection or operation."""

import contextlib
import os
from collections.abc import AsyncIterator

from conformance.cases import check
from conformance.harness.process import process_ids
from conformance.session import Session

_LEAKED = 1000  # files; many systems allow a process 1024


@contextlib.asynccontextmanager
async def no_files_leak(session: Session, after: str) -> AsyncIterator[None]:
    """Raise Violation if a thousand more files are open after the block than before.

    ``after`` describes the block. An IUT without a process that can be observed is not judged.
    """
    before = _open_files(session)
    yield

    async def are_closed() -> bool:
        return _open_files(session) - before < _LEAKED

    await session.poll_until(are_closed, "closed files", "response")
    more = _open_files(session) - before
    check(more < _LEAKED, f"the files of {after} to be closed", f"{more} more files are open")


def _open_files(session: Session) -> int:
    """Return the number of open files of all processes of the IUT, or 0 if it is unknown."""
    process, found = session.instance.process, 0
    if process is not None:
        for pid in process_ids():
            with contextlib.suppress(OSError):
                if os.getpgid(int(pid)) == process.pid:
                    found += len(os.listdir(f"/proc/{pid}/fd"))
    return found
