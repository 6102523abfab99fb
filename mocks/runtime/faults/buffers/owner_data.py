"""Faults of the owner about the values that it writes and reads."""

from collections.abc import Callable
from dataclasses import replace
from math import inf
from typing import Any

from mocks.deviations import Fault, Subtle, Table
from mocks.runtime.buffer_owner import Owner
from mocks.runtime.memory.changes import (
    FRACTION_UNPADDED,
    SMART,
    TIME_OF_A_LOOK,
    TIME_OF_ASKING,
    UNCLAMPED,
    UTC_AS_LOCAL_TIME,
    about,
    bound,
    keep_bits,
    note_during,
    toggle,
)
from mocks.runtime.memory.peer import Buffer
from mocks.steps import (
    Change,
    Function,
    When,
    alter,
    instead,
    noted,
    returning,
    skip,
    wait_for_ever,
)

Values = dict[str, Any]


def _data(change: Callable[[Buffer, Values], Values]) -> Change:
    """Set other data."""
    return alter("set_data", lambda _, buffer, values: (buffer, change(buffer, values)))


def _stored(buffer: Buffer, name: str) -> Any:
    return buffer[buffer.param("read", name).name]


def _arrays(change: Callable[[list[Any], list[Any]], list[Any]]) -> Change:
    """Set other arrays, made of the new elements and of the stored ones."""

    def changed(new: Any, old: Any) -> Any:
        both = isinstance(new, list) and isinstance(old, list) and len(new) == len(old) > 1
        return change(new, old) if both else new

    return _data(lambda buffer, data: {n: changed(v, _stored(buffer, n)) for n, v in data.items()})


def _cut_words(buffer: Buffer, values: Values) -> Values:
    words = {param.name for param in buffer.peripheral.params if param.type == "uint16"}
    return {n: v % 2**15 if n in words and v == int(v) else v for n, v in values.items()}


def _replace_bits(owner: Owner, buffer: Buffer, bitmap: str, names: Any) -> None:
    buffer[f"control.{bitmap}"] = owner.bits(buffer.peripheral, names)


async def _mark_changes(usual: Function, owner: Owner, buffer: Buffer, values: Values) -> Any:
    same = [name for name, value in values.items() if _stored(buffer, name) == value]
    before = buffer["control.update"] if buffer.layout.control else 0
    warnings = await usual(owner, buffer, values)
    if same and buffer.layout.control:
        async with owner.operation(buffer):
            gone = owner.bits(buffer.peripheral, same) & ~before
            buffer["control.update"] = buffer["control.update"] & ~gone
    return warnings


async def _stamp_changes(usual: Function, owner: Owner, buffer: Buffer, values: Values) -> Any:
    same = all(_stored(buffer, name) == value for name, value in values.items())
    before = buffer["read.timestamp"]
    warnings = await usual(owner, buffer, values)
    if same:
        async with owner.operation(buffer):
            buffer["read.timestamp"] = before
    return warnings


async def _take_without_last(usual: Function, owner: Owner, buffer: Buffer) -> Values:
    values = await usual(owner, buffer)
    last = buffer.peripheral.params[-1].name
    return {name: v for name, v in values.items() if name != last or len(values) == 1}


