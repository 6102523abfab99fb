"""Building blocks of deviations of peers with buffers: conditions and changes."""

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from math import inf
from typing import Any

import yaml

from conformance.runtime.memory.catalog import CatalogError, Parameter, Peripheral
from conformance.runtime.memory.layout import Layout
from mocks.runtime.memory.peer import Buffer
from mocks.steps import Change, Function, When, alter, always, before, fail, instead, returning
from mocks.upper_tester import Warned

SMART = When(lambda _, buffer, *rest: buffer.layout.control)
"""If the step is about the buffer of a Smart Device, which has a device control block."""

VALID = When(lambda _, buffer, *rest: buffer["valid"])
"""If the step is about a valid buffer."""

VALID_IS_ONE = before(
    "check_valid",
    fail(ValueError, "the buffer is invalid"),
    lambda _, buffer: buffer["valid"] > 1,
)
"""Take a buffer for valid only if the whole byte is 1."""


def about(part: str) -> When:
    """If the step is about this bitmap or block of a buffer."""
    return When(lambda _, buffer, told, *rest: told == part)


def accessible(way: str) -> When:
    """If the step is about a parameter that is `readable` or `writeable`."""
    return When(lambda _, buffer, name, *rest: getattr(buffer.peripheral[name], way))


# The catalog


def edit_catalog(change: Callable[[dict[str, Any]], None]) -> Change:
    """Read a catalog after a change of each peripheral in it."""

    def edited(_: Any, text: bytes) -> bytes:
        raw = yaml.safe_load(text)
        for peripheral in raw.values():
            change(peripheral)
        return yaml.safe_dump(raw, sort_keys=False).encode()

    return alter("read_catalog", edited)


def edit_params(change: Callable[[dict[str, Any]], Any]) -> Change:
    """Read a catalog after a change of each parameter; None drops the parameter."""

    def edit(peripheral: dict[str, Any]) -> None:
        changed = [change(dict(param)) for param in peripheral.get("params", [])]
        peripheral["params"] = [param for param in changed if param is not None]

    return edit_catalog(edit)


def first_of_smart(count: int) -> Change:
    """Read only the first parameters of Smart Devices."""

    def cut(peripheral: dict[str, Any]) -> None:
        if "device_id" in peripheral:
            peripheral["params"] = peripheral.get("params", [])[:count]

    return edit_catalog(cut)


def refuse_catalog(why: str, holds: Callable[[Peripheral], bool]) -> Change:
    """Refuse a catalog if any of its peripherals has a property."""

    def checked(known: Mapping[str, Peripheral]) -> Mapping[str, Peripheral]:
        if any(map(holds, known.values())):
            raise CatalogError(why)
        return known

    return returning("read_catalog", checked)


# Layouts


def lay_out(change: Callable[[Peripheral], Peripheral]) -> Change:
    """Make the layout of a changed peripheral."""
    return alter("layout", lambda _, peripheral: change(peripheral))


def lay_out_params(change: Callable[[Parameter], Parameter]) -> Change:
    """Make the layout of a peripheral with changed parameters."""
    return lay_out(lambda of: replace(of, params=tuple(map(change, of.params))))


def refuse_layout(why: str, holds: Callable[[Peripheral], bool]) -> Change:
    """Have no layout for a peripheral with a property."""
    return before("layout", fail(CatalogError, why), lambda _, peripheral: holds(peripheral))


def move(layout: Layout, field: str, **changes: Any) -> Layout:
    """Return a layout with another offset or size of one field."""
    return replace(layout, fields={**layout.fields, field: replace(layout[field], **changes)})


# Bits of a bitmap


def _downwards(bits: int) -> int:
    return int(f"{bits:016b}"[::-1], 2)


BITS_DOWNWARDS = (
    returning("bits", _downwards),
    alter("names", lambda _, peripheral, bits: (peripheral, _downwards(bits))),
)
"""Count bits from the most significant of 16."""


def toggle(peer: Any, buffer: Buffer, bitmap: str, names: Any) -> None:
    buffer[f"control.{bitmap}"] ^= peer.bits(buffer.peripheral, names)


def keep_bits(bitmap: str, bits: int) -> Change:
    """Keep some bits of a bitmap when it is cleared."""
    field = f"control.{bitmap}"

    def clear(_: Any, buffer: Buffer, bitmap: str) -> None:
        buffer[field] &= bits

    return instead("clear", clear, about(bitmap))


# Values


