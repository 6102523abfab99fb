"""Faults of the receiver about its buffers."""

import asyncio
from typing import Any

from conformance.runtime.memory.layout import Layout
from mocks.deviations import Fault, Subtle, Table, fault
from mocks.runtime.gamepad_receiver import Receiver
from mocks.runtime.memory.changes import HELD, LATER_BUFFER, move, remake
from mocks.runtime.memory.peer import Buffer
from mocks.steps import (
    Change,
    Function,
    alter,
    before,
    every,
    note,
    noted,
    only,
    put,
    returning,
    skip,
    then,
    wait_for_ever,
)

Found = list[dict[str, Any]]


def _invalidate_missing(usual: Function, receiver: Receiver, data: bytes) -> Found:
    found: Found = usual(receiver, data)
    for pads in found:
        for index in receiver.pads.keys() - pads.keys():
            receiver.put_valid(receiver.pads[index], False)
    return found


def _move_timestamp(layout: Layout) -> Layout:
    axis = layout.fields.get("read.params.lx")
    return move(layout, "read.timestamp", offset=axis.offset) if axis else layout


async def _stamp_all(receiver: Receiver, buffer: Buffer, values: dict[str, Any]) -> None:
    for other in receiver.pads.values():
        async with receiver.operation(other):
            receiver.stamp(other, "read")


async def _set_all(usual: Function, receiver: Receiver, buffer: Buffer, values: Any) -> Any:
    for other in receiver.pads.values():
        await usual(receiver, other, values)
    return await usual(receiver, buffer, values)


def _stamp_both(usual: Function, receiver: Receiver, buffer: Buffer, block: str) -> None:
    usual(receiver, buffer, "read")
    usual(receiver, buffer, "write")


def _count_in_valid(_: Receiver, buffer: Buffer, block: str) -> None:
    buffer["valid"] = buffer["valid"] % 100 + 1


def _remake(receiver: Receiver, index: str) -> None:
    remake(receiver, receiver.pads.pop(index))


def _remake_without_pads(usual: Function, receiver: Receiver, data: bytes) -> Found:
    found: Found = usual(receiver, data)
    for index in [*receiver.pads] if found == [{}] else ():
        _remake(receiver, index)
    return found


FAULTS = Table(Receiver)

FAULTS["lifecycle.created-valid"] = {
    "gone-for-good": Subtle(
        "Clears the valid bit of a missing gamepad, and never sets it again.",
        Change("messages", _invalidate_missing),
        skip("check_valid"),
    ),
    "at-rest-is-none": Subtle(
        "Does not connect a gamepad before a joystick is moved or a button is pressed.",
        only("play", lambda receiver, index, pad: index in receiver.pads or any(pad.values())),
    ),
    "invalid-at-first": Fault("Never sets the valid bit.", skip("put_valid"), skip("check_valid")),
    "second-is-invalid": Subtle(
        "Sets only the valid bit of the first buffer.",
        alter("put_valid", lambda _, buffer, valid: (buffer, False), LATER_BUFFER),
        skip("check_valid"),
    ),
}

FAULTS["buffers.shared-memory"] = {
    "time-beside-an-axis": Fault(
        "Stores the timestamp at the position of an axis.", returning("layout", _move_timestamp)
    ),
}

FAULTS["buffers.one-each"] = {
    "buttons-for-all": Subtle(
        "Updates the timestamps of all gamepads when one has new input.",
        before("set_data", _stamp_all),
    ),
    "all-the-same": Fault(
        "Writes the input of any gamepad to the buffers of all.", Change("set_data", _set_all)
    ),
}

FAULTS["operations.nothing-else"] = {
    "write-block-stamped": Subtle(
        "Updates the timestamps of both blocks.", Change("stamp", _stamp_both)
    ),
    "valid-counts": Fault(
        "Counts messages in the byte of the valid bit.", then("stamp", _count_in_valid)
    ),
}

FAULTS["format.mutex"] = {
    "waits-for-ever": Subtle(
        "Hangs after it has had to wait for the mutex, as with a private mutex.",
        before("acquire", wait_for_ever, HELD),
    ),
    "second-waits-for-ever": Subtle(
        "Hangs after waiting for the mutex of any buffer except the first.",
        before("acquire", wait_for_ever, LATER_BUFFER & HELD),
    ),
}

FAULTS["operations.mutex-released"] = {
    "kept-after-clamping": Fault(
        "Does not release the mutex of a buffer after a value was clamped.",
        then("warn", note("clamped")),
        skip("release", noted("clamped")),
        then("release", put("clamped", False)),
    ),
    "kept-without-axes": Subtle(
        "Does not release the mutex after input without axes.",
        then(
            "play",
            lambda receiver, index, pad: receiver.acquire(receiver.pads[index]),
            lambda _, index, pad: "lx" not in pad,
        ),
    ),
}

FAULTS["lifecycle.kept"] = {
    "made-again": Fault(
        "Creates a buffer again at every tenth message.",
        before("pad", _remake, every(10) & (lambda receiver, index: index in receiver.pads)),
    ),
    "made-again-after-absence": Subtle(
        "Creates all buffers again after a message without gamepads.",
        Change("messages", _remake_without_pads),
    ),
}

FAULTS["lifecycle.removed-at-exit"] = {
    "first-left-at-exit": Subtle(
        "Leaves the buffers of all gamepads except the last.",
        only("unlink", lambda receiver, buffer: buffer is [*receiver.buffers.values()][-1]),
    ),
}


@fault("impatient", violates="operations.mutex", subtle=True)
class Impatient(Receiver):
    """Continues without the mutex after 20 ms."""

    has = True

    async def acquire(self, buffer: Buffer) -> None:
        for _ in range(20):
            self.has = buffer.mapped.trylock(buffer.layout["mutex"].offset)
            if self.has:
                return
            await asyncio.sleep(0.001)

    def release(self, buffer: Buffer) -> None:
        if self.has:
            super().release(buffer)
