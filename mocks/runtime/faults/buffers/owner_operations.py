"""Faults of the owner about all its operations."""

import asyncio
from collections.abc import Mapping
from typing import Any

from mocks.deviations import fault
from mocks.runtime.buffer_owner import Owner
from mocks.runtime.faults.buffers.operations import read_one_by_one
from mocks.runtime.memory.peer import Buffer


@fault("get-read-unlocked", violates="operations.mutex", subtle=True)
class GetReadUnlocked(Owner):
    """Reads and clears the Read bitmap without the mutex."""

    async def get_read(self, buffer: Buffer) -> list[str]:
        self.check_valid(buffer)
        return self.take(buffer, "read")


@fault("set-valid-unlocked", violates="operations.mutex", subtle=True)
class SetValidUnlocked(Owner):
    """Sets the valid bit without the mutex."""

    async def set_valid(self, buffer: Buffer, valid: bool) -> None:
        self.put_valid(buffer, valid)


@fault("disconnect-unlocked", violates="operations.mutex", subtle=True)
class DisconnectUnlocked(Owner):
    """Clears the valid bit without the mutex when a peripheral disconnects."""

    async def disconnect(self, type_: str, uid: str) -> None:
        buffer = self.buffers.get(self.name(type_, uid))
        if buffer is not None:
            self.put_valid(buffer, False)


@fault("bits-of-before-cleared", violates="operations.mutex", subtle=True)
class BitsOfBeforeCleared(Owner):
    """Clears the Write bitmap without the mutex when a peripheral reconnects."""

    async def connect(self, type_: str, uid: str) -> Buffer:
        known = self.buffers.get(self.name(type_, uid))
        if known is not None and known.layout.control:
            self.clear(known, "write")
        return await super().connect(type_, uid)


@fault("kept-after-unknown", violates="operations.mutex-released", subtle=True)
class KeptAfterUnknown(Owner):
    """Locks the mutex before it checks parameters, and does not release it after a failure."""

    async def set_read(self, buffer: Buffer, params: list[str]) -> None:
        await self.acquire(buffer)
        for name in params:
            buffer.param("read", name)
        self.release(buffer)
        await super().set_read(buffer, params)


@fault("kept-without-control", violates="operations.mutex-released", subtle=True)
class KeptWithoutControl(Owner):
    """Does not release the mutex of a buffer without a control block."""

    kept: Buffer | None = None

    def take(self, buffer: Buffer, bitmap: str) -> list[str]:
        if not buffer.layout.control:
            self.kept = buffer
        return super().take(buffer, bitmap)

    def release(self, buffer: Buffer) -> None:
        if buffer is not self.kept:
            super().release(buffer)


@fault("set-sub-on-invalid", violates="operations.validity", subtle=True)
class SetSubOnInvalid(Owner):
    """Sets the subscription of an invalid buffer."""

    async def set_sub(self, buffer: Buffer, uid: int, params: list[str], delay: float) -> None:
        valid, self.check_valid = self.check_valid, lambda buffer: None  # type: ignore[method-assign]
        try:
            await super().set_sub(buffer, uid, params, delay)
        finally:
            self.check_valid = valid  # type: ignore[method-assign]


@fault("answers-while-disconnected", violates="operations.validity", subtle=True)
class AnswersWhileDisconnected(Owner):
    """Answers the bitmaps of a disconnected peripheral, without clearing them."""

    gone: Buffer | None = None

    async def disconnect(self, type_: str, uid: str) -> None:
        await super().disconnect(type_, uid)
        self.gone = self.buffers[self.name(type_, uid)]

    async def get_read(self, buffer: Buffer) -> list[str]:
        if buffer is self.gone and not buffer["valid"]:
            return self.names(buffer.peripheral, buffer["control.read"])
        return await super().get_read(buffer)


@fault("cycles-while-invalid", violates="operations.validity", subtle=True)
class CyclesWhileInvalid(Owner):
    """Sends the values of an invalid buffer in a cycle."""

    async def cycle(self, buffer: Buffer) -> list[dict[str, Any]]:
        if buffer["valid"]:
            return await super().cycle(buffer)
        names = self.names(buffer.peripheral, buffer["control.write"])
        return [{"message": "DEV_WRITE", "values": dict.fromkeys(names, 0)}]


@fault("panels-while-invalid", violates="operations.validity", subtle=True)
class PanelsWhileInvalid(Owner):
    """Stores data in an invalid buffer without a control block."""

    def check_valid(self, buffer: Buffer) -> None:
        if buffer.layout.control:
            super().check_valid(buffer)


