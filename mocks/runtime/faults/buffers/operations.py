"""Faults about all operations, and about get_update, which either role can offer."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from typing import Any

from conformance.runtime.memory.layout import Plan
from mocks.deviations import Fault, Subtle, Table, fault
from mocks.runtime.memory.changes import SMART, about, keep_bits, locked
from mocks.runtime.memory.peer import Asked, Buffer, Peer
from mocks.steps import Change, before, instead, returning, skip, then


async def read_one_by_one(peer: Asked, buffer: Buffer, bitmap: str, block: str) -> dict[str, Any]:
    """Read the values of a bitmap with the mutex locked for each value separately."""
    values: dict[str, Any] = {}
    async with peer.operation(buffer):
        names = buffer.peripheral.names(buffer[f"control.{bitmap}"])
    for name in names:
        async with peer.operation(buffer):
            values[name] = peer.stored(buffer, block, name)
        await asyncio.sleep(0)
    async with peer.operation(buffer):
        peer.clear(buffer, bitmap)
    return values


def _trust(peer: Any, buffer: Buffer) -> None:
    vars(peer).setdefault("trusted", set()).add(buffer.name)


def _is_trusted(peer: Any, buffer: Buffer) -> bool:
    return buffer.name in vars(peer).get("trusted", ())


def _see_bits(peer: Any, buffer: Buffer) -> None:
    peer.seen = {each: buffer[f"control.{each}"] for each in ("write", "update")}


def _restore_seen(peer: Any, buffer: Buffer, bitmap: str, names: Any) -> None:
    if bitmap in peer.seen:
        buffer[f"control.{bitmap}"] = peer.seen[bitmap]


async def _take_unlocked(peer: Asked, buffer: Buffer) -> dict[str, Any]:
    peer.check_valid(buffer)
    names = peer.take(buffer, "update")
    return {name: peer.stored(buffer, "read", name) for name in names}


async def _clear_invalid(peer: Asked, buffer: Buffer) -> None:
    await peer.acquire(buffer)
    if not buffer["valid"] and buffer.layout.control:
        peer.clear(buffer, "update")
    peer.release(buffer)


async def _answer_all(usual: Any, peer: Asked, buffer: Buffer) -> dict[str, Any]:
    await usual(peer, buffer)
    async with peer.operation(buffer):
        params = buffer.layout.params("read")
        return {name: peer.stored(buffer, "read", name) for name in params}


async def _answer_unsigned(usual: Any, peer: Asked, buffer: Buffer) -> dict[str, Any]:
    signed = {param.name for param in buffer.peripheral.params if param.type == "int8"}
    return {
        name: [number % 256 for number in value] if name in signed else value
        for name, value in (await usual(peer, buffer)).items()
    }


ANY = Table(Peer)
ANY["operations.mutex"] = {
    "no-mutex": Fault("Ignores the mutex.", skip("acquire"), skip("release")),
}

FAULTS = Table(Asked)

FAULTS["operations.mutex"] = {
    "updates-unlocked": Subtle(
        "Reads updates without the mutex.", instead("get_update", _take_unlocked)
    ),
}

FAULTS["operations.validity"] = {
    "validity-ignored": Fault("Ignores the valid bit.", skip("check_valid")),
    "validity-remembered": Subtle(
        "Ignores the valid bit of a buffer that was valid before.",
        then("check_valid", _trust),
        skip("check_valid", _is_trusted),
    ),
    "update-on-invalid": Subtle(
        "Clears the Update bitmap of an invalid buffer, and then fails.",
        before("get_update", _clear_invalid),
    ),
}

FAULTS["operations.atomic"] = {
    "bits-from-before": Subtle(
        "Adds a bit to the bits that were set before it waited for the mutex.",
        before("acquire", _see_bits, SMART),
        before("mark", _restore_seen, SMART),
    ),
    "piecewise-updates": Subtle(
        "Reads updates one by one, and releases the mutex between two of them.",
        instead("get_update", lambda peer, buffer: read_one_by_one(peer, buffer, "update", "read")),
    ),
}

FAULTS["operations.nothing-else"] = {
    "updates-clear-reads": Subtle(
        "Clears the Read bitmap together with the Update bitmap.",
        then("get_update", locked(lambda peer, buffer: peer.clear(buffer, "read"))),
    ),
}

FAULTS["get-update.values"] = {
    "all-values-updated": Fault(
        "Answers all values of the read block, even unchanged ones.",
        Change("get_update", _answer_all),
    ),
    "zero-is-no-update": Subtle(
        "Omits parameters that have changed to false.",
        returning("get_update", lambda values: {n: v for n, v in values.items() if v is not False}),
    ),
    "updates-without-signs": Subtle(
        "Answers the bytes of a changed array as unsigned.", Change("get_update", _answer_unsigned)
    ),
}

FAULTS["get-update.clears"] = {
    "update-bits-kept": Fault("Does not clear the Update bitmap.", skip("clear", about("update"))),
    "last-update-bit-kept": Subtle(
        "Does not clear the bit of the sixteenth parameter in the Update bitmap.",
        keep_bits("update", 0x8000),
    ),
}


@fault("stamps-behind-the-mutex", violates="operations.mutex", subtle=True)
class StampsBehindTheMutex(Peer):
    """Updates the timestamp shortly after it has released the mutex."""

    unstamped = ""

    def stamp(self, buffer: Buffer, block: str) -> None:
        self.unstamped = block

    def release(self, buffer: Buffer) -> None:
        block, self.unstamped = self.unstamped, ""
        super().release(buffer)
        if block:
            time.sleep(0.0005)
            super().stamp(buffer, block)


@fault("impatient-after-a-second", violates="operations.mutex", subtle=True)
class ImpatientAfterASecond(Asked):
    """Continues without the mutex after waiting for one second."""

    def __init__(self, plan: Plan) -> None:
        super().__init__(plan)
        self.without: set[object] = set()

    async def acquire(self, buffer: Buffer) -> None:
        try:
            async with asyncio.timeout(1):
                await super().acquire(buffer)
        except TimeoutError:
            self.without.add(asyncio.current_task())

    def release(self, buffer: Buffer) -> None:
        if asyncio.current_task() in self.without:
            self.without.remove(asyncio.current_task())
        else:
            super().release(buffer)


@fault("kept-after-failures", violates="operations.mutex-released", subtle=True)
class KeptAfterFailures(Asked):
    """Does not release the mutex of an invalid buffer."""

    @contextlib.asynccontextmanager
    async def operation(self, buffer: Buffer) -> AsyncIterator[None]:
        await self.acquire(buffer)
        self.check_valid(buffer)
        try:
            yield
        finally:
            self.release(buffer)


@fault("validity-before-the-mutex", violates="operations.validity", subtle=True)
class ValidityBeforeTheMutex(Asked):
    """Reads the valid bit only before it locks the mutex."""

    @contextlib.asynccontextmanager
    async def operation(self, buffer: Buffer) -> AsyncIterator[None]:
        self.check_valid(buffer)
        await self.acquire(buffer)
        try:
            yield
        finally:
            self.release(buffer)
