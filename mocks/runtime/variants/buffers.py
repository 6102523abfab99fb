"""Lawful variants of peers that work with buffers."""

import contextlib
import os
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import yaml

from conformance.runtime.memory.catalog import KINDS, OTHER, CatalogError, Parameter, Peripheral
from conformance.runtime.memory.layout import PLANS, Field, Layout, Plan, plan_layout
from mocks.deviations import variant
from mocks.runtime.buffer_consumer import Consumer
from mocks.runtime.buffer_owner import Owner
from mocks.runtime.memory.mapped import FOLDER
from mocks.runtime.memory.owner import BufferOwner
from mocks.runtime.memory.peer import Asked, Buffer
from mocks.upper_tester import Operation, Warned


@variant("figure", of="format.fields-apart")
class Figure(Asked):
    """Places the device control block before the other blocks."""

    def layout(self, peripheral: Peripheral) -> Layout:
        return plan_layout(peripheral, PLANS["figure"])


@variant("packed", of="catalog.types")
class Packed(Asked):
    """Uses no padding, and stores the attributes of the mutex after the mutex."""

    def layout(self, peripheral: Peripheral) -> Layout:
        return plan_layout(peripheral, PLANS["packed"])


class _Downwards(Asked):
    """Counts bits from the most significant of 16."""

    def bits(self, peripheral: Peripheral, names: list[str]) -> int:
        return int(f"{super().bits(peripheral, names):016b}"[::-1], 2)

    def names(self, peripheral: Peripheral, bitmap: int) -> list[str]:
        return super().names(peripheral, int(f"{bitmap:016b}"[::-1], 2))


@variant("bits-downwards", of="format.bit-order")
class BitsDownwards(_Downwards):
    """Counts bits from the most significant, without declaring it."""


@variant("bits-declared", of="format.bitmaps")
class BitsDeclared(_Downwards):
    """Counts bits from the most significant, as its layout declares."""

    def layout(self, peripheral: Peripheral) -> Layout:
        bits = {param.name: 15 - index for index, param in enumerate(peripheral.params)}
        return replace(super().layout(peripheral), bits=bits)


@variant("narrow-control", of="format.control-widths")
class NarrowControl(Asked):
    """Stores UIDs in 64 bits, and bitmaps of small peripherals in 8 bits."""

    def layout(self, peripheral: Peripheral) -> Layout:
        layout = super().layout(peripheral)
        if not layout.control:
            return layout
        fields = {"control.uid": replace(layout["control.uid"], size=8)}
        if len(peripheral.params) <= 8:
            narrow = ("subscription", "read", "write", "update")
            fields |= {
                f"control.{name}": replace(layout[f"control.{name}"], size=1) for name in narrow
            }
        return replace(layout, fields={**layout.fields, **fields})


@variant("wide-control", of="format.control-block")
class WideControl(Asked):
    """Stores a UID in 16 bytes, and other control fields in 4 bytes."""

    def layout(self, peripheral: Peripheral) -> Layout:
        layout = super().layout(peripheral)
        fields, end = dict(layout.fields), layout.size
        for name in [name for name in fields if name.startswith("control.")]:
            size = 16 if name == "control.uid" else 4
            fields[name], end = Field(name, end, size), end + size
        return replace(layout, size=end, fields=fields)


@variant("no-updates", of="get-update.values")
class NoUpdates(Asked):
    """Does not offer get_update, an operation of the server."""

    def operations(self) -> dict[str, Operation]:
        return {name: o for name, o in super().operations().items() if name != "get_update"}


class _Skipping(Asked):
    """Ignores parameters of a catalog that it cannot use."""

    def usable(self, param: Mapping[str, Any]) -> bool:
        return True

    def read_catalog(self, text: bytes) -> dict[str, Peripheral]:
        raw = yaml.safe_load(text)
        for peripheral in raw.values():
            peripheral["params"] = [p for p in peripheral.get("params", []) if self.usable(p)]
        return super().read_catalog(yaml.safe_dump(raw, sort_keys=False).encode())


@variant("incomplete-skipped", of="catalog.required-keys")
class IncompleteSkipped(_Skipping):
    """Ignores parameters without a name or a type."""

    def usable(self, param: Mapping[str, Any]) -> bool:
        return "name" in param and "type" in param


