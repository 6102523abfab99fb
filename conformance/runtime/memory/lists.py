"""Coordinates the `list` operations of a run, which briefly lock every buffer.

An IUT may fail an operation if a mutex is locked. An operation that fails while another test lists
buffers is therefore repeated. Objects that are not buffers must disturb only the IUT under test.
Therefore lists of other tests and of other runs on this machine wait.
"""

import asyncio
import contextlib
import fcntl
import os
from collections.abc import AsyncIterator, Collection, Mapping

from conformance.harness import memory
from conformance.iut import Iut
from conformance.runtime.memory.layout import Layout
from conformance.verdicts import Hindered

NAME = "lists"  # key in the memory of the run
MAX_ATTEMPTS = 3  # attempts at most
_LOCK = 4  # bytes at the beginning of a mutex that are zero while it is free
_POLL = 0.005  # seconds between two attempts to lock the folder


class Lists:
    """Number of lists that have started and ended in a run."""

    def __init__(self) -> None:
        self._begun = self._ended = 0

    @contextlib.asynccontextmanager
    async def one(self, iut: Iut, among_others: bool) -> AsyncIterator[None]:
        """Count one more list within the block.

        With `among_others`, lists of other tests can run at the same time.
        """
        async with lock_folder(iut, shared=True) if among_others else contextlib.nullcontext():
            self._begun += 1
            try:
                yield
            finally:
                self._ended += 1

    @property
    def quiet(self) -> int | None:
        """Number of lists so far, or None while a list is running."""
        return self._begun if self._begun == self._ended else None


@contextlib.asynccontextmanager
async def lock_folder(iut: Iut, shared: bool) -> AsyncIterator[None]:
    """Lock the folder of all objects within the block. Raises Hindered after a timeout.

    The folder itself is locked: this leaves no files in it, and the lock ends with its process.
    """
    place = os.open(memory.FOLDER, os.O_RDONLY)
    how = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
    left = iut.countdown(iut.configuration.max_wait)
    try:
        while not _locks(place, how):
            if left() <= 0:
                raise Hindered(f"another run on this machine had locked {memory.FOLDER}")
            await asyncio.sleep(_POLL)
        yield
    finally:
        os.close(place)


def _locks(place: int, how: int) -> bool:
    try:
        fcntl.flock(place, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def describe_held_buffer(
    template: str, layouts: Mapping[str, Layout | None], own: Collection[str]
) -> str:
    """Return the reason for a list to wait, or an empty string.

    ``template`` is the pattern of the buffers' names. ``layouts`` are the known layouts by type.
    ``own`` are the names of the buffers of this test. Buffers are only read. The position of the
    mutex is known only for the IUT's layout. An unknown type uses the first known layout, because
    most implementations place the mutex equally in all types.
    """
    known = [layout for layout in layouts.values() if layout]
    for type_, layout in layouts.items() if known else ():
        place = (layout or known[0])["mutex"]
        for path in memory.FOLDER.glob(template.replace("{type}", type_).replace("{uid}", "*")):
            with contextlib.suppress(OSError):
                if path.name not in own and any(place.of(path.read_bytes())[:_LOCK]):
                    return f"'list' may wait for {path.name}, which another program has locked"
    return ""