def _write_one(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    for message in messages:
        if message["message"] == "DEV_WRITE":
            message["values"] = dict([*message["values"].items()][:1])
    return messages


IN_READ_BLOCK = When(lambda _, buffer, block, name: name in buffer.layout.params("read"))
"""If the value of a parameter is asked for that the read block contains too."""

FAULTS = Table(Owner)

FAULTS["catalog.clamped-data"] = {
    "data-unclamped": Fault("Stores sensed values without clamping.", UNCLAMPED),
    "zero-is-no-bound": Subtle(
        "Ignores a lower bound of 0.",
        bound(lambda param: replace(param, lower=param.lower or -inf)),
    ),
    "bounds-at-least-zero": Subtle(
        "Ignores an upper bound below zero.",
        bound(lambda param: replace(param, upper=param.upper if param.upper >= 0 else inf)),
    ),
    "clamped-silently": Subtle("Clamps sensed values without a warning.", skip("warn")),
    "always-the-same-warning": Subtle(
        "Warns in every answer that it is not calibrated, and of nothing else.",
        skip("warn"),
        returning("set_data", lambda warnings: [*warnings, "not calibrated"]),
    ),
}

FAULTS["set-data.values"] = {
    "first-value-only": Fault(
        "Sets only the first of several parameters.",
        _data(lambda _, values: dict([*values.items()][:1])),
    ),
    "words-of-15-bits": Subtle("Truncates values of 16 bits to 15 bits.", _data(_cut_words)),
    "array-without-its-last": Subtle(
        "Does not write the last element of an array.",
        _arrays(lambda new, old: [*new[:-1], old[-1]]),
    ),
    "second-element-kept": Subtle(
        "Writes the second element of an array only the first time.",
        _arrays(lambda new, old: [new[0], old[1], *new[2:]] if any(old) else new),
    ),
}

FAULTS["set-data.bits"] = {
    "bits-replaced": Fault(
        "Replaces the Update bitmap instead of adding bits.",
        instead("mark", _replace_bits, SMART & about("update")),
    ),
    "bits-toggled": Subtle(
        "Clears the bit of a parameter that is set a second time.",
        instead("mark", toggle, SMART & about("update")),
    ),
    "only-changes-marked": Subtle(
        "Sets no bit for a value that is equal to the old one.", Change("set_data", _mark_changes)
    ),
    "bits-of-four": Subtle(
        "Sets the bits of at most four parameters.",
        alter("mark", lambda _, buffer, bitmap, names: (buffer, bitmap, [*names][:4])),
    ),
    "bits-change-sides": Subtle(
        "Toggles the bit of a parameter instead of setting it.", instead("mark", toggle, SMART)
    ),
}

FAULTS["set-data.timestamp"] = {
    "milliseconds": Fault(
        "Writes timestamps in milliseconds.", returning("now", lambda now: now * 1000)
    ),
    "asked-is-written": Subtle(
        "Writes timestamps of the time before it waited for the mutex.", *TIME_OF_ASKING
    ),
    "utc-as-local-time": Subtle("Takes UTC for local time.", UTC_AS_LOCAL_TIME),
    "time-of-a-look": Subtle("Reads the clock only every five seconds.", TIME_OF_A_LOOK),
    "fraction-unpadded": Subtle(
        "Writes the microseconds of timestamps without leading zeros.", FRACTION_UNPADDED
    ),
    "only-changes-stamped": Subtle(
        "Does not update the timestamp if the values are equal to the old ones.",
        Change("set_data", _stamp_changes),
    ),
}

FAULTS["get-write.values"] = {
    "get-write-unanswered": Fault("Never answers get_write.", instead("get_write", wait_for_ever)),
    "read-values-taken": Fault(
        "Answers values from the read block in get_write, if it contains them.",
        alter("stored", lambda _, buffer, block, name: (buffer, "read", name), IN_READ_BLOCK),
    ),
    "last-bit-overlooked": Subtle(
        "Omits the sixteenth parameter in get_write if there are others.",
        Change("get_write", _take_without_last),
    ),
}

FAULTS["get-write.clears"] = {
    "write-bits-kept": Fault("Does not clear the Write bitmap.", skip("clear", about("write"))),
    "low-write-bits-cleared": Subtle(
        "Clears only the lower 8 bits of the Write bitmap.", keep_bits("write", 0xFF00)
    ),
}

FAULTS["cycle.dev-write"] = {
    "writes-what-is-read": Fault(
        "Sends values from the read block in a cycle, if it contains them.",
        note_during("cycle", "cycling"),
        alter(
            "stored",
            lambda _, buffer, block, name: (buffer, "read", name),
            noted("cycling") & IN_READ_BLOCK,
        ),
    ),
    "one-write-a-cycle": Subtle(
        "Sends only one value in a cycle, and drops the others.", returning("cycle", _write_one)
    ),
    "reads-instead-of-writing": Subtle(
        "Sends only one message in a cycle, and drops the DEV_WRITE after a DEV_READ.",
        returning("cycle", lambda messages: messages[:1]),
    ),
}