@variant("unknown-types-skipped", of="catalog.known-types")
class UnknownTypesSkipped(_Skipping):
    """Ignores parameters of an unknown type."""

    def usable(self, param: Mapping[str, Any]) -> bool:
        return param.get("type", "int").partition("[")[0] in KINDS


@variant("first-16-used", of="catalog.more-than-16")
class First16Used(Asked):
    """Uses only the first 16 parameters of a Smart Device."""

    def read_catalog(self, text: bytes) -> dict[str, Peripheral]:
        raw = yaml.safe_load(text)
        for peripheral in raw.values():
            if "device_id" in peripheral:
                peripheral["params"] = peripheral.get("params", [])[:16]
        return super().read_catalog(yaml.safe_dump(raw, sort_keys=False).encode())


@variant("explicit-access", of="catalog.optional-access")
class ExplicitAccess(Asked):
    """Refuses a catalog in which a parameter has no key readable."""

    def read_catalog(self, text: bytes) -> dict[str, Peripheral]:
        for peripheral in yaml.safe_load(text).values():
            for param in peripheral.get("params", []):
                if "readable" not in param:
                    raise CatalogError(f"{param.get('name')} has no key readable")
        return super().read_catalog(text)


@variant("names-of-its-own", of="buffers.shared-memory")
class NamesOfItsOwn(BufferOwner):
    """Uses its own pattern for the names of objects."""

    def name(self, type_: str, uid: str) -> str:
        return f"mock.{os.getpid()}.{type_}.{uid}"


@variant("robust-mutex", of="lifecycle.robust-mutex")
class RobustMutex(Owner):
    """Uses robust mutexes."""

    def create(self, name: str, type_: str) -> Buffer:
        buffer = super().create(name, type_)
        buffer.mapped.initialise(buffer.layout["mutex"].offset, robust=True)
        return buffer


@variant("data-as-they-come", of="catalog.clamped-data")
class DataAsTheyCome(Owner):
    """Stores sensed values without clamping if they fit."""

    def clamp(self, param: Parameter, value: Any, warnings: list[str]) -> Any:
        super().clamp(param, value, [])
        return value if isinstance(value, list) or abs(value) < 2**7 else param.clamp(value)


@variant("subscribed-inside-out", of="set-sub.form")
class SubscribedInsideOut(Owner):
    """Sets the bits of the parameters that are not part of the subscription."""

    async def set_sub(self, buffer: Buffer, uid: int, params: list[str], delay: float) -> None:
        others = [p.name for p in buffer.peripheral.params if p.name not in params]
        await super().set_sub(buffer, uid, others, delay)


@variant("left-to-others", of="lifecycle.removed-at-exit")
class LeftToOthers(BufferOwner):
    """Leaves the unlinking of its buffers to another process of the runtime."""

    def unlink(self, buffer: Buffer) -> None:
        pass


class _Impatient(Asked):
    async def acquire(self, buffer: Buffer) -> None:
        if not buffer.mapped.trylock(buffer.layout["mutex"].offset):
            raise ValueError(f"the mutex of {buffer.name} is held by another process")


@variant("gives-up", of="operations.mutex")
class GivesUp(_Impatient):
    """Fails if another process holds the mutex, instead of waiting."""


@variant("valid-in-all-bits", of="lifecycle.created-valid")
class ValidInAllBits(Owner):
    """Sets all bits of the byte with the valid bit."""

    def put_valid(self, buffer: Buffer, valid: bool) -> None:
        buffer["valid"] = 255 * valid


@variant("reads-replaced", of="set-read.sets")
class ReadsReplaced(Owner):
    """Replaces the Read bitmap in set_read, instead of adding bits."""

    async def set_read(self, buffer: Buffer, params: list[str]) -> None:
        async with self.operation(buffer):
            self.clear(buffer, "read")
        await super().set_read(buffer, params)


@variant("fails-where-forbidden", of="catalog.not-writeable")
class FailsWhereForbidden(Consumer):
    """Fails if a parameter cannot be read or written, instead of warning."""

    def refuse(self, warning: str) -> Warned:
        raise ValueError(warning)


@variant("opens-each-time", of="lifecycle.views-stay")
class OpensEachTime(Consumer):
    """Opens a buffer again for each operation."""

    def current(self, buffer: Buffer) -> bool:
        return False


