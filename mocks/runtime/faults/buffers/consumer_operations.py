"""Faults of the consumer about all its operations."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Any

from conformance.runtime.memory.catalog import INTEGER
from conformance.runtime.memory.layout import Field
from mocks.deviations import Fault, Subtle, Table, fault
from mocks.runtime.buffer_consumer import Consumer
from mocks.runtime.memory.changes import accessible, locked
from mocks.runtime.memory.mapped import FOLDER, Mapped
from mocks.runtime.memory.peer import Buffer
from mocks.steps import Change, Function, alter, before, fail, instead, returning, then
from mocks.upper_tester import Warned

WRITEABLE = accessible("writeable")


def _get_unlocked(consumer: Consumer, buffer: Buffer, name: str) -> Warned:
    consumer.check_valid(buffer)
    if not buffer.peripheral[name].readable:
        return consumer.refuse(f"{name} of {buffer.peripheral.name} cannot be read")
    return Warned(consumer.value(buffer, name), [])


def _destroy(consumer: Consumer, buffer: Buffer, *rest: Any) -> None:
    """Do as glibc's pthread_mutex_destroy, which makes the type of the mutex invalid."""
    at = buffer.layout["mutex"].offset + 16
    buffer.mapped.data[at : at + 4] = b"\xff" * 4


async def _clamp_locked(consumer: Consumer, buffer: Buffer, name: str, value: Any) -> None:
    await consumer.acquire(buffer)
    buffer.param("write", name).encode(consumer.clamp(buffer.peripheral[name], value, []))
    consumer.release(buffer)


async def _acquire_valid(usual: Function, consumer: Consumer, buffer: Buffer) -> None:
    await usual(consumer, buffer)
    while not buffer["valid"]:
        consumer.release(buffer)
        await asyncio.sleep(0.01)
        await usual(consumer, buffer)


async def _write_to_invalid(consumer: Consumer, buffer: Buffer, name: str, value: Any) -> None:
    await consumer.acquire(buffer)
    if not buffer["valid"] and not buffer.layout.control:
        field = buffer.param("write", name)
        consumer.put(buffer, field, field.encode(value))
    consumer.release(buffer)


async def _set_in_two_steps(consumer: Consumer, buffer: Buffer, name: str, value: Any) -> Warned:
    warnings: list[str] = []
    field = buffer.param("write", name)
    raw = field.encode(consumer.clamp(buffer.peripheral[name], value, warnings))
    async with consumer.operation(buffer):
        consumer.put(buffer, field, raw)
    await asyncio.sleep(0.0005)
    async with consumer.operation(buffer):
        consumer.mark(buffer, "write", [name])
        consumer.stamp(buffer, "write")
    return Warned(None, warnings)


async def _get_in_two_steps(consumer: Consumer, buffer: Buffer, name: str) -> Warned:
    async with consumer.operation(buffer):
        pass
    await asyncio.sleep(0.001)
    await consumer.acquire(buffer)
    try:
        return Warned(consumer.value(buffer, name), [])
    finally:
        consumer.release(buffer)


async def _get_by_halves(usual: Function, consumer: Consumer, buffer: Buffer, name: str) -> Any:
    answer = await usual(consumer, buffer, name)
    if not isinstance(answer.result, list):
        return answer
    values = answer.result[:1]
    for index in range(1, len(answer.result)):
        await asyncio.sleep(0.0002)
        async with consumer.operation(buffer):
            values.append(consumer.value(buffer, name)[index])
    return Warned(values, [])


def _put_next_bytes(_: Consumer, buffer: Buffer, field: Field, raw: bytes) -> None:
    buffer.mapped.data[field.end : field.end + 2] = b"\0\0"


def _put_sensed(_: Consumer, buffer: Buffer, field: Field, raw: bytes) -> None:
    name = field.name.removeprefix("write.params.")
    if not buffer.layout.control and name in buffer.layout.params("read"):
        sensed = buffer.param("read", name)
        buffer.mapped.data[sensed.offset : sensed.end] = raw


def _repeated(_: Consumer, buffer: Buffer, name: str, value: Any) -> Any:
    """Fill the whole array of a parameter with the elements of a short array."""
    if isinstance(value, list) and value:
        count = max(buffer.peripheral[name].count or 0, len(value))
        value = (value * count)[:count]
    return buffer, name, value


def _short() -> list[str]:
    """Return the names of files that are too short to be buffers."""
    files = [path for path in FOLDER.glob("rt-arm-*") if path.is_file()]
    return sorted(path.name for path in files if path.stat().st_size < 96)


def _up_to_short(names: list[str]) -> list[str]:
    short = _short()
    return [name for name in names if not short or name < short[0]]


def _lock_all(consumer: Consumer) -> None:
    for buffer in consumer.buffers.values():
        buffer.mapped.trylock(buffer.layout["mutex"].offset)


