"""Faults of the consumer about the values that it reads and writes."""

import ctypes
import struct
from collections.abc import Callable
from dataclasses import replace
from math import inf
from typing import Any

from conformance.runtime.memory.catalog import INTEGER, REAL, Parameter
from conformance.runtime.memory.layout import Field
from mocks.deviations import Fault, Subtle, Table
from mocks.runtime.buffer_consumer import Consumer
from mocks.runtime.memory.changes import (
    FRACTION_UNPADDED,
    SMART,
    TIME_OF_A_LOOK,
    TIME_OF_ASKING,
    TIME_SINCE_THE_START,
    UTC_AS_LOCAL_TIME,
    accessible,
    bound,
    cache_values,
    locked,
    nothing,
    toggle,
)
from mocks.runtime.memory.peer import Buffer
from mocks.steps import (
    Change,
    Function,
    alter,
    before,
    fail,
    instead,
    note,
    noted,
    novel,
    only,
    put,
    returning,
    skip,
    then,
    wait_for_ever,
)
from mocks.upper_tester import Warned

READABLE, WRITEABLE = accessible("readable"), accessible("writeable")


def _clamped(change: Callable[[Parameter, Any, Any, list[str]], Any]) -> Change:
    """Make another value of the parameter, the given value, the clamped value and the warnings."""

    def clamp(usual: Function, peer: Any, param: Parameter, value: Any, warnings: Any) -> Any:
        return change(param, value, usual(peer, param, value, warnings), warnings)

    return Change("clamp", clamp)


def _wrap(_: Consumer, param: Parameter, value: int, warnings: list[str]) -> Any:
    return getattr(ctypes, f"c_{param.type}")(value).value


def _refuse(param: Parameter, value: Any, clamped: Any, warnings: list[str]) -> Any:
    if warnings:
        raise ValueError(warnings[0])
    return clamped


def _upper_for_lower(param: Parameter, value: Any, clamped: Any, warnings: list[str]) -> Any:
    below = warnings and param.lower == -param.upper and value < param.lower
    return -clamped if below else clamped


def _warn_at_bounds(param: Parameter, value: Any, clamped: Any, warnings: list[str]) -> Any:
    if param.kind in (INTEGER, REAL) and not warnings and value in (param.lower, param.upper):
        warnings.append(f"{param.name}: {value} is not between its bounds")
    return clamped


def _bound_by_16_bits(param: Parameter) -> Parameter:
    one_bound = param.lower != -inf and param.upper == inf
    return replace(param, upper=32767) if one_bound and param.kind == INTEGER else param


async def _warn_always(usual: Any, consumer: Any, buffer: Buffer, name: str, value: Any) -> Warned:
    answer = await usual(consumer, buffer, name, value)
    own = answer.warnings if buffer.peripheral[name].writeable else []
    return Warned(answer.result, [*own, "writing is slow"])


async def _warn_of_all(usual: Any, consumer: Any, buffer: Buffer, name: str, value: Any) -> Warned:
    answer = await usual(consumer, buffer, name, value)
    told = vars(consumer).setdefault("told", [])
    told += answer.warnings
    return Warned(answer.result, [*told])


def _put_sensed(consumer: Consumer, buffer: Buffer, name: str, value: Any) -> None:
    field = buffer.param("read", name)
    consumer.put(buffer, field, field.encode(value))


async def _get_written(consumer: Consumer, buffer: Buffer, name: str) -> Warned:
    async with consumer.operation(buffer):
        return Warned(_written(consumer, buffer, name), ["not readable"])


def _written(_: Consumer, buffer: Buffer, name: str) -> Any:
    return buffer[buffer.param("write", name).name]


def _remember(consumer: Consumer, buffer: Buffer, name: str, value: Any) -> None:
    vars(consumer).setdefault("written", set()).add((buffer.name, name))


def _has_written(consumer: Consumer, buffer: Buffer, name: str) -> bool:
    return (buffer.name, name) in vars(consumer).get("written", ())


def _are_words(_: Consumer, buffer: Buffer, name: str) -> bool:
    param = buffer.peripheral[name]
    return param.count is not None and param.type in ("short", "int16")


def _raw(change: Callable[[bytes], bytes], when: Callable[[Field], bool]) -> Change:
    """Write other bytes to some fields."""
    return alter(
        "put",
        lambda _, buffer, field, raw: (buffer, field, change(raw)),
        lambda _, buffer, field, raw: when(field),
    )


