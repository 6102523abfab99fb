"""Lawful variants of peers that work with buffers."""

import asyncio
import contextlib
import os
import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from conformance.mutex import BrokenMutex
from conformance.runtime.memory.catalog import KINDS, OTHER, CatalogError, Parameter, Peripheral
from conformance.runtime.memory.layout import PLANS, Field, Layout, plan_layout
from mocks.deviations import Table, Variant, variant
from mocks.runtime.buffer_consumer import Consumer
from mocks.runtime.buffer_owner import Owner
from mocks.runtime.memory.changes import (
    BITS_DOWNWARDS,
    HELD,
    SUBSCRIBE_TO_OTHERS,
    UNLINK_AT_EXIT,
    VALID,
    VALID_IS_ONE,
    buffer_of,
    cache_values,
    edit_params,
    first_of_smart,
    locked,
    nothing,
    refuse_layout,
    with_new,
)
from mocks.runtime.memory.mapped import FOLDER
from mocks.runtime.memory.owner import BufferOwner
from mocks.runtime.memory.peer import Asked, Buffer
from mocks.steps import Change, Function, alter, before, fail, instead, returning, skip, then
from mocks.upper_tester import Operation, Warned

Raw = dict[str, Any]
CYCLE_TIME = 0.05  # seconds between two looks of a process in the background


def _plan(name: str) -> Change:
    """Use another of the mocks' layouts."""
    return instead("layout", lambda _, peripheral: plan_layout(peripheral, PLANS[name]))


def _declare_bits(usual: Function, peer: Asked, peripheral: Peripheral) -> Layout:
    layout: Layout = usual(peer, peripheral)
    return replace(layout, bits={p.name: 15 - at for at, p in enumerate(peripheral.params)})


def _narrow(usual: Function, peer: Asked, peripheral: Peripheral) -> Layout:
    layout: Layout = usual(peer, peripheral)
    widths = {"control.uid": 8} if layout.control else {}
    if layout.control and len(peripheral.params) <= 8:
        widths |= {f"control.{name}": 1 for name in ("subscription", "read", "write", "update")}
    fields = {name: replace(layout[name], size=width) for name, width in widths.items()}
    return replace(layout, fields={**layout.fields, **fields})


