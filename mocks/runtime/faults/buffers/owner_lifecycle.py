"""Faults of the owner about the life of a buffer."""

import asyncio

from mocks.deviations import Fault, Subtle, Table
from mocks.runtime.buffer_owner import Owner
from mocks.runtime.memory.changes import HELD, LATER_BUFFER, SMART, VALID, buffer_of, remake
from mocks.runtime.memory.mapped import FOLDER, Mapped
from mocks.runtime.memory.peer import Buffer
from mocks.steps import (
    When,
    after,
    alter,
    before,
    fail,
    instead,
    note,
    noted,
    nth,
    only,
    put,
    returning,
    skip,
    then,
    wait_for_ever,
)

KNOWN = When(lambda owner, type_, uid: owner.name(type_, uid) in owner.buffers)
"""If the step is about a peripheral that was connected before."""

CONNECTED = KNOWN & (lambda owner, *named: buffer_of(owner, *named)["valid"])
"""If the step is about a connected peripheral."""


def _create_again(owner: Owner, type_: str, uid: str) -> None:
    name = owner.name(type_, uid)
    owner.buffers[name] = owner.create(name, type_)


async def _sleep_and_fail(owner: Owner, buffer: Buffer, *args: object) -> None:
    await asyncio.sleep(3)
    raise ValueError(f"the mutex of {buffer.name} was not free in time")


def _remake(owner: Owner, type_: str, uid: str) -> None:
    remake(owner, buffer_of(owner, type_, uid))


def _remake_invalid(owner: Owner, type_: str, uid: str) -> None:
    for buffer in [buffer for buffer in owner.buffers.values() if not buffer["valid"]]:
        remake(owner, buffer)


def _use_copy(owner: Owner, type_: str, uid: str) -> None:
    buffer = buffer_of(owner, type_, uid)
    copy = Mapped.create(f"{buffer.name}-copy", buffer.layout.size)
    copy.unlink()
    copy.data[:] = buffer.mapped.data[: buffer.layout.size]
    owner.buffers[buffer.name] = Buffer(buffer.peripheral, buffer.layout, copy)
    owner.buffers[f"{buffer.name}-old"] = buffer


FAULTS = Table(Owner)

FAULTS["buffers.one-each"] = {
    "one-buffer-a-type": Fault(
        "Uses one buffer for all peripherals of a type.",
        alter("name", lambda _, type_, uid: (type_, "all")),
    ),
    "uids-of-32-bits": Subtle(
        "Uses only the lower 32 bits of a UID.",
        alter("name", lambda _, type_, uid: (type_, str(int(uid) % 2**32))),
    ),
    "uids-of-64-bits": Subtle(
        "Uses only the lower 64 bits of a UID.",
        alter("name", lambda _, type_, uid: (type_, str(int(uid) % 2**64))),
    ),
    "names-of-31-characters": Subtle(
        "Truncates the name of a buffer to 31 characters.",
        returning("name", lambda name: name[:31]),
    ),
}

FAULTS["buffers.many"] = {
    "sixteen-peripherals": Subtle(
        "Refuses more than sixteen peripherals.",
        before(
            "connect",
            fail(ValueError, "there is no room for another peripheral"),
            ~KNOWN & (lambda owner, *_: len(owner.buffers) == 16),
        ),
    ),
}

FAULTS["format.control-widths"] = {
    "refuses-wide-uids": Subtle(
        "Refuses a peripheral with a UID of more than 64 bits.",
        before(
            "connect",
            fail(ValueError, "the UID is out of range"),
            lambda _, type_, uid: int(uid) >= 2**64,
        ),
    ),
}

FAULTS["robustness.left-behind"] = {
    "only-if-new": Subtle(
        "Names a buffer by type and UID alone, and fails if the object exists.",
        instead("name", lambda _, type_, uid: f"rt-{type_}-{uid}"),
        before(
            "create",
            fail(ValueError, "the object exists"),
            lambda _, name, type_: (FOLDER / name).exists(),
        ),
    ),
}

FAULTS["format.mutex"] = {
    "private-mutex": Subtle(
        "Hangs if the mutex is not free immediately, as with a private mutex.",
        before("acquire", wait_for_ever, HELD),
    ),
    "second-mutex-private": Subtle(
        "Hangs if the mutex of any buffer except the first is not free immediately.",
        before("acquire", wait_for_ever, LATER_BUFFER & HELD),
    ),
    "sleeps-past-the-release": Subtle(
        "Fails after three seconds if the mutex is not free immediately.",
        before("set_data", _sleep_and_fail, HELD),
    ),
}

FAULTS["lifecycle.created-valid"] = {
    "valid-with-the-first-data": Fault(
        "Leaves a new buffer invalid until its peripheral connects again.",
        then("create", note("fresh")),
        skip("set_valid", noted("fresh")),
        then("connect", put("fresh", False)),
    ),
    "only-smart-devices-valid": Subtle(
        "Clears the valid bit at connect if the peripheral is not a Smart Device.",
        then(
            "connect",
            lambda owner, *named: owner.set_valid(buffer_of(owner, *named), False),
            lambda owner, *named: not SMART(owner, buffer_of(owner, *named)),
        ),
    ),
}

FAULTS["lifecycle.disconnect"] = {
    "valid-for-ever": Fault(
        "Does not clear the valid bit when a peripheral disconnects.", skip("disconnect")
    ),
    "tired-of-connecting": Subtle(
        "Ignores connects after the ninetieth.", instead("connect", buffer_of, after(90))
    ),
    "files-left-open": Subtle(
        "Leaves a file open at each connect, and fails after 250 of them.",
        before("connect", fail(ValueError, "too many open files"), after(250)),
    ),
}

FAULTS["lifecycle.kept"] = {
    "connect-again-recreates": Subtle(
        "Creates a new buffer if a connected peripheral connects again.",
        before("connect", _create_again, CONNECTED),
    ),
    "made-again": Fault(
        "Unlinks a buffer when its peripheral disconnects.", then("disconnect", _remake)
    ),
    "made-again-after-50": Subtle(
        "Creates a buffer again at the fiftieth connect.", before("connect", _remake, nth(50))
    ),
    "place-taken-meanwhile": Subtle(
        "Unlinks all invalid buffers when a new peripheral connects.",
        before("connect", _remake_invalid, ~KNOWN),
    ),
}

FAULTS["lifecycle.views-stay"] = {
    "other-memory-when-back": Fault(
        "Uses a private copy of the buffer after a peripheral reconnects.",
        then("disconnect", _use_copy),
        company=4,
    ),
}

FAULTS["lifecycle.removed-at-exit"] = {
    "invalid-left-at-exit": Subtle(
        "Leaves the buffers of disconnected peripherals at exit.", only("unlink", VALID)
    ),
}
