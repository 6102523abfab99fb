"""Faults of the owner about all its operations."""

import asyncio
from collections import Counter
from collections.abc import Mapping
from typing import Any

from conformance.runtime.memory.layout import Field
from mocks.deviations import Fault, Subtle, Table, fault
from mocks.runtime.buffer_owner import Owner
from mocks.runtime.faults.buffers.operations import read_one_by_one
from mocks.runtime.memory.changes import SMART, VALID, buffer_of, locked, note_during
from mocks.runtime.memory.peer import Buffer
from mocks.steps import Change, Function, before, fail, instead, noted, skip, then

Values = dict[str, Any]


async def _take_unlocked(owner: Owner, buffer: Buffer) -> list[str]:
    owner.check_valid(buffer)
    return owner.take(buffer, "read")


def _invalidate_unlocked(owner: Owner, type_: str, uid: str) -> None:
    buffer = owner.buffers.get(owner.name(type_, uid))
    if buffer is not None:
        owner.put_valid(buffer, False)


def _clear_unlocked(owner: Owner, type_: str, uid: str) -> None:
    known = owner.buffers.get(owner.name(type_, uid))
    if known is not None and known.layout.control:
        owner.clear(known, "write")


async def _check_locked(owner: Owner, buffer: Buffer, params: list[str]) -> None:
    await owner.acquire(buffer)
    for name in params:
        buffer.param("read", name)
    owner.release(buffer)


def _marked(owner: Owner, buffer: Buffer, bitmap: str) -> list[str]:
    return owner.names(buffer.peripheral, buffer[f"control.{bitmap}"])


def _write_zeros(owner: Owner, buffer: Buffer) -> list[dict[str, Any]]:
    return [{"message": "DEV_WRITE", "values": dict.fromkeys(_marked(owner, buffer, "write"), 0)}]


async def _cycle_unlocked(owner: Owner, buffer: Buffer) -> list[dict[str, Any]]:
    read = await _take_unlocked(owner, buffer)
    return [{"message": "DEV_READ", "params": read}] if read else []


def _clear_updates(owner: Owner, buffer: Buffer) -> None:
    owner.clear(buffer, "update")


async def _clear_later(owner: Owner, buffer: Buffer, bitmap: str) -> None:
    await asyncio.sleep(0.0005)
    async with owner.operation(buffer):
        owner.clear(buffer, bitmap)


async def _read_and_clear_later(owner: Owner, buffer: Buffer, bitmap: str, block: str) -> Values:
    async with owner.operation(buffer):
        names = buffer.peripheral.names(buffer[f"control.{bitmap}"])
        values = {name: owner.stored(buffer, block, name) for name in names}
    await _clear_later(owner, buffer, bitmap)
    return values


async def _take_and_clear_later(owner: Owner, buffer: Buffer) -> list[str]:
    async with owner.operation(buffer):
        names = _marked(owner, buffer, "read")
    await _clear_later(owner, buffer, "read")
    return names


def _widen_boolean(_: Owner, buffer: Buffer, field: Field, raw: bytes) -> None:
    if field.type == "bool" and field.end + 3 <= buffer.layout.size:
        buffer.mapped.data[field.end : field.end + 3] = bytes(3)


async def _set_one_by_one(usual: Function, owner: Owner, buffer: Buffer, values: Values) -> Any:
    warnings: list[str] = []
    for name, value in values.items():
        warnings += await usual(owner, buffer, {name: value})
        await asyncio.sleep(0.0002)
    return warnings


async def _set_known_first(usual: Function, owner: Owner, buffer: Buffer, values: Values) -> Any:
    known: Mapping[str, Any] = buffer.layout.params("read")
    if any(name not in known for name in values):
        await usual(owner, buffer, {n: v for n, v in values.items() if n in known})
    return await usual(owner, buffer, values)


def _clear_others(owner: Owner, buffer: Buffer, values: Values) -> None:
    for name, field in buffer.layout.params("read").items():
        if name not in values:
            buffer.mapped.data[field.offset : field.end] = bytes(field.size)


async def _store_anywhere(
    usual: Function, owner: Owner, buffer: Buffer, values: Values
) -> list[str]:
    wanted = {
        name: field for name, field in buffer.layout.params("write").items() if name in values
    }
    only = {name: wanted[name] for name in wanted if name not in buffer.layout.params("read")}
    async with owner.operation(buffer):
        for name, field in only.items():
            owner.put(buffer, field, field.encode(values[name]))
    known: list[str] = await usual(
        owner, buffer, {name: value for name, value in values.items() if name not in only}
    )
    return known


def _count_connect(owner: Owner, type_: str, uid: str) -> None:
    counts = vars(owner).setdefault("connects", Counter())
    counts[type_, uid] += 1


def _is_still_connected(owner: Owner, type_: str, uid: str) -> bool:
    counts = vars(owner)["connects"]
    counts[type_, uid] -= 1
    return bool(counts[type_, uid] > 0)


FAULTS = Table(Owner)

