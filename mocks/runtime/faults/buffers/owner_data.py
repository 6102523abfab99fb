"""Faults of the owner about the values that it writes and reads."""

import math
from dataclasses import replace
from typing import Any

from conformance.runtime.memory.catalog import Parameter
from mocks.deviations import fault
from mocks.runtime.buffer_owner import Owner
from mocks.runtime.faults.buffers.operations import FractionUnpadded, TimeOfALook, TimeOfAsking
from mocks.runtime.memory.peer import Buffer


@fault("data-unclamped", violates="catalog.clamped-data")
class DataUnclamped(Owner):
    """Stores sensed values without clamping."""

    def clamp(self, param: Parameter, value: Any, warnings: list[str]) -> Any:
        return value


@fault("zero-is-no-bound", violates="catalog.clamped-data", subtle=True)
class ZeroIsNoBound(Owner):
    """Ignores a lower bound of 0."""

    def clamp(self, param: Parameter, value: Any, warnings: list[str]) -> Any:
        return super().clamp(replace(param, lower=param.lower or -math.inf), value, warnings)


@fault("bounds-at-least-zero", violates="catalog.clamped-data", subtle=True)
class BoundsAtLeastZero(Owner):
    """Ignores an upper bound below zero."""

    def clamp(self, param: Parameter, value: Any, warnings: list[str]) -> Any:
        upper = param.upper if param.upper >= 0 else math.inf
        return super().clamp(replace(param, upper=upper), value, warnings)


@fault("clamped-silently", violates="catalog.clamped-data", subtle=True)
class ClampedSilently(Owner):
    """Clamps sensed values without a warning."""

    def warn(self, text: str, warnings: list[str]) -> None:
        pass


@fault("always-the-same-warning", violates="catalog.clamped-data", subtle=True)
class AlwaysTheSameWarning(ClampedSilently):
    """Warns in every answer that it is not calibrated, and of nothing else."""

    async def set_data(self, buffer: Buffer, values: dict[str, Any]) -> list[str]:
        return [*await super().set_data(buffer, values), "not calibrated"]


@fault("first-value-only", violates="set-data.values")
class FirstValueOnly(Owner):
    """Sets only the first of several parameters."""

    async def set_data(self, buffer: Buffer, values: dict[str, Any]) -> list[str]:
        return await super().set_data(buffer, dict(list(values.items())[:1]))


@fault("words-of-15-bits", violates="set-data.values", subtle=True)
class WordsOf15Bits(Owner):
    """Truncates values of 16 bits to 15 bits."""

    async def set_data(self, buffer: Buffer, values: dict[str, Any]) -> list[str]:
        words = {param.name for param in buffer.peripheral.params if param.type == "uint16"}
        fitted = {
            name: v % 2**15 if name in words and v == int(v) else v for name, v in values.items()
        }
        return await super().set_data(buffer, fitted)


@fault("array-without-its-last", violates="set-data.values", subtle=True)
class ArrayWithoutItsLast(Owner):
    """Does not write the last element of an array."""

    async def set_data(self, buffer: Buffer, values: dict[str, Any]) -> list[str]:
        kept: dict[str, Any] = {}
        for name, value in values.items():
            before = buffer[buffer.param("read", name).name]
            listed = isinstance(value, list) and isinstance(before, list) and len(value) > 1
            kept[name] = (
                [*value[:-1], before[-1]] if listed and len(value) == len(before) else value
            )
        return await super().set_data(buffer, kept)


class _Marking(Owner):
    """Sets the Update bitmap in its own way."""

    def mark(self, buffer: Buffer, bitmap: str, names: Any) -> None:
        if bitmap == "update" and buffer.layout.control:
            buffer["control.update"] = self.marked(buffer, [*names])
        else:
            super().mark(buffer, bitmap, names)

    def marked(self, buffer: Buffer, names: list[str]) -> int:
        raise NotImplementedError


@fault("bits-replaced", violates="set-data.bits")
class BitsReplaced(_Marking):
    """Replaces the Update bitmap instead of adding bits."""

    def marked(self, buffer: Buffer, names: list[str]) -> int:
        return self.bits(buffer.peripheral, names)


@fault("bits-toggled", violates="set-data.bits", subtle=True)
class BitsToggled(_Marking):
    """Clears the bit of a parameter that is set a second time."""

    def marked(self, buffer: Buffer, names: list[str]) -> int:
        return int(buffer["control.update"] ^ self.bits(buffer.peripheral, names))


@fault("only-changes-marked", violates="set-data.bits", subtle=True)
class OnlyChangesMarked(Owner):
    """Sets no bit for a value that is equal to the old one."""

    async def set_data(self, buffer: Buffer, values: dict[str, Any]) -> list[str]:
        same = [n for n, v in values.items() if buffer[buffer.param("read", n).name] == v]
        before = buffer["control.update"] if buffer.layout.control else 0
        warnings = await super().set_data(buffer, values)
        if same and buffer.layout.control:
            async with self.operation(buffer):
                gone = self.bits(buffer.peripheral, same) & ~before
                buffer["control.update"] = buffer["control.update"] & ~gone
        return warnings