@fault("refused-data-come-later", violates="robustness.odd-operations", subtle=True)
class RefusedDataComeLater(Owner):
    """Stores the known part of refused data together with the next data."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.rest: dict[str, Any] = {}

    async def set_data(self, buffer: Buffer, values: dict[str, Any]) -> list[str]:
        known = buffer.layout.params("read")
        if unknown := values.keys() - known.keys():
            self.rest = {name: values[name] for name in values if name not in unknown}
        values, self.rest = ({**self.rest, **values}, {}) if not unknown else (values, self.rest)
        return await super().set_data(buffer, values)


@fault("piecewise", violates="operations.atomic")
class Piecewise(Owner):
    """Reads values one by one, and releases the mutex between two of them."""

    async def values(self, buffer: Buffer, bitmap: str, block: str) -> dict[str, Any]:
        return await read_one_by_one(self, buffer, bitmap, block)


@fault("clears-later", violates="operations.atomic", subtle=True)
class ClearsLater(Owner):
    """Reads all values at once, and clears the bitmap a moment later."""

    async def values(self, buffer: Buffer, bitmap: str, block: str) -> dict[str, Any]:
        async with self.operation(buffer):
            names = buffer.peripheral.names(buffer[f"control.{bitmap}"])
            values = {name: self.stored(buffer, block, name) for name in names}
        await asyncio.sleep(0.0005)
        async with self.operation(buffer):
            self.clear(buffer, bitmap)
        return values


@fault("clears-read-later", violates="operations.atomic", subtle=True)
class ClearsReadLater(Owner):
    """Clears the Read bitmap a moment after it has read it."""

    async def get_read(self, buffer: Buffer) -> list[str]:
        async with self.operation(buffer):
            names = self.names(buffer.peripheral, buffer["control.read"])
        await asyncio.sleep(0.0005)
        async with self.operation(buffer):
            self.clear(buffer, "read")
        return names


@fault("set-one-by-one", violates="operations.atomic", subtle=True)
class SetOneByOne(Owner):
    """Writes several parameters in separate operations."""

    async def set_data(self, buffer: Buffer, values: dict[str, Any]) -> list[str]:
        warnings: list[str] = []
        for name, value in values.items():
            warnings += await super().set_data(buffer, {name: value})
            await asyncio.sleep(0.0002)
        return warnings


@fault("bits-in-a-second-step", violates="operations.atomic", subtle=True)
class BitsInASecondStep(Owner):
    """Releases the mutex between writing the values and setting their bits."""

    def mark(self, buffer: Buffer, bitmap: str, names: Any) -> None:
        if bitmap != "update":
            super().mark(buffer, bitmap, names)

    async def set_data(self, buffer: Buffer, values: dict[str, Any]) -> list[str]:
        warnings = await super().set_data(buffer, values)
        await asyncio.sleep(0.0005)
        async with self.operation(buffer):
            super().mark(buffer, "update", values)
        return warnings


@fault("data-fill-the-block", violates="operations.nothing-else")
class DataFillTheBlock(Owner):
    """Sets all other values of the read block to zero."""

    async def set_data(self, buffer: Buffer, values: dict[str, Any]) -> list[str]:
        warnings = await super().set_data(buffer, values)
        async with self.operation(buffer):
            for name, field in buffer.layout.params("read").items():
                if name not in values:
                    buffer.mapped.data[field.offset : field.end] = bytes(field.size)
        return warnings


@fault("sub-clears-update", violates="operations.nothing-else", subtle=True)
class SubClearsUpdate(Owner):
    """Clears the Update bitmap when the subscription is set."""

    async def set_sub(self, buffer: Buffer, uid: int, params: list[str], delay: float) -> None:
        await super().set_sub(buffer, uid, params, delay)
        async with self.operation(buffer):
            self.clear(buffer, "update")


@fault("taking-is-a-write", violates="operations.nothing-else", subtle=True)
class TakingIsAWrite(Owner):
    """Updates the timestamp of the write block when its values are read."""

    async def get_write(self, buffer: Buffer) -> dict[str, Any]:
        values = await super().get_write(buffer)
        async with self.operation(buffer):
            self.stamp(buffer, "write")
        return values


@fault("ends-at-odd-operations", violates="robustness.odd-operations")
class EndsAtOddOperations(Owner):
    """Exits if a parameter does not exist."""

    async def set_read(self, buffer: Buffer, params: list[str]) -> None:
        for name in params:
            if name not in buffer.layout.params("read"):
                raise SystemExit(1)
        await super().set_read(buffer, params)


@fault("half-of-the-data", violates="robustness.odd-operations", subtle=True)
class HalfOfTheData(Owner):
    """Writes the known parameters before it fails because of an unknown one."""

    async def set_data(self, buffer: Buffer, values: dict[str, Any]) -> list[str]:
        known: Mapping[str, Any] = buffer.layout.params("read")
        if any(name not in known for name in values):
            await super().set_data(buffer, {n: v for n, v in values.items() if n in known})
        return await super().set_data(buffer, values)
