"""Faults that any owner of buffers can have, one of gamepads among them."""

import os

from mocks.deviations import fault
from mocks.runtime.memory.mapped import FOLDER
from mocks.runtime.memory.owning import Owning
from mocks.runtime.memory.peer import Buffer


@fault("no-such-object", violates="buffers.shared-memory")
class NoSuchObject(Owning):
    """Unlinks an object as soon as it has it mapped itself."""

    def create(self, name: str, type_: str) -> Buffer:
        buffer = super().create(name, type_)
        if type_ != "arm":
            buffer.mapped.unlink()
        return buffer


@fault("shorter-than-told", violates="buffers.shared-memory", subtle=True)
class ShorterThanTold(Owning):
    """Without a device_id, makes the object too short for its last fields."""

    def create(self, name: str, type_: str) -> Buffer:
        buffer = super().create(name, type_)
        if not buffer.layout.control:
            os.truncate(FOLDER / name, buffer.layout.size - 8)
        return buffer


@fault("no-mutex-there", violates="format.mutex")
class NoMutexThere(Owning):
    """Declares a wrong place of the mutex."""

    def create(self, name: str, type_: str) -> Buffer:
        buffer = super().create(name, type_)
        place = buffer.layout["mutex"]
        kind = place.offset + 16  # where glibc has it
        buffer.mapped.data[kind : kind + 4] = b"\xff\xff\xff\x7f"
        return buffer

    async def acquire(self, buffer: Buffer) -> None:
        pass

    def release(self, buffer: Buffer) -> None:
        pass


@fault("polled-private-mutex", violates="format.mutex", subtle=True)
class PolledPrivateMutex(Owning):
    """Has a mutex of its own process alone, and tries again and again instead of waiting."""

    def create(self, name: str, type_: str) -> Buffer:
        buffer = super().create(name, type_)
        kind = buffer.layout["mutex"].offset + 16  # where glibc has it
        buffer.mapped.data[kind : kind + 4] = bytes(4)
        return buffer


@fault("left-at-exit", violates="lifecycle.removed-at-exit")
class LeftAtExit(Owning):
    """Leaves its buffers behind."""

    def unlink(self, buffer: Buffer) -> None:
        pass
