"""Faults of the owner about the life of a buffer."""

import asyncio
import os
from typing import Any

from mocks.deviations import fault
from mocks.runtime.buffer_owner import Owner
from mocks.runtime.memory.mapped import FOLDER, Mapped
from mocks.runtime.memory.peer import Buffer


@fault("connect-again-recreates", violates="lifecycle.kept", subtle=True)
class ConnectAgainRecreates(Owner):
    """Creates a new buffer if a connected peripheral connects again."""

    async def connect(self, type_: str, uid: str) -> Buffer:
        name = self.name(type_, uid)
        if name in self.buffers and self.buffers[name]["valid"]:
            self.buffers[name] = self.create(name, type_)
        return await super().connect(type_, uid)


@fault("one-buffer-a-type", violates="buffers.one-each")
class OneBufferAType(Owner):
    """Uses one buffer for all peripherals of a type."""

    def name(self, type_: str, uid: str) -> str:
        return super().name(type_, "all")


@fault("short-uids", violates="buffers.one-each", subtle=True)
class ShortUids(Owner):
    """Names a buffer by its UID alone, without its type."""

    def name(self, type_: str, uid: str) -> str:
        return f"rt-{uid}-{os.getpid()}"


@fault("uids-of-32-bits", violates="buffers.one-each", subtle=True)
class UidsOf32Bits(Owner):
    """Uses only the lower 32 bits of a UID."""

    def name(self, type_: str, uid: str) -> str:
        return super().name(type_, str(int(uid) % 2**32))


@fault("uids-of-64-bits", violates="buffers.one-each", subtle=True)
class UidsOf64Bits(Owner):
    """Uses only the lower 64 bits of a UID."""

    def name(self, type_: str, uid: str) -> str:
        return super().name(type_, str(int(uid) % 2**64))


@fault("names-of-31-characters", violates="buffers.one-each", subtle=True)
class NamesOf31Characters(Owner):
    """Truncates the name of a buffer to 31 characters."""

    def name(self, type_: str, uid: str) -> str:
        return super().name(type_, uid)[:31]


@fault("only-if-new", violates="robustness.left-behind", subtle=True)
class OnlyIfNew(Owner):
    """Names a buffer by type and UID alone, and fails if the object exists."""

    def name(self, type_: str, uid: str) -> str:
        return f"rt-{type_}-{uid}"

    def create(self, name: str, type_: str) -> Buffer:
        if (FOLDER / name).exists():
            raise ValueError(f"{name} exists")
        return super().create(name, type_)


@fault("sixteen-peripherals", violates="buffers.many", subtle=True)
class SixteenPeripherals(Owner):
    """Refuses more than sixteen peripherals."""

    async def connect(self, type_: str, uid: str) -> Buffer:
        if len(self.buffers) == 16 and self.name(type_, uid) not in self.buffers:
            raise ValueError("there is no room for another peripheral")
        return await super().connect(type_, uid)


@fault("private-mutex", violates="format.mutex", subtle=True)
class PrivateMutex(Owner):
    """Hangs if the mutex is not free immediately, as with a private mutex."""

    async def acquire(self, buffer: Buffer) -> None:
        at = buffer.layout["mutex"].offset
        if not buffer.mapped.trylock(at):
            await asyncio.Event().wait()
        buffer.mapped.unlock(at)
        await super().acquire(buffer)


@fault("sleeps-past-the-release", violates="format.mutex", subtle=True)
class SleepsPastTheRelease(Owner):
    """Fails after three seconds if the mutex is not free immediately."""

    async def set_data(self, buffer: Buffer, values: dict[str, Any]) -> list[str]:
        at = buffer.layout["mutex"].offset
        if not buffer.mapped.trylock(at):
            await asyncio.sleep(3)
            raise ValueError(f"the mutex of {buffer.name} was not free in time")
        buffer.mapped.unlock(at)
        return await super().set_data(buffer, values)


@fault("second-mutex-private", violates="format.mutex", subtle=True)
class SecondMutexPrivate(PrivateMutex):
    """Hangs if the mutex of any buffer except the first is not free immediately."""

    async def acquire(self, buffer: Buffer) -> None:
        if buffer is next(iter(self.buffers.values()), buffer):
            await Owner.acquire(self, buffer)
        else:
            await super().acquire(buffer)