def bound(change: Callable[[Parameter], Parameter]) -> Change:
    """Clamp values to other bounds."""
    return alter("clamp", lambda _, param, *rest: (change(param), *rest))


UNCLAMPED = instead("clamp", lambda _, param, value, warnings: value)


def cache_values(seconds: float) -> Change:
    """Answer the value of an earlier read of a parameter for a time."""

    def value(usual: Function, peer: Any, buffer: Buffer, name: str) -> Any:
        cache = vars(peer).setdefault("cache", {})
        at, found = cache.get((buffer.name, name), (-inf, None))
        if time.monotonic() - at >= seconds:
            found = usual(peer, buffer, name)
            cache[buffer.name, name] = time.monotonic(), found
        return found

    return Change("value", value)


# Timestamps


def _unpadded() -> float:
    seconds, microseconds = divmod(int(time.time() * 1e6), 10**6)
    return float(f"{seconds}.{microseconds}")


def _looked(peer: Any) -> float:
    now = time.time()
    if now > getattr(peer, "looked", 0.0) + 5.0:
        peer.looked = now
    return float(peer.looked)


TIME_OF_ASKING = (
    before("acquire", lambda peer, _: setattr(peer, "asked_at", time.time())),
    instead("now", lambda peer: peer.asked_at),
)
TIME_OF_A_LOOK = instead("now", _looked)
FRACTION_UNPADDED = instead("now", lambda _: _unpadded())
# Python reads a time without a time zone as local time.
UTC_AS_LOCAL_TIME = instead("now", lambda _: datetime.now(UTC).replace(tzinfo=None).timestamp())
TIME_SINCE_THE_START = instead("now", lambda _: time.monotonic())


# Operations


def locked(deed: Function) -> Function:
    """Do something in a further operation on the buffer, with its mutex locked."""

    async def play(peer: Any, buffer: Buffer, *args: Any) -> None:
        async with peer.operation(buffer):
            deed(peer, buffer, *args)

    return play


def note_during(step: str, name: str) -> Change:
    """Note under a name while a step runs; `noted` asks for it."""

    async def play(usual: Function, peer: Any, *args: Any) -> Any:
        setattr(peer, name, True)
        try:
            return await usual(peer, *args)
        finally:
            setattr(peer, name, False)

    return Change(step, play)


def _is_free(buffer: Buffer) -> bool:
    at = buffer.layout["mutex"].offset
    free = buffer.mapped.trylock(at)
    if free:
        buffer.mapped.unlock(at)
    return free


HELD = When(lambda _, buffer, *rest: not _is_free(buffer))
"""While another process holds the mutex of the buffer."""

LATER_BUFFER = When(lambda peer, buffer, *_: buffer not in [*peer.buffers.values()][:1])
"""If the step is about a buffer that is not the first one."""


# Owners


def with_new(deed: Callable[[Buffer], object], when: Function = always) -> Change:
    """Do something with each new buffer."""

    def more(buffer: Buffer) -> Buffer:
        deed(buffer)
        return buffer

    return returning("create", more, when)


def buffer_of(owner: Any, type_: str, uid: str) -> Buffer:
    buffer: Buffer = owner.buffers[owner.name(type_, uid)]
    return buffer


def remake(owner: Any, buffer: Buffer) -> None:
    """Unlink a buffer, so that it is created again later."""
    buffer.mapped.unlink()
    del owner.buffers[buffer.name]
    buffer.mapped.close()


def _others(_: Any, buffer: Buffer, uid: int, params: list[str], delay: float) -> Any:
    others = [param.name for param in buffer.peripheral.params if param.name not in params]
    return buffer, uid, others, delay


SUBSCRIBE_TO_OTHERS = alter("set_sub", _others)
"""Set the bits of the parameters that are not part of the subscription."""


# Consumers


def nothing(*args: Any) -> Warned:
    """Answer nil without a warning."""
    return Warned(None, [])


IN_USE = When(lambda _, args: "param" in args)
"""If a buffer is opened to read or write a parameter.

The operation `list` also opens the buffers of other runs, which must not suffer from a deviation.
"""


def _note_name(consumer: Any, args: Mapping[str, Any]) -> None:
    vars(consumer).setdefault("used", set()).add(args["buffer"].removeprefix("/"))


def _unlink_used(consumer: Any) -> None:
    for name in consumer.buffers.keys() & vars(consumer).get("used", set()):
        consumer.buffers[name].mapped.unlink()


UNLINK_AT_EXIT = (before("buffer", _note_name, IN_USE), before("close", _unlink_used))