@variant("known-by-their-time", of="get-value.value")
class KnownByTheirTime(Consumer):
    """Reads a value again only after the timestamp of its block has changed."""

    def __init__(self, plan: Plan) -> None:
        super().__init__(plan)
        self.known: dict[tuple[str, str], tuple[float, Any]] = {}

    def value(self, buffer: Buffer, name: str) -> Any:
        key, time = (buffer.name, name), buffer["read.timestamp"]
        if self.known.get(key, (0.0, None))[0] != time:
            self.known[key] = time, super().value(buffer, name)
        return self.known[key][1]


@variant("refuses-other-types", of="catalog.other-types")
class RefusesOtherTypes(Asked):
    """Has no layout for characters, pointers and long doubles."""

    def layout(self, peripheral: Peripheral) -> Layout:
        if any(param.kind == OTHER for param in peripheral.params):
            raise ValueError(f"a type of {peripheral.name} is not supported")
        return super().layout(peripheral)


@variant("unlinks-at-exit", of="lifecycle.never-unlinks")
class UnlinksAtExit(Consumer):
    """Unlinks the buffers that it has used when it exits, as the last process may."""

    def close(self) -> None:
        for buffer in self.buffers.values():
            buffer.mapped.unlink()
        super().close()


@variant("polls", of="buffers.on-demand")
class Polls(Consumer):
    """Looks at a value every 100 ms, and answers what it saw at its last look."""

    def __init__(self, plan: Plan) -> None:
        super().__init__(plan)
        self.seen: dict[tuple[str, str], tuple[float, Any]] = {}

    def value(self, buffer: Buffer, name: str) -> Any:
        at, value = self.seen.get((buffer.name, name), (0.0, None))
        if time.monotonic() - at > 0.1:
            value = super().value(buffer, name)
            self.seen[buffer.name, name] = time.monotonic(), value
        return value


@variant("looks-at-all", of="lifecycle.lazy")
class LooksAtAll(Consumer):
    """Opens all buffers that exist, during each operation."""

    def buffer(self, args: Mapping[str, Any]) -> Buffer:
        for name in sorted(os.listdir(FOLDER)):
            with contextlib.suppress(ValueError):
                super().buffer({"buffer": name})
        return super().buffer(args)


@variant("invalid-is-empty", of="lifecycle.invalid-absent")
class InvalidIsEmpty(Consumer):
    """Answers nil for an invalid buffer, and fails for a missing one."""

    async def get_value(self, buffer: Buffer, name: str) -> Warned:
        return await super().get_value(buffer, name) if buffer["valid"] else Warned(None, [])


@variant("elements-clamped", of="catalog.array-bounds")
class ElementsClamped(Asked):
    """Clamps every element of an array."""

    def clamp(self, param: Parameter, value: Any, warnings: list[str]) -> Any:
        if not isinstance(value, list):
            return super().clamp(param, value, warnings)
        clamp, single = super().clamp, replace(param, count=None)
        return [clamp(single, element, warnings) for element in value]


def _fit(buffer: Buffer, field: str, value: Any) -> Any:
    """Return the value for a field; an array is cut or extended."""
    whole = buffer[field] if isinstance(value, list) and field in buffer.layout.fields else None
    return [*value, *whole[len(value) :]][: len(whole)] if isinstance(whole, list) else value


@variant("arrays-of-any-length", of="robustness.odd-operations")
class ArraysOfAnyLength(Owner):
    """Stores the elements of an array that fit, and keeps the others."""

    async def set_data(self, buffer: Buffer, values: dict[str, Any]) -> list[str]:
        fitted = {n: _fit(buffer, f"read.params.{n}", value) for n, value in values.items()}
        return await super().set_data(buffer, fitted)


@variant("arrays-of-any-length", of="robustness.odd-operations")
class ArraysOfAnyLengthToWrite(Consumer):
    """Stores the elements of an array that fit, and sets missing ones to zero."""

    async def set_value(self, buffer: Buffer, name: str, value: Any) -> Warned:
        whole = [*value, *bytes(8)] if isinstance(value, list) else value
        fitted = _fit(buffer, f"write.params.{name}", whole)
        return await super().set_value(buffer, name, fitted)