@fault("valid-with-the-first-data", violates="lifecycle.created-valid")
class ValidWithTheFirstData(Owner):
    """Leaves a new buffer invalid until its peripheral connects again."""

    def create(self, name: str, type_: str) -> Buffer:
        self.fresh = name
        return super().create(name, type_)

    fresh = ""

    async def set_valid(self, buffer: Buffer, valid: bool) -> None:
        if self.fresh == buffer.name:
            self.fresh = ""
        else:
            await super().set_valid(buffer, valid)


@fault("only-smart-devices-valid", violates="lifecycle.created-valid", subtle=True)
class OnlySmartDevicesValid(Owner):
    """Clears the valid bit at connect if the peripheral is not a Smart Device."""

    async def connect(self, type_: str, uid: str) -> Buffer:
        buffer = await super().connect(type_, uid)
        await self.set_valid(buffer, buffer.layout.control)
        return buffer


@fault("valid-for-ever", violates="lifecycle.disconnect")
class ValidForEver(Owner):
    """Does not clear the valid bit when a peripheral disconnects."""

    async def disconnect(self, type_: str, uid: str) -> None:
        pass


@fault("tired-of-connecting", violates="lifecycle.disconnect", subtle=True)
class TiredOfConnecting(Owner):
    """Ignores connects after the ninetieth."""

    connects = 0

    async def connect(self, type_: str, uid: str) -> Buffer:
        self.connects += 1
        if self.connects > 90:
            return self.buffers[self.name(type_, uid)]
        return await super().connect(type_, uid)


class _Remaking(Owner):
    """Unlinks a buffer, so that it is created again later."""

    def remake(self, buffer: Buffer) -> None:
        buffer.mapped.unlink()
        del self.buffers[buffer.name]
        buffer.mapped.close()


@fault("made-again", violates="lifecycle.kept")
class MadeAgain(_Remaking):
    """Unlinks a buffer when its peripheral disconnects."""

    async def disconnect(self, type_: str, uid: str) -> None:
        await super().disconnect(type_, uid)
        self.remake(self.buffers[self.name(type_, uid)])


@fault("made-again-after-50", violates="lifecycle.kept", subtle=True)
class MadeAgainAfter50(_Remaking):
    """Creates a buffer again at the fiftieth connect."""

    connects = 0

    async def connect(self, type_: str, uid: str) -> Buffer:
        self.connects += 1
        if self.connects == 50:
            self.remake(self.buffers[self.name(type_, uid)])
        return await super().connect(type_, uid)


@fault("place-taken-meanwhile", violates="lifecycle.kept", subtle=True)
class PlaceTakenMeanwhile(_Remaking):
    """Unlinks all invalid buffers when a new peripheral connects."""

    async def connect(self, type_: str, uid: str) -> Buffer:
        if self.name(type_, uid) not in self.buffers:
            for buffer in [buffer for buffer in self.buffers.values() if not buffer["valid"]]:
                self.remake(buffer)
        return await super().connect(type_, uid)


@fault("cleared-when-back", violates="lifecycle.views-stay", subtle=True)
class ClearedWhenBack(Owner):
    """Sets the read block to zero when a peripheral disconnects."""

    async def disconnect(self, type_: str, uid: str) -> None:
        await super().disconnect(type_, uid)
        buffer = self.buffers[self.name(type_, uid)]
        for field in buffer.layout.params("read").values():
            buffer.mapped.data[field.offset : field.end] = bytes(field.size)


@fault("other-memory-when-back", violates="lifecycle.views-stay", company=4)
class OtherMemoryWhenBack(Owner):
    """Uses a private copy of the buffer after a peripheral reconnects."""

    async def disconnect(self, type_: str, uid: str) -> None:
        await super().disconnect(type_, uid)
        name = self.name(type_, uid)
        buffer = self.buffers[name]
        copy = Mapped.create(f"{name}-copy", buffer.layout.size)
        copy.unlink()
        copy.data[:] = buffer.mapped.data[: buffer.layout.size]
        self.buffers[name] = Buffer(buffer.peripheral, buffer.layout, copy)
        self.buffers[f"{name}-old"] = buffer


@fault("invalid-left-at-exit", violates="lifecycle.removed-at-exit", subtle=True)
class InvalidLeftAtExit(Owner):
    """Leaves the buffers of disconnected peripherals at exit."""

    def unlink(self, buffer: Buffer) -> None:
        if buffer["valid"]:
            super().unlink(buffer)
