"""Faults that any owner of buffers can have, including a gamepad receiver."""

import os

from mocks.deviations import fault
from mocks.runtime.memory.mapped import FOLDER
from mocks.runtime.memory.owner import BufferOwner
from mocks.runtime.memory.peer import Buffer


@fault("no-such-object", violates="buffers.shared-memory")
class NoSuchObject(BufferOwner):
    """Unlinks an object immediately after mapping it."""

    def create(self, name: str, type_: str) -> Buffer:
        buffer = super().create(name, type_)
        if type_ != "arm":
            buffer.mapped.unlink()
        return buffer


@fault("shorter-than-told", violates="buffers.shared-memory", subtle=True)
class ShorterThanTold(BufferOwner):
    """Creates an object that is too short for its last fields, except for Smart Devices."""

    def create(self, name: str, type_: str) -> Buffer:
        buffer = super().create(name, type_)
        if not buffer.layout.control:
            os.truncate(FOLDER / name, buffer.layout.size - 8)
        return buffer


@fault("no-mutex-there", violates="format.mutex")
class NoMutexThere(BufferOwner):
    """Declares a wrong position of the mutex."""

    def create(self, name: str, type_: str) -> Buffer:
        buffer = super().create(name, type_)
        place = buffer.layout["mutex"]
        kind = place.offset + 16  # position of the type in glibc's mutex
        buffer.mapped.data[kind : kind + 4] = b"\xff\xff\xff\x7f"
        return buffer

    async def acquire(self, buffer: Buffer) -> None:
        pass

    def release(self, buffer: Buffer) -> None:
        pass


@fault("polled-private-mutex", violates="format.mutex", subtle=True)
class PolledPrivateMutex(BufferOwner):
    """Uses a private mutex, and polls it instead of waiting."""

    def create(self, name: str, type_: str) -> Buffer:
        buffer = super().create(name, type_)
        kind = buffer.layout["mutex"].offset + 16  # position of the type in glibc's mutex
        buffer.mapped.data[kind : kind + 4] = bytes(4)
        return buffer


@fault("left-at-exit", violates="lifecycle.removed-at-exit")
class LeftAtExit(BufferOwner):
    """Does not unlink its buffers at exit."""

    def unlink(self, buffer: Buffer) -> None:
        pass
