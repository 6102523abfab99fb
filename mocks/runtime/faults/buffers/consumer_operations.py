"""Faults of the consumer about all its operations."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping
from typing import Any

from conformance.runtime.memory.catalog import INTEGER
from conformance.runtime.memory.layout import Field
from mocks.deviations import fault
from mocks.runtime.buffer_consumer import Consumer
from mocks.runtime.memory.mapped import FOLDER, Mapped
from mocks.runtime.memory.peer import Buffer
from mocks.upper_tester import Warned


@fault("marks-before-the-mutex", violates="operations.mutex", subtle=True)
class MarksBeforeTheMutex(Consumer):
    """Sets the bit of a parameter before it locks the mutex."""

    async def set_value(self, buffer: Buffer, name: str, value: Any) -> Warned:
        if buffer.peripheral[name].writeable:
            self.mark(buffer, "write", [name])
        return await super().set_value(buffer, name, value)


@fault("get-value-unlocked", violates="operations.mutex", subtle=True)
class GetValueUnlocked(Consumer):
    """Reads a value without the mutex."""

    async def get_value(self, buffer: Buffer, name: str) -> Warned:
        self.check_valid(buffer)
        if not buffer.peripheral[name].readable:
            return self.refuse(f"{name} of {buffer.peripheral.name} cannot be read")
        return Warned(self.value(buffer, name), [])


@fault("kept-after-warnings", violates="operations.mutex-released", subtle=True)
class KeptAfterWarnings(Consumer):
    """Locks the mutex before it clamps, and does not release it after a failure."""

    async def set_value(self, buffer: Buffer, name: str, value: Any) -> Warned:
        param = buffer.peripheral[name]
        if param.writeable:
            await self.acquire(buffer)
            buffer.param("write", name).encode(self.clamp(param, value, []))
            self.release(buffer)
        return await super().set_value(buffer, name, value)


@fault("writes-to-invalid", violates="operations.validity", subtle=True)
class WritesToInvalid(Consumer):
    """Writes to an invalid buffer without a control block, and then fails."""

    async def set_value(self, buffer: Buffer, name: str, value: Any) -> Warned:
        await self.acquire(buffer)
        if not buffer["valid"] and not buffer.layout.control:
            field = buffer.param("write", name)
            self.put(buffer, field, field.encode(value))
        self.release(buffer)
        return await super().set_value(buffer, name, value)


@fault("bit-in-a-second-step", violates="operations.atomic", subtle=True)
class BitInASecondStep(Consumer):
    """Releases the mutex between writing the value and setting its bit."""

    async def set_value(self, buffer: Buffer, name: str, value: Any) -> Warned:
        param = buffer.peripheral[name]
        warnings: list[str] = []
        if not param.writeable:
            return await super().set_value(buffer, name, value)
        field = buffer.param("write", name)
        raw = field.encode(self.clamp(param, value, warnings))
        async with self.operation(buffer):
            self.put(buffer, field, raw)
        await asyncio.sleep(0.0005)
        async with self.operation(buffer):
            self.mark(buffer, "write", [name])
            self.stamp(buffer, "write")
        return Warned(None, warnings)


@fault("bit-after-the-release", violates="operations.atomic", subtle=True)
class BitAfterTheRelease(Consumer):
    """Sets the bit of a parameter directly after it has released the mutex."""

    def mark(self, buffer: Buffer, bitmap: str, names: Any) -> None:
        self.late = buffer, names

    def release(self, buffer: Buffer) -> None:
        super().release(buffer)
        if late := self.__dict__.pop("late", None):
            super().mark(late[0], "write", late[1])


@fault("refused-value-spoils-the-next", violates="robustness.odd-operations", subtle=True)
class RefusedValueSpoilsTheNext(Consumer):
    """Stores 0 instead of the next value after it has refused a value."""

    refused = False

    async def set_value(self, buffer: Buffer, name: str, value: Any) -> Warned:
        if self.refused and buffer.peripheral[name].kind == INTEGER:
            value, self.refused = 0, False
        try:
            return await super().set_value(buffer, name, value)
        except (TypeError, ValueError):
            self.refused = True
            raise


@fault("reads-by-halves", violates="operations.atomic")
class ReadsByHalves(Consumer):
    """Releases the mutex between reading two elements of an array."""

    async def get_value(self, buffer: Buffer, name: str) -> Warned:
        answer = await super().get_value(buffer, name)
        if isinstance(answer.result, list):
            values = answer.result[:1]
            for index in range(1, len(answer.result)):
                await asyncio.sleep(0.0002)
                async with self.operation(buffer):
                    values.append(self.value(buffer, name)[index])
            return Warned(values, [])
        return answer


@fault("reading-stamps", violates="operations.nothing-else")
class ReadingStamps(Consumer):
    """Updates the timestamp of the read block when it reads."""

    async def get_value(self, buffer: Buffer, name: str) -> Warned:
        answer = await super().get_value(buffer, name)
        if answer.result is not None:
            async with self.operation(buffer):
                self.stamp(buffer, "read")
        return answer


@fault("four-bytes-at-once", violates="operations.nothing-else", subtle=True)
class FourBytesAtOnce(Consumer):
    """Writes a value of 16 bits as a word of 32 bits."""

    def put(self, buffer: Buffer, field: Field, raw: bytes) -> None:
        super().put(buffer, field, raw)
        if len(raw) == 2:
            buffer.mapped.data[field.offset + 2 : field.offset + 4] = b"\0\0"


@fault("writes-the-sensed", violates="operations.nothing-else", subtle=True)
class WritesTheSensed(Consumer):
    """Without a device_id, also writes a value to the read block."""

    def put(self, buffer: Buffer, field: Field, raw: bytes) -> None:
        super().put(buffer, field, raw)
        name = field.name.removeprefix("write.params.")
        if not buffer.layout.control and name in buffer.layout.params("read"):
            super().put(buffer, buffer.param("read", name), raw)


@fault("ends-at-odd-operations", violates="robustness.odd-operations")
class EndsAtOddOperations(Consumer):
    """Exits if a parameter does not exist."""

    async def get_value(self, buffer: Buffer, name: str) -> Warned:
        if all(param.name != name for param in buffer.peripheral.params):
            raise SystemExit(1)
        return await super().get_value(buffer, name)


@fault("short-arrays-repeated", violates="robustness.odd-operations", subtle=True)
class ShortArraysRepeated(Consumer):
    """Repeats the elements of a short array until the whole array is filled."""

    async def set_value(self, buffer: Buffer, name: str, value: Any) -> Warned:
        if isinstance(value, list) and value:
            count = max(buffer.peripheral[name].count or 0, len(value))
            value = (value * count)[:count]
        return await super().set_value(buffer, name, value)


def _short() -> list[str]:
    """Return the names of files that are too short to be buffers."""
    files = [path for path in FOLDER.glob("rt-arm-*") if path.is_file()]
    return sorted(path.name for path in files if path.stat().st_size < 96)


@fault("foreign-objects-end-it", violates="robustness.foreign-objects")
class ForeignObjectsEndIt(Consumer):
    """Fails to list buffers if any object is too short."""

    async def list(self) -> list[str]:
        if short := _short():
            raise ValueError(f"{short[0]} is not a buffer")
        return await super().list()


@fault("lists-up-to-an-odd-one", violates="robustness.foreign-objects", subtle=True)
class ListsUpToAnOddOne(Consumer):
    """Ends its list at the first object that is too short."""

    async def list(self) -> list[str]:
        short = _short()
        return [name for name in await super().list() if not short or name < short[0]]


@fault("folders-end-it", violates="robustness.foreign-objects", subtle=True)
class FoldersEndIt(Consumer):
    """Exits if a folder has the name of a buffer."""

    def buffer(self, args: Mapping[str, Any]) -> Buffer:
        if (FOLDER / args["buffer"][:255]).is_dir() and args["buffer"]:
            raise SystemExit(1)
        return super().buffer(args)


@fault("dies-with-the-mutex", violates="lifecycle.dies-without-mutex")
class DiesWithTheMutex(Consumer):
    """Locks the mutexes of its buffers at exit."""

    def close(self) -> None:
        for buffer in self.buffers.values():
            buffer.mapped.trylock(buffer.layout["mutex"].offset)
        super().close()


@fault("ends-in-the-midst", violates="lifecycle.dies-without-mutex", subtle=True)
class EndsInTheMidst(Consumer):
    """Does not release the mutex if it is shut down during an operation."""

    @contextlib.asynccontextmanager
    async def operation(self, buffer: Buffer) -> AsyncIterator[None]:
        await self.acquire(buffer)
        try:
            self.check_valid(buffer)
            yield
            await asyncio.sleep(0.001)
        except Exception:
            self.release(buffer)
            raise
        self.release(buffer)


class _Burglar(Consumer):
    """Breaks a mutex that is not free immediately, and then waits for it."""

    async def acquire(self, buffer: Buffer) -> None:
        at = buffer.layout["mutex"].offset
        for _ in range(5):
            if buffer.mapped.trylock(at):
                return
            await asyncio.sleep(0.001)
        self.break_open(buffer.mapped, at)
        await super().acquire(buffer)

    def break_open(self, mapped: Mapped, at: int) -> None:
        raise NotImplementedError


@fault("mutex-written-over", violates="operations.mutex", subtle=True)
class MutexWrittenOver(_Burglar):
    """Initialises the mutex again if it is not free immediately."""

    def break_open(self, mapped: Mapped, at: int) -> None:
        mapped.initialise(at)


@fault("held-mutex-freed", violates="operations.mutex", subtle=True)
class HeldMutexFreed(_Burglar):
    """Unlocks a mutex that another process holds, and then fails."""

    def break_open(self, mapped: Mapped, at: int) -> None:
        mapped.data[at : at + 4] = bytes(4)
        raise ValueError("the mutex was held for too long")