def _without_denormals(raw: bytes) -> bytes:
    (bits,) = struct.unpack("<I", raw)
    return raw if bits >> 23 & 255 else bytes(len(raw))


def _in_single_precision(raw: bytes) -> bytes:
    return struct.pack("<d", ctypes.c_float(*struct.unpack("<d", raw)).value)


def _with_second_kept(_: Consumer, buffer: Buffer, field: Field, raw: bytes) -> Any:
    old = bytes(buffer.mapped.data[field.offset : field.end])
    again = field.count is not None and len(raw) > 1 and old[0] == raw[0]
    return buffer, field, raw[:1] + old[1:2] + raw[2:] if again else raw


async def _set_if_new(usual: Any, consumer: Consumer, buffer: Buffer, name: str, new: Any) -> Any:
    if buffer.peripheral[name].writeable:
        async with consumer.operation(buffer):
            if _written(consumer, buffer, name) == new:
                return nothing()
    return await usual(consumer, buffer, name, new)


FAULTS = Table(Consumer)

FAULTS["get-value.value"] = {
    "get-value-unanswered": Fault(
        "Never answers get_value.", instead("get_value", wait_for_ever), company=0
    ),
    "cached": Fault("Caches values forever.", cache_values(inf)),
    "wanted-for-sensed": Fault(
        "Answers the written value after a write.",
        instead("value", _written, _has_written),
        then("set_value", _remember),
    ),
    "signs-lost": Subtle(
        "Reads the smallest integer of 64 bits as a positive number.",
        returning("value", lambda value: -value if value == -(2**63) else value),
    ),
    "words-without-signs": Subtle(
        "Reads 16-bit integers in arrays as unsigned.",
        returning("value", lambda words: [word % 2**16 for word in words], _are_words),
    ),
}

FAULTS["buffers.on-demand"] = {
    "cached-for-a-moment": Subtle("Caches values for 50 ms.", cache_values(0.05)),
}

FAULTS["catalog.clamped"] = {
    "unclamped": Fault(
        "Stores values beyond a bound, except for the parameter power.",
        _clamped(lambda param, value, clamped, _: clamped if param.name == "power" else value),
    ),
    "integers-unclamped": Subtle(
        "Clamps only floats; integers wrap around.",
        instead(
            "clamp",
            _wrap,
            lambda _, param, value, *rest: param.kind == INTEGER and isinstance(value, int),
        ),
    ),
    "refused-beyond-bounds": Fault("Fails if a value is beyond a bound.", _clamped(_refuse)),
    "lower-bounds-of-16-bits": Subtle(
        "Ignores a lower bound that does not fit into 16 bits.",
        bound(lambda p: replace(p, lower=p.lower if p.lower >= -(2**15) else -inf)),
    ),
    "zero-is-no-upper-bound": Subtle(
        "Ignores an upper bound of 0.",
        bound(lambda param: replace(param, upper=param.upper or inf)),
    ),
    "upper-bound-for-both": Subtle(
        "Stores the upper bound for values below a symmetric lower bound.",
        _clamped(_upper_for_lower),
    ),
}

FAULTS["catalog.clamp-warning"] = {
    "one-warning": Subtle(
        "Warns only once for each parameter.",
        only("warn", novel(lambda _, text, warnings: text.partition(":")[0])),
    ),
}

FAULTS["catalog.within-bounds"] = {
    "bounds-excluded": Subtle(
        "Warns about a value that equals a bound.", _clamped(_warn_at_bounds)
    ),
    "warnings-pile-up": Subtle(
        "Repeats all earlier warnings of set_value in each answer.",
        Change("set_value", _warn_of_all),
    ),
    "always-warned": Fault(
        "Warns about every written value.",
        before("clamp", lambda _, param, value, told: told.append(f"{param.name}: take care")),
    ),
}

FAULTS["catalog.one-bound"] = {
    "missing-bound-is-zero": Fault(
        "Uses 0 as a missing lower bound.",
        bound(lambda param: replace(param, lower=0 if param.lower == -inf else param.lower)),
    ),
    "missing-bound-of-16-bits": Subtle(
        "Uses 32767 as the missing upper bound of an integer that has a lower bound.",
        bound(_bound_by_16_bits),
    ),
}

