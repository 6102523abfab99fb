"""Faults that any owner of buffers can have, including a gamepad receiver."""

import os
from collections.abc import Callable

from mocks.deviations import Fault, Subtle, Table
from mocks.runtime.memory.changes import with_new
from mocks.runtime.memory.mapped import FOLDER
from mocks.runtime.memory.owner import BufferOwner
from mocks.runtime.memory.peer import Buffer
from mocks.steps import skip


def _shorten(buffer: Buffer) -> None:
    if not buffer.layout.control:
        os.truncate(FOLDER / buffer.name, buffer.layout.size - 8)


def _kind_of_mutex(kind: bytes) -> Callable[[Buffer], None]:
    """Write the type in glibc's mutex."""

    def write(buffer: Buffer) -> None:
        at = buffer.layout["mutex"].offset + 16
        buffer.mapped.data[at : at + 4] = kind

    return write


FAULTS = Table(BufferOwner)

FAULTS["buffers.shared-memory"] = {
    "no-such-object": Fault(
        "Unlinks an object immediately after mapping it.",
        with_new(lambda buffer: buffer.mapped.unlink(), lambda _, name, type_: type_ != "arm"),
    ),
    "shorter-than-told": Subtle(
        "Creates an object that is too short for its last fields, except for Smart Devices.",
        with_new(_shorten),
    ),
}

FAULTS["format.mutex"] = {
    "no-mutex-there": Fault(
        "Declares a wrong position of the mutex.",
        with_new(_kind_of_mutex(b"\xff\xff\xff\x7f")),
        skip("acquire"),
        skip("release"),
    ),
    "polled-private-mutex": Subtle(
        "Uses a private mutex, and polls it instead of waiting.", with_new(_kind_of_mutex(bytes(4)))
    ),
}

FAULTS["lifecycle.removed-at-exit"] = {
    "left-at-exit": Fault("Does not unlink its buffers at exit.", skip("unlink")),
}
