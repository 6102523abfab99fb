"""Faults of the owner in the values that it puts into a buffer, or takes from it."""

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
    """Stores sensed values whatever they are."""

    def clamp(self, param: Parameter, value: Any, warnings: list[str]) -> Any:
        return value


@fault("zero-is-no-bound", violates="catalog.clamped-data", subtle=True)
class ZeroIsNoBound(Owner):
    """Takes a lower bound of 0 for none."""

    def clamp(self, param: Parameter, value: Any, warnings: list[str]) -> Any:
        return super().clamp(replace(param, lower=param.lower or -math.inf), value, warnings)


@fault("bounds-at-least-zero", violates="catalog.clamped-data", subtle=True)
class BoundsAtLeastZero(Owner):
    """Takes an upper bound below zero for none."""

    def clamp(self, param: Parameter, value: Any, warnings: list[str]) -> Any:
        upper = param.upper if param.upper >= 0 else math.inf
        return super().clamp(replace(param, upper=upper), value, warnings)


@fault("clamped-silently", violates="catalog.clamped-data", subtle=True)
class ClampedSilently(Owner):
    """Clamps sensed values without a warning."""

    def warn(self, text: str, warnings: list[str]) -> None:
        pass


@fault("first-value-only", violates="set-data.values")
class FirstValueOnly(Owner):
    """Sets the first parameter of several."""

    async def set_data(self, buffer: Buffer, values: dict[str, Any]) -> list[str]:
        return await super().set_data(buffer, dict(list(values.items())[:1]))


@fault("words-of-15-bits", violates="set-data.values", subtle=True)
class WordsOf15Bits(Owner):
    """Stores no number of 16 bits above 32767."""

    async def set_data(self, buffer: Buffer, values: dict[str, Any]) -> list[str]:
        words = {param.name for param in buffer.peripheral.params if param.type == "uint16"}
        fitted = {
            name: v % 2**15 if name in words and v == int(v) else v for name, v in values.items()
        }
        return await super().set_data(buffer, fitted)


@fault("array-without-its-last", violates="set-data.values", subtle=True)
class ArrayWithoutItsLast(Owner):
    """Leaves the last value of an array as it was."""

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
    """Marks in the Update bitmap in a way of its own."""

    def mark(self, buffer: Buffer, bitmap: str, names: Any) -> None:
        if bitmap == "update" and buffer.layout.control:
            buffer["control.update"] = self.marked(buffer, [*names])
        else:
            super().mark(buffer, bitmap, names)

    def marked(self, buffer: Buffer, names: list[str]) -> int:
        raise NotImplementedError


@fault("bits-replaced", violates="set-data.bits")
class BitsReplaced(_Marking):
    """Forgets the bits of the data before."""

    def marked(self, buffer: Buffer, names: list[str]) -> int:
        return self.bits(buffer.peripheral, names)


@fault("bits-toggled", violates="set-data.bits", subtle=True)
class BitsToggled(_Marking):
    """Clears the bit of a parameter that is set a second time."""

    def marked(self, buffer: Buffer, names: list[str]) -> int:
        return int(buffer["control.update"] ^ self.bits(buffer.peripheral, names))


@fault("only-changes-marked", violates="set-data.bits", subtle=True)
class OnlyChangesMarked(Owner):
    """Sets no bit where the value is the same as before."""

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
    """Sets the bits of four parameters at most."""

    def mark(self, buffer: Buffer, bitmap: str, names: Any) -> None:
        super().mark(buffer, bitmap, list(names)[:4])


@fault("milliseconds", violates="set-data.timestamp")
class Milliseconds(Owner):
    """Has timestamps in milliseconds."""

    def now(self) -> float:
        return super().now() * 1000


@fault("asked-is-written", violates="set-data.timestamp", subtle=True)
class AskedIsWritten(TimeOfAsking, Owner):
    """Has the time at which it asked for the mutex in its timestamps."""


@fault("time-of-a-look", violates="set-data.timestamp", subtle=True)
class TimeOfALookAtData(TimeOfALook, Owner):
    """Looks at the clock once in five seconds."""


@fault("fraction-unpadded", violates="set-data.timestamp", subtle=True)
class FractionUnpaddedOfData(FractionUnpadded, Owner):
    """Has microseconds without their zeros behind the point in its timestamps."""


@fault("only-changes-stamped", violates="set-data.timestamp", subtle=True)
class OnlyChangesStamped(Owner):
    """Keeps the timestamp where the values are the same as before."""

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
    """Takes what is to be written from the read block, where it has it."""

    def stored(self, buffer: Buffer, block: str, name: str) -> Any:
        readable = name in buffer.layout.params("read")
        return super().stored(buffer, "read" if readable else block, name)


@fault("last-bit-overlooked", violates="get-write.values", subtle=True)
class LastBitOverlooked(Owner):
    """Overlooks the sixteenth parameter among what is to be written."""

    async def get_write(self, buffer: Buffer) -> dict[str, Any]:
        values = await super().get_write(buffer)
        last = buffer.peripheral.params[-1].name
        return {name: v for name, v in values.items() if name != last or len(values) == 1}


@fault("write-bits-kept", violates="get-write.clears")
class WriteBitsKept(Owner):
    """Leaves the Write bitmap as it is."""

    def clear(self, buffer: Buffer, bitmap: str) -> None:
        if bitmap != "write":
            super().clear(buffer, bitmap)


@fault("low-write-bits-cleared", violates="get-write.clears", subtle=True)
class LowWriteBitsCleared(Owner):
    """Clears the lower 8 bits of the Write bitmap."""

    def clear(self, buffer: Buffer, bitmap: str) -> None:
        if bitmap == "write":
            buffer["control.write"] &= 0xFF00
        else:
            super().clear(buffer, bitmap)


@fault("writes-what-is-read", violates="cycle.dev-write")
class WritesWhatIsRead(Owner):
    """Sends what is in the read block, where the parameter is there."""

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
    """Sends one value a cycle, and forgets the others."""

    async def cycle(self, buffer: Buffer) -> list[dict[str, Any]]:
        messages = await super().cycle(buffer)
        for message in messages:
            if message["message"] == "DEV_WRITE":
                message["values"] = dict([*message["values"].items()][:1])
        return messages


@fault("reads-instead-of-writing", violates="cycle.dev-write", subtle=True)
class ReadsInsteadOfWriting(Owner):
    """Sends one message a cycle, and forgets what is to be written where there is to be read."""

    async def cycle(self, buffer: Buffer) -> list[dict[str, Any]]:
        return (await super().cycle(buffer))[:1]


@fault("second-element-kept", violates="set-data.values", subtle=True)
class SecondElementKept(Owner):
    """Leaves the second value of an array as it was, but for the first time."""

    async def set_data(self, buffer: Buffer, values: dict[str, Any]) -> list[str]:
        kept: dict[str, Any] = {}
        for name, value in values.items():
            before = buffer[buffer.param("read", name).name]
            same = isinstance(value, list) and len(value) == len(before) and any(before)
            kept[name] = [value[0], before[1], *value[2:]] if same and len(value) > 1 else value
        return await super().set_data(buffer, kept)


@fault("bits-change-sides", violates="set-data.bits", subtle=True)
class BitsChangeSides(Owner):
    """Clears the bit of a parameter that is set once more before anybody has taken it."""

    def mark(self, buffer: Buffer, bitmap: str, names: Any) -> None:
        if buffer.layout.control:
            buffer[f"control.{bitmap}"] ^= self.bits(buffer.peripheral, names)