FAULTS["catalog.not-writeable"] = {
    "refused-silently": Subtle(
        "Ignores a forbidden write without a warning.", instead("set_value", nothing, ~WRITEABLE)
    ),
    "always-the-same-warning": Subtle(
        "Warns in every answer of set_value that it is slow, and of nothing else.",
        Change("set_value", _warn_always),
    ),
    "writes-what-is-read": Fault(
        "Writes a parameter that is not writeable to the read block, with a warning.",
        then("set_value", locked(_put_sensed), READABLE & ~WRITEABLE),
    ),
}

FAULTS["catalog.not-readable"] = {
    "reads-what-is-written": Fault(
        "Answers the value in the write block for a parameter that is not readable.",
        instead("get_value", _get_written, WRITEABLE & ~READABLE),
    ),
    "nothing-silently": Subtle(
        "Answers nil without a warning for a parameter that is not readable.",
        instead("get_value", nothing, ~READABLE),
    ),
}

FAULTS["set-value.value"] = {
    "denormals-as-zero": Subtle(
        "Stores zero for a number that is not normal in its type.",
        _raw(_without_denormals, lambda field: field.type == "float" and not field.count),
    ),
    "true-in-all-bits": Subtle(
        "Writes true as 255.",
        _raw(lambda raw: bytes(255 * byte for byte in raw), lambda field: field.type == "bool"),
    ),
    "doubles-in-single-precision": Subtle(
        "Rounds doubles to single precision; large values become infinite.",
        _raw(_in_single_precision, lambda field: field.type == "double" and field.size == 8),
    ),
    "first-of-an-array": Subtle(
        "Writes only the first seven bytes of an array.",
        alter(
            "put",
            lambda _, buffer, field, raw: (buffer, replace(field, size=min(7, len(raw))), raw[:7]),
        ),
    ),
    "written-once": Fault(
        "Writes each parameter only once.",
        only("put", novel(lambda _, buffer, field, raw: (buffer.name, field.name))),
    ),
    "second-element-kept": Subtle(
        "Does not write the second byte of an array if the first byte is unchanged.",
        alter("put", _with_second_kept),
    ),
}

FAULTS["set-value.bit"] = {
    "no-bit": Fault("Sets no bit of the Write bitmap.", skip("mark")),
    "other-bits-lost": Subtle(
        "Clears the other bits of the Write bitmap.",
        before("mark", lambda peer, buffer, bitmap, names: peer.clear(buffer, bitmap), SMART),
    ),
    "bit-toggled": Subtle("Clears a bit that is already set.", instead("mark", toggle, SMART)),
    "same-value-not-written": Subtle(
        "Does nothing if the new value is equal to the one in the write block.",
        Change("set_value", _set_if_new),
    ),
}

FAULTS["set-value.timestamp"] = {
    "not-stamped": Fault("Never updates the timestamp.", skip("stamp")),
    "smart-devices-stamped": Subtle(
        "Does not update the timestamp if the peripheral is not a Smart Device.",
        only("stamp", SMART),
    ),
    "clamped-not-stamped": Subtle(
        "Does not update the timestamp after a value was clamped.",
        then("warn", note("clamped")),
        skip("stamp", noted("clamped")),
        then("stamp", put("clamped", False)),
    ),
    "asked-is-written": Subtle(
        "Writes timestamps of the time before it waited for the mutex.", *TIME_OF_ASKING
    ),
    "time-of-a-look": Subtle("Reads the clock only every five seconds.", TIME_OF_A_LOOK),
    "fraction-unpadded": Subtle(
        "Writes the microseconds of timestamps without leading zeros.", FRACTION_UNPADDED
    ),
    "since-the-start": Subtle(
        "Writes timestamps that count from the start of the machine.", TIME_SINCE_THE_START
    ),
    "utc-as-local-time": Subtle("Takes UTC for local time.", UTC_AS_LOCAL_TIME),
}

FAULTS["catalog.no-limit"] = {
    "16-parameters-opened": Subtle(
        "Reports the layout of a buffer with more than 16 parameters, but cannot open it.",
        before(
            "open",
            fail(ValueError, "too many parameters"),
            lambda consumer, name, type_: len(consumer.peripheral(type_).params) > 16,
        ),
    ),
}