FAULTS["operations.mutex"] = {
    "get-read-unlocked": Subtle(
        "Reads and clears the Read bitmap without the mutex.", instead("get_read", _take_unlocked)
    ),
    "cycle-unlocked": Subtle(
        "Reads and clears the Read bitmap in a cycle without the mutex.",
        instead("cycle", _cycle_unlocked),
    ),
    "set-valid-unlocked": Subtle(
        "Sets the valid bit without the mutex.",
        instead("set_valid", lambda owner, buffer, valid: owner.put_valid(buffer, valid)),
    ),
    "disconnect-unlocked": Subtle(
        "Clears the valid bit without the mutex when a peripheral disconnects.",
        instead("disconnect", _invalidate_unlocked),
    ),
    "bits-of-before-cleared": Subtle(
        "Clears the Write bitmap without the mutex when a peripheral reconnects.",
        before("connect", _clear_unlocked),
    ),
}

FAULTS["operations.mutex-released"] = {
    "kept-after-unknown": Subtle(
        "Locks the mutex before it checks parameters, and does not release it after a failure.",
        before("set_read", _check_locked),
    ),
    "kept-without-control": Subtle(
        "Does not release the mutex of a buffer without a control block.",
        before("take", lambda owner, buffer, _: setattr(owner, "kept", buffer), ~SMART),
        skip("release", lambda owner, buffer: buffer is getattr(owner, "kept", None)),
    ),
}

FAULTS["operations.validity"] = {
    "set-sub-on-invalid": Subtle(
        "Sets the subscription of an invalid buffer.",
        note_during("set_sub", "subscribing"),
        skip("check_valid", noted("subscribing")),
    ),
    "answers-while-disconnected": Subtle(
        "Answers the bitmaps of a disconnected peripheral, without clearing them.",
        then("disconnect", lambda owner, *named: setattr(owner, "gone", buffer_of(owner, *named))),
        instead(
            "get_read",
            lambda owner, buffer: _marked(owner, buffer, "read"),
            ~VALID & (lambda owner, buffer: buffer is getattr(owner, "gone", None)),
        ),
    ),
    "cycles-while-invalid": Subtle(
        "Sends the values of an invalid buffer in a cycle.", instead("cycle", _write_zeros, ~VALID)
    ),
    "panels-while-invalid": Subtle(
        "Stores data in an invalid buffer without a control block.", skip("check_valid", ~SMART)
    ),
}

FAULTS["operations.atomic"] = {
    "piecewise": Fault(
        "Reads values one by one, and releases the mutex between two of them.",
        instead("values", read_one_by_one),
    ),
    "clears-later": Subtle(
        "Reads all values at once, and clears the bitmap a moment later.",
        instead("values", _read_and_clear_later),
    ),
    "cycle-clears-later": Subtle(
        "Reads all values at once in a cycle, and clears the Write bitmap a moment later.",
        note_during("cycle", "cycling"),
        instead("values", _read_and_clear_later, noted("cycling")),
    ),
    "clears-read-later": Subtle(
        "Clears the Read bitmap a moment after it has read it.",
        instead("get_read", _take_and_clear_later),
    ),
    "set-one-by-one": Subtle(
        "Writes several parameters in separate operations.", Change("set_data", _set_one_by_one)
    ),
}

FAULTS["operations.nothing-else"] = {
    "data-fill-the-block": Fault(
        "Sets all other values of the read block to zero.", then("set_data", locked(_clear_others))
    ),
    "booleans-of-four-bytes": Subtle(
        "Writes a boolean as four bytes, also over the next parameter.",
        then("put", _widen_boolean),
    ),
    "cycle-clears-update": Subtle(
        "Clears the Update bitmap in a cycle.", before("cycle", locked(_clear_updates))
    ),
    "sub-clears-update": Subtle(
        "Clears the Update bitmap when the subscription is set.",
        then("set_sub", locked(lambda owner, buffer, *_: owner.clear(buffer, "update"))),
    ),
    "taking-is-a-write": Subtle(
        "Updates the timestamp of the write block when its values are read.",
        then("get_write", locked(lambda owner, buffer: owner.stamp(buffer, "write"))),
    ),
}

FAULTS["robustness.odd-operations"] = {
    "ends-at-odd-operations": Fault(
        "Exits if a parameter does not exist.",
        before(
            "set_read",
            fail(SystemExit, 1),
            lambda _, buffer, names: not {*names} <= buffer.layout.params("read").keys(),
        ),
    ),
    "sensed-where-wanted": Subtle(
        "Stores data of a parameter that is only writeable in the write block.",
        Change("set_data", _store_anywhere),
    ),
    "connections-counted": Subtle(
        "Counts connects, and clears the valid bit only after as many disconnects.",
        before("connect", _count_connect),
        skip("disconnect", _is_still_connected),
    ),
    "half-of-the-data": Subtle(
        "Writes the known parameters before it fails because of an unknown one.",
        Change("set_data", _set_known_first),
    ),
}


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