def _as_floats(layout: Layout) -> Layout:
    doubles = [f for f in layout.fields.values() if ".params." in f.name and f.type == "double"]
    fields = {f.name: replace(f, size=f.size // 2, type="float") for f in doubles}
    return replace(layout, fields={**layout.fields, **fields})


def _widen(layout: Layout) -> Layout:
    fields, end = dict(layout.fields), layout.size
    for name in [name for name in fields if name.startswith("control.")]:
        size = 16 if name == "control.uid" else 4
        fields[name], end = Field(name, end, size), end + size
    return replace(layout, size=end, fields=fields)


def _has_known_type(param: Raw) -> bool:
    return param.get("type", "int").partition("[")[0] in KINDS


def _with_access(param: Raw) -> Raw:
    if "readable" not in param:
        raise CatalogError(f"{param.get('name')} has no key readable")
    return param


def _clamp_elements(usual: Function, peer: Asked, param: Parameter, value: Any, told: Any) -> Any:
    if not isinstance(value, list):
        return usual(peer, param, value, told)
    return [usual(peer, replace(param, count=None), element, told) for element in value]


def _clamp_wide(usual: Function, owner: Owner, param: Parameter, value: Any, told: Any) -> Any:
    clamped = usual(owner, param, value, [])
    return value if isinstance(value, list) or abs(value) < 2**7 else clamped


def _know_by_time(usual: Function, consumer: Consumer, buffer: Buffer, name: str) -> Any:
    known = vars(consumer).setdefault("known", {})
    key, time = (buffer.name, name), buffer["read.timestamp"]
    if known.get(key, (0.0, None))[0] != time:
        known[key] = time, usual(consumer, buffer, name)
    return known[key][1]


def _open_all(usual: Function, consumer: Consumer, args: Mapping[str, Any]) -> Any:
    for name in sorted(os.listdir(FOLDER)):
        with contextlib.suppress(ValueError):
            usual(consumer, {"buffer": name})
    return usual(consumer, args)


def _fit(buffer: Buffer, field: str, value: Any) -> Any:
    """Return the value for a field; an array is cut or extended."""
    whole = buffer[field] if isinstance(value, list) and field in buffer.layout.fields else None
    return [*value, *whole[len(value) :]][: len(whole)] if isinstance(whole, list) else value


def _fit_data(_: Owner, buffer: Buffer, values: dict[str, Any]) -> Any:
    return buffer, {n: _fit(buffer, f"read.params.{n}", value) for n, value in values.items()}


def _log(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _log_operation(_: Consumer, buffer: Buffer, name: str, *value: Any) -> None:
    _log(f"{name} of {buffer.name}, {value}")


def _log_warning(_: Consumer, warning: str) -> Warned:
    _log(f"warning: {warning}")
    return Warned(None, [])


def _fit_value(_: Consumer, buffer: Buffer, name: str, value: Any) -> Any:
    whole = [*value, *bytes(8)] if isinstance(value, list) else value
    return buffer, name, _fit(buffer, f"write.params.{name}", whole)


ANY = Table(Asked)

ANY["format.fields-apart"] = {
    "figure": Variant("Places the device control block before the other blocks.", _plan("figure")),
}

ANY["format.valid-bit"] = {
    "valid-is-one": Variant(
        "Takes a buffer for valid only if the whole byte is 1.",
        VALID_IS_ONE,
    ),
}

ANY["catalog.types"] = {
    "packed": Variant(
        "Uses no padding, and stores the attributes of the mutex after the mutex.", _plan("packed")
    ),
    "doubles-in-32-bits": Variant(
        "Stores double parameters as floats, as its layout declares.",
        returning("layout", _as_floats),
    ),
}

ANY["format.bit-order"] = {
    "bits-downwards": Variant(
        "Counts bits from the most significant, without declaring it.", *BITS_DOWNWARDS
    ),
}

ANY["format.bitmaps"] = {
    "bits-declared": Variant(
        "Counts bits from the most significant, as its layout declares.",
        *BITS_DOWNWARDS,
        Change("layout", _declare_bits),
    ),
}

ANY["format.control-widths"] = {
    "narrow-control": Variant(
        "Stores UIDs in 64 bits, and bitmaps of small peripherals in 8 bits.",
        Change("layout", _narrow),
    ),
}

ANY["format.control-block"] = {
    "wide-control": Variant(
        "Stores a UID in 16 bytes, and other control fields in 4 bytes.",
        returning("layout", _widen),
    ),
}

ANY["get-update.values"] = {
    "no-updates": Variant(
        "Does not offer get_update, an operation of the server.",
        returning("operations", lambda known: {n: known[n] for n in known if n != "get_update"}),
    ),
}

ANY["catalog.required-keys"] = {
    "incomplete-skipped": Variant(
        "Ignores parameters without a name or a type.",
        edit_params(lambda param: param if {"name", "type"} <= param.keys() else None),
    ),
}

ANY["catalog.known-types"] = {
    "unknown-types-skipped": Variant(
        "Ignores parameters of an unknown type.",
        edit_params(lambda param: param if _has_known_type(param) else None),
    ),
}

ANY["catalog.more-than-16"] = {
    "first-16-used": Variant(
        "Uses only the first 16 parameters of a Smart Device.", first_of_smart(16)
    ),
}

ANY["catalog.optional-access"] = {
    "explicit-access": Variant(
        "Refuses a catalog in which a parameter has no key readable.", edit_params(_with_access)
    ),
}

ANY["catalog.other-types"] = {
    "refuses-other-types": Variant(
        "Has no layout for characters, pointers and long doubles.",
        refuse_layout("an unsupported type", lambda of: any(p.kind == OTHER for p in of.params)),
    ),
}

ANY["catalog.array-bounds"] = {
    "elements-clamped": Variant(
        "Clamps every element of an array.", Change("clamp", _clamp_elements)
    ),
}

ANY["operations.mutex"] = {
    "gives-up": Variant(
        "Fails if another process holds the mutex, instead of waiting.",
        before("acquire", fail(ValueError, "the mutex is held by another process"), HELD),
    ),
}


def _has_other_uid(owner: Owner, buffer: Buffer, uid: int, *_: Any) -> bool:
    return buffer is not buffer_of(owner, buffer.peripheral.name, str(uid))


def _clear_buffer(owner: Owner, type_: str, uid: str) -> None:
    buffer = buffer_of(owner, type_, uid)
    cleared = (".params.", "control.read", "control.write", "control.update")
    for name, field in buffer.layout.fields.items():
        if any(part in name for part in cleared):
            buffer.mapped.data[field.offset : field.end] = bytes(field.size)


OWNERS = Table(BufferOwner)

OWNERS["buffers.shared-memory"] = {
    "names-of-its-own": Variant(
        "Uses its own pattern for the names of objects.",
        instead("name", lambda _, type_, uid: f"mock.{os.getpid()}.{type_}.{uid}"),
    ),
}

OWNERS["lifecycle.removed-at-exit"] = {
    "left-to-others": Variant(
        "Leaves the unlinking of its buffers to another process of the runtime.", skip("unlink")
    ),
}

OWNER = Table(Owner)

OWNER["buffers.one-each"] = {
    "names-by-uid": Variant(
        "Names a buffer by its UID alone, without its type.",
        instead("name", lambda _, type_, uid: f"rt-{uid}-{os.getpid()}"),
    ),
}

OWNER["set-sub.fields"] = {
    "own-uids-only": Variant(
        "Refuses a subscription with a UID that is not the device's.",
        before("set_sub", fail(ValueError, "this is another device"), _has_other_uid),
    ),
}

OWNER["lifecycle.views-stay"] = {
    "cleared-at-a-disconnect": Variant(
        "Sets the parameters and the bitmaps to zero when a peripheral disconnects.",
        then("disconnect", _clear_buffer),
    ),
}

OWNER["lifecycle.robust-mutex"] = {
    "robust-mutex": Variant(
        "Uses robust mutexes.",
        with_new(
            lambda buffer: buffer.mapped.initialise(buffer.layout["mutex"].offset, robust=True)
        ),
    ),
}

OWNER["catalog.clamped-data"] = {
    "data-as-they-come": Variant(
        "Stores sensed values without clamping if they fit.", Change("clamp", _clamp_wide)
    ),
}

OWNER["set-sub.form"] = {
    "subscribed-inside-out": Variant(
        "Sets the bits of the parameters that are not part of the subscription.",
        SUBSCRIBE_TO_OTHERS,
    ),
}

OWNER["lifecycle.created-valid"] = {
    "valid-in-all-bits": Variant(
        "Sets all bits of the byte with the valid bit.",
        alter("put_valid", lambda _, buffer, valid: (buffer, 255 * valid)),
    ),
}

OWNER["set-read.sets"] = {
    "reads-replaced": Variant(
        "Replaces the Read bitmap in set_read, instead of adding bits.",
        before("set_read", locked(lambda owner, buffer, _: owner.clear(buffer, "read"))),
    ),
}

OWNER["robustness.odd-operations"] = {
    "arrays-of-any-length": Variant(
        "Stores the elements of an array that fit, and keeps the others.",
        alter("set_data", _fit_data),
    ),
}

CONSUMER = Table(Consumer)

CONSUMER["catalog.clamp-warning"] = {
    "logs-warnings": Variant(
        "Writes its warnings to standard error, among lines about all operations.",
        before("get_value", _log_operation),
        before("set_value", _log_operation),
        instead("warn", lambda _, text, warnings: _log(f"warning: {text}")),
        instead("refuse", _log_warning),
    ),
}

CONSUMER["catalog.not-writeable"] = {
    "fails-where-forbidden": Variant(
        "Fails if a parameter cannot be read or written, instead of warning.",
        instead("refuse", fail(ValueError, "the access is forbidden")),
    ),
}

CONSUMER["lifecycle.views-stay"] = {
    "opens-each-time": Variant(
        "Opens a buffer again for each operation.", instead("current", lambda *_: False)
    ),
}

CONSUMER["get-value.value"] = {
    "known-by-their-time": Variant(
        "Reads a value again only after the timestamp of its block has changed.",
        Change("value", _know_by_time),
    ),
}

CONSUMER["lifecycle.never-unlinks"] = {
    "unlinks-at-exit": Variant(
        "Unlinks the buffers that it has used when it exits, as the last process may.",
        *UNLINK_AT_EXIT,
    ),
}

CONSUMER["buffers.on-demand"] = {
    "polls": Variant(
        "Looks at a value every 100 ms, and answers what it saw at its last look.",
        cache_values(0.1),
    ),
}

CONSUMER["lifecycle.lazy"] = {
    "looks-at-all": Variant(
        "Opens all buffers that exist, during each operation.", Change("buffer", _open_all)
    ),
}

CONSUMER["lifecycle.invalid-absent"] = {
    "invalid-is-empty": Variant(
        "Answers nil for an invalid buffer, and fails for a missing one.",
        instead("get_value", nothing, ~VALID),
    ),
}

CONSUMER["robustness.odd-operations"] = {
    "arrays-of-any-length": Variant(
        "Stores the elements of an array that fit, and sets missing ones to zero.",
        alter("set_value", _fit_value),
    ),
}


@variant("cycles-by-itself", of="cycle.dev-read")
class CyclesByItself(Owner):
    """Runs a cycle for every device all the time, not only on request."""

    def operations(self) -> dict[str, Operation]:
        self.cycling = asyncio.ensure_future(self.run_cycles())
        return super().operations()

    async def run_cycles(self) -> None:
        while True:
            for buffer in [*self.buffers.values()]:
                if buffer.layout.control:
                    with contextlib.suppress(ValueError):
                        await self.cycle(buffer)
            await asyncio.sleep(CYCLE_TIME)


@variant("polls-by-itself", of="buffers.on-demand")
class PollsByItself(Consumer):
    """Reads all known values in the background, and answers what it read last."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.seen: dict[tuple[str, str], Any] = {}

    def operations(self) -> dict[str, Operation]:
        self.polling = asyncio.ensure_future(self.poll())
        return super().operations()

    async def poll(self) -> None:
        while True:
            for name, param in [*self.seen]:
                try:
                    self.seen[name, param] = await self.read(self.buffers[name], param)
                except (KeyError, ValueError, BrokenMutex):
                    del self.seen[name, param]
            await asyncio.sleep(CYCLE_TIME)

    async def read(self, buffer: Buffer, param: str) -> Any:
        async with self.operation(buffer):
            return self.value(buffer, param)

    async def get_value(self, buffer: Buffer, name: str) -> Warned:
        if (buffer.name, name) in self.seen:
            return Warned(self.seen[buffer.name, name], [])
        answer = await super().get_value(buffer, name)
        if not answer.warnings:
            self.seen[buffer.name, name] = answer.result
        return answer
