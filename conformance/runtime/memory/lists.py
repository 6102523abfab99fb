"""The lists of a run: each looks into all buffers, and holds the mutex of each for a moment.

An IUT may give up where a mutex is held. What fails in one test may so be for a list of another,
and is asked for again. And objects that are no buffers are to trouble the one IUT that they are
made for: those of other tests, and of other runs on this machine, wait with their lists.
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

NAME = "lists"  # in what the tests of a run have found out
AGAIN = 3  # times at most
_LOCK = 4  # bytes at the beginning of a mutex that are zero while it is free
_POLL = 0.005  # seconds between two attempts to have the folder


class Lists:
    """How many have begun and ended in a run."""

    def __init__(self) -> None:
        self._begun = self._ended = 0

    @contextlib.asynccontextmanager
    async def one(self, iut: Iut, among_others: bool) -> AsyncIterator[None]:
        """Within the block there is one more, by itself or among those of others."""
        async with folder(iut, shared=True) if among_others else contextlib.nullcontext():
            self._begun += 1
            try:
                yield
            finally:
                self._ended += 1

    @property
    def quiet(self) -> int | None:
        """How many there have been, if none is under way: none was while this stays the same."""
        return self._begun if self._begun == self._ended else None


@contextlib.asynccontextmanager
async def folder(iut: Iut, shared: bool) -> AsyncIterator[None]:
    """Within the block the folder of all objects is locked. Raises Hindered if it is not in time.

    It is the folder itself that is, so that nothing is left in it, and no lock behind its holder.
    """
    place = os.open(memory.FOLDER, os.O_RDONLY)
    how = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
    left = iut.left(iut.configuration.max_wait)
    try:
        while not _locks(place, how):
            if left() <= 0:
                raise Hindered(f"another run on this machine had {memory.FOLDER} for itself")
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


def waits_for(template: str, layouts: Mapping[str, Layout | None], own: Collection[str]) -> str:
    """Why a list may wait: a buffer of another program is locked; empty where none is.

    ``template`` is how buffers are named, ``layouts`` are those of types, as far as known, and
    ``own`` the names of the buffers that are not another program's. A buffer is only looked at:
    where the mutex is in it, is known only if its layout is the IUT's. Most have it at one place in
    all types, so that not every layout need be known.
    """
    known = [layout for layout in layouts.values() if layout]
    for type_, layout in layouts.items() if known else ():
        place = (layout or known[0])["mutex"]
        for path in memory.FOLDER.glob(template.replace("{type}", type_).replace("{uid}", "*")):
            with contextlib.suppress(OSError):
                if path.name not in own and any(place.of(path.read_bytes())[:_LOCK]):
                    return f"'list' may wait for {path.name}, which another program has locked"
    return ""