def _break_open(deed: Callable[[Mapped, int], None]) -> Change:
    """Break a mutex that is not free within 5 ms, and then wait for it."""

    async def acquire(usual: Function, consumer: Consumer, buffer: Buffer) -> None:
        at = buffer.layout["mutex"].offset
        for _ in range(5):
            if buffer.mapped.trylock(at):
                return
            await asyncio.sleep(0.001)
        deed(buffer.mapped, at)
        await usual(consumer, buffer)

    return Change("acquire", acquire)


def _free(mapped: Mapped, at: int) -> None:
    mapped.data[at : at + 4] = bytes(4)
    raise ValueError("the mutex was held for too long")


FAULTS = Table(Consumer)

FAULTS["operations.mutex"] = {
    "marks-before-the-mutex": Subtle(
        "Sets the bit of a parameter before it locks the mutex.",
        before(
            "set_value",
            lambda consumer, buffer, name, value: consumer.mark(buffer, "write", [name]),
            WRITEABLE,
        ),
    ),
    "get-value-unlocked": Subtle(
        "Reads a value without the mutex.", instead("get_value", _get_unlocked)
    ),
    "mutex-written-over": Subtle(
        "Initialises the mutex again if it is not free immediately.",
        _break_open(lambda mapped, at: mapped.initialise(at)),
    ),
    "held-mutex-freed": Subtle(
        "Unlocks a mutex that another process holds, and then fails.", _break_open(_free)
    ),
    "mutex-destroyed": Subtle(
        "Destroys the mutex of a buffer after it has written a value.",
        then("set_value", _destroy, WRITEABLE),
    ),
}

FAULTS["operations.mutex-released"] = {
    "kept-after-warnings": Subtle(
        "Locks the mutex before it clamps, and does not release it after a failure.",
        before("set_value", _clamp_locked, WRITEABLE),
    ),
}

FAULTS["operations.validity"] = {
    "writes-to-invalid": Subtle(
        "Writes to an invalid buffer without a control block, and then fails.",
        before("set_value", _write_to_invalid),
    ),
    "valid-before-it-reads": Subtle(
        "Checks the valid bit, releases the mutex, and locks the mutex again to read.",
        instead("get_value", _get_in_two_steps, accessible("readable")),
    ),
    "waits-for-validity": Subtle(
        "Waits until an invalid buffer is valid again, instead of aborting.",
        Change("acquire", _acquire_valid),
    ),
}

FAULTS["operations.atomic"] = {
    "bit-in-a-second-step": Subtle(
        "Releases the mutex between writing the value and setting its bit.",
        instead("set_value", _set_in_two_steps, WRITEABLE),
    ),
    "reads-by-halves": Fault(
        "Releases the mutex between reading two elements of an array.",
        Change("get_value", _get_by_halves),
    ),
}

FAULTS["operations.nothing-else"] = {
    "reading-stamps": Fault(
        "Updates the timestamp of the read block when it reads.",
        then(
            "get_value",
            locked(lambda consumer, buffer, name: consumer.stamp(buffer, "read")),
            accessible("readable"),
        ),
    ),
    "four-bytes-at-once": Subtle(
        "Writes a value of 16 bits as a word of 32 bits.",
        then("put", _put_next_bytes, lambda _, buffer, field, raw: len(raw) == 2),
    ),
    "writes-the-sensed": Subtle(
        "Without a device_id, also writes a value to the read block.", then("put", _put_sensed)
    ),
}

FAULTS["robustness.odd-operations"] = {
    "ends-at-odd-operations": Fault(
        "Exits if a parameter does not exist.",
        before(
            "get_value",
            fail(SystemExit, 1),
            lambda _, buffer, name: all(param.name != name for param in buffer.peripheral.params),
        ),
    ),
    "short-arrays-repeated": Subtle(
        "Repeats the elements of a short array until the whole array is filled.",
        alter("set_value", _repeated),
    ),
}

FAULTS["robustness.foreign-objects"] = {
    "foreign-objects-end-it": Fault(
        "Fails to list buffers if any object is too short.",
        before("list", fail(ValueError, "an object is not a buffer"), lambda _: _short()),
    ),
    "lists-up-to-an-odd-one": Subtle(
        "Ends its list at the first object that is too short.", returning("list", _up_to_short)
    ),
    "folders-end-it": Subtle(
        "Exits if a folder has the name of a buffer.",
        before(
            "buffer",
            fail(SystemExit, 1),
            lambda _, args: args["buffer"] and (FOLDER / args["buffer"][:255]).is_dir(),
        ),
    ),
}

FAULTS["lifecycle.dies-without-mutex"] = {
    "dies-with-the-mutex": Fault(
        "Locks the mutexes of its buffers at exit.", before("close", _lock_all)
    ),
}


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
