"""Faults about all operations, and about get_update, which either role can offer."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from typing import Any

from conformance.runtime.memory.layout import Plan
from mocks.deviations import fault
from mocks.runtime.memory.peer import Asked, Buffer, Peer


class TimeOfAsking(Peer):
    """Writes timestamps of the time before it waited for the mutex."""

    asked = 0.0

    async def acquire(self, buffer: Buffer) -> None:
        self.asked = super().now()
        await super().acquire(buffer)

    def now(self) -> float:
        return self.asked


class FractionUnpadded(Peer):
    """Writes the microseconds of timestamps without leading zeros."""

    def now(self) -> float:
        seconds, microseconds = divmod(int(super().now() * 1e6), 10**6)
        return float(f"{seconds}.{microseconds}")


class TimeOfALook(Peer):
    """Reads the clock only every five seconds."""

    looked = 0.0

    def now(self) -> float:
        if (now := super().now()) > self.looked + 5.0:
            self.looked = now
        return self.looked


@fault("no-mutex", violates="operations.mutex")
class NoMutex(Peer):
    """Ignores the mutex."""

    async def acquire(self, buffer: Buffer) -> None:
        pass

    def release(self, buffer: Buffer) -> None:
        pass


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


@fault("bits-from-before", violates="operations.atomic", subtle=True)
class BitsFromBefore(Asked):
    """Adds a bit to the bits that were set before it waited for the mutex."""

    def __init__(self, plan: Plan) -> None:
        super().__init__(plan)
        self.seen: dict[str, int] = {}

    async def acquire(self, buffer: Buffer) -> None:
        if buffer.layout.control:
            self.seen = {each: buffer[f"control.{each}"] for each in ("write", "update")}
        await super().acquire(buffer)

    def mark(self, buffer: Buffer, bitmap: str, names: Any) -> None:
        if buffer.layout.control and bitmap in self.seen:
            buffer[f"control.{bitmap}"] = self.seen[bitmap]
        super().mark(buffer, bitmap, names)


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


@fault("validity-ignored", violates="operations.validity")
class ValidityIgnored(Asked):
    """Ignores the valid bit."""

    def check_valid(self, buffer: Buffer) -> None:
        pass


@fault("validity-remembered", violates="operations.validity", subtle=True)
class ValidityRemembered(Asked):
    """Ignores the valid bit of a buffer that was valid before."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.trusted: set[str] = set()

    def check_valid(self, buffer: Buffer) -> None:
        if buffer.name not in self.trusted:
            super().check_valid(buffer)
            self.trusted.add(buffer.name)


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


@fault("piecewise-updates", violates="operations.atomic", subtle=True)
class PiecewiseUpdates(Asked):
    """Reads updates one by one, and releases the mutex between two of them."""

    async def get_update(self, buffer: Buffer) -> dict[str, Any]:
        return await read_one_by_one(self, buffer, "update", "read")


@fault("updates-unlocked", violates="operations.mutex", subtle=True)
class UpdatesUnlocked(Asked):
    """Reads updates without the mutex."""

    async def get_update(self, buffer: Buffer) -> dict[str, Any]:
        self.check_valid(buffer)
        names = self.take(buffer, "update")
        return {name: self.stored(buffer, "read", name) for name in names}


@fault("update-on-invalid", violates="operations.validity", subtle=True)
class UpdateOnInvalid(Asked):
    """Clears the Update bitmap of an invalid buffer, and then fails."""

    async def get_update(self, buffer: Buffer) -> dict[str, Any]:
        await self.acquire(buffer)
        if not buffer["valid"] and buffer.layout.control:
            self.clear(buffer, "update")
        self.release(buffer)
        return await super().get_update(buffer)


@fault("updates-clear-reads", violates="operations.nothing-else", subtle=True)
class UpdatesClearReads(Asked):
    """Clears the Read bitmap together with the Update bitmap."""

    async def get_update(self, buffer: Buffer) -> dict[str, Any]:
        values = await super().get_update(buffer)
        async with self.operation(buffer):
            self.clear(buffer, "read")
        return values


@fault("all-values-updated", violates="get-update.values")
class AllValuesUpdated(Asked):
    """Answers all values of the read block, even unchanged ones."""

    async def get_update(self, buffer: Buffer) -> dict[str, Any]:
        await super().get_update(buffer)
        async with self.operation(buffer):
            params = buffer.layout.params("read")
            return {name: self.stored(buffer, "read", name) for name in params}


@fault("zero-is-no-update", violates="get-update.values", subtle=True)
class ZeroIsNoUpdate(Asked):
    """Omits parameters that have changed to false."""

    async def get_update(self, buffer: Buffer) -> dict[str, Any]:
        return {n: v for n, v in (await super().get_update(buffer)).items() if v is not False}


@fault("updates-without-signs", violates="get-update.values", subtle=True)
class UpdatesWithoutSigns(Asked):
    """Answers the bytes of a changed array as unsigned."""

    async def get_update(self, buffer: Buffer) -> dict[str, Any]:
        values = await super().get_update(buffer)
        signed = {param.name for param in buffer.peripheral.params if param.type == "int8"}
        return {
            name: [number % 256 for number in value] if name in signed else value
            for name, value in values.items()
        }


@fault("update-bits-kept", violates="get-update.clears")
class UpdateBitsKept(Asked):
    """Does not clear the Update bitmap."""

    def clear(self, buffer: Buffer, bitmap: str) -> None:
        if bitmap != "update":
            super().clear(buffer, bitmap)


@fault("last-update-bit-kept", violates="get-update.clears", subtle=True)
class LastUpdateBitKept(Asked):
    """Does not clear the bit of the sixteenth parameter in the Update bitmap."""

    def clear(self, buffer: Buffer, bitmap: str) -> None:
        kept = buffer["control.update"] & 0x8000
        super().clear(buffer, bitmap)
        if bitmap == "update":
            buffer["control.update"] = kept