@fault("bits-of-four", violates="set-data.bits", subtle=True)
class BitsOfFour(Owner):
    """Sets the bits of at most four parameters."""

    def mark(self, buffer: Buffer, bitmap: str, names: Any) -> None:
        super().mark(buffer, bitmap, list(names)[:4])


@fault("milliseconds", violates="set-data.timestamp")
class Milliseconds(Owner):
    """Writes timestamps in milliseconds."""

    def now(self) -> float:
        return super().now() * 1000


@fault("asked-is-written", violates="set-data.timestamp", subtle=True)
class AskedIsWritten(TimeOfAsking, Owner):
    """Writes timestamps of the time before it waited for the mutex."""


@fault("time-of-a-look", violates="set-data.timestamp", subtle=True)
class TimeOfALookAtData(TimeOfALook, Owner):
    """Reads the clock only every five seconds."""


@fault("fraction-unpadded", violates="set-data.timestamp", subtle=True)
class FractionUnpaddedOfData(FractionUnpadded, Owner):
    """Writes the microseconds of timestamps without leading zeros."""


@fault("only-changes-stamped", violates="set-data.timestamp", subtle=True)
class OnlyChangesStamped(Owner):
    """Does not update the timestamp if the values are equal to the old ones."""

    async def set_data(self, buffer: Buffer, values: dict[str, Any]) -> list[str]:
        same = all(buffer[buffer.param("read", n).name] == v for n, v in values.items())
        before = buffer["read.timestamp"]
        warnings = await super().set_data(buffer, values)
        if same:
            async with self.operation(buffer):
                buffer["read.timestamp"] = before
        return warnings


@fault("read-values-taken", violates="get-write.values")
class ReadValuesTaken(Owner):
    """Answers values from the read block in get_write, if it contains them."""

    def stored(self, buffer: Buffer, block: str, name: str) -> Any:
        readable = name in buffer.layout.params("read")
        return super().stored(buffer, "read" if readable else block, name)


@fault("last-bit-overlooked", violates="get-write.values", subtle=True)
class LastBitOverlooked(Owner):
    """Omits the sixteenth parameter in get_write if there are others."""

    async def get_write(self, buffer: Buffer) -> dict[str, Any]:
        values = await super().get_write(buffer)
        last = buffer.peripheral.params[-1].name
        return {name: v for name, v in values.items() if name != last or len(values) == 1}


@fault("write-bits-kept", violates="get-write.clears")
class WriteBitsKept(Owner):
    """Does not clear the Write bitmap."""

    def clear(self, buffer: Buffer, bitmap: str) -> None:
        if bitmap != "write":
            super().clear(buffer, bitmap)


@fault("low-write-bits-cleared", violates="get-write.clears", subtle=True)
class LowWriteBitsCleared(Owner):
    """Clears only the lower 8 bits of the Write bitmap."""

    def clear(self, buffer: Buffer, bitmap: str) -> None:
        if bitmap == "write":
            buffer["control.write"] &= 0xFF00
        else:
            super().clear(buffer, bitmap)


@fault("writes-what-is-read", violates="cycle.dev-write")
class WritesWhatIsRead(Owner):
    """Sends values from the read block in a cycle, if it contains them."""

    def stored(self, buffer: Buffer, block: str, name: str) -> Any:
        readable = self.cycling and name in buffer.layout.params("read")
        return super().stored(buffer, "read" if readable else block, name)

    cycling = False

    async def cycle(self, buffer: Buffer) -> list[dict[str, Any]]:
        self.cycling = True
        try:
            return await super().cycle(buffer)
        finally:
            self.cycling = False


@fault("one-write-a-cycle", violates="cycle.dev-write", subtle=True)
class OneWriteACycle(Owner):
    """Sends only one value in a cycle, and drops the others."""

    async def cycle(self, buffer: Buffer) -> list[dict[str, Any]]:
        messages = await super().cycle(buffer)
        for message in messages:
            if message["message"] == "DEV_WRITE":
                message["values"] = dict([*message["values"].items()][:1])
        return messages


@fault("reads-instead-of-writing", violates="cycle.dev-write", subtle=True)
class ReadsInsteadOfWriting(Owner):
    """Sends only one message in a cycle, and drops the DEV_WRITE after a DEV_READ."""

    async def cycle(self, buffer: Buffer) -> list[dict[str, Any]]:
        return (await super().cycle(buffer))[:1]


@fault("second-element-kept", violates="set-data.values", subtle=True)
class SecondElementKept(Owner):
    """Writes the second element of an array only the first time."""

    async def set_data(self, buffer: Buffer, values: dict[str, Any]) -> list[str]:
        kept: dict[str, Any] = {}
        for name, value in values.items():
            before = buffer[buffer.param("read", name).name]
            same = isinstance(value, list) and len(value) == len(before) and any(before)
            kept[name] = [value[0], before[1], *value[2:]] if same and len(value) > 1 else value
        return await super().set_data(buffer, kept)


@fault("bits-change-sides", violates="set-data.bits", subtle=True)
class BitsChangeSides(Owner):
    """Toggles the bit of a parameter instead of setting it."""

    def mark(self, buffer: Buffer, bitmap: str, names: Any) -> None:
        if buffer.layout.control:
            buffer[f"control.{bitmap}"] ^= self.bits(buffer.peripheral, names)
