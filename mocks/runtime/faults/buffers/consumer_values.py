"""Faults of the consumer in what it reads and writes."""

import ctypes
import struct
import time
from dataclasses import replace
from math import inf
from typing import Any

from conformance.runtime.memory.catalog import INTEGER, REAL, Parameter
from conformance.runtime.memory.layout import Field
from mocks.deviations import fault
from mocks.runtime.buffer_consumer import Consumer
from mocks.runtime.faults.buffers.operations import FractionUnpadded, TimeOfALook, TimeOfAsking
from mocks.runtime.memory.peer import Buffer
from mocks.upper_tester import Warned


@fault("cached", violates="buffers.on-demand")
class Cached(Consumer):
    """Remembers what it has read."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.known: dict[tuple[str, str], Any] = {}

    def value(self, buffer: Buffer, name: str) -> Any:
        return self.known.setdefault((buffer.name, name), super().value(buffer, name))


@fault("cached-for-a-moment", violates="buffers.on-demand", subtle=True)
class CachedForAMoment(Consumer):
    """Remembers what it has read for 50 milliseconds."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.known: dict[tuple[str, str], tuple[float, Any]] = {}

    def value(self, buffer: Buffer, name: str) -> Any:
        at, known = self.known.get((buffer.name, name), (0.0, None))
        if time.monotonic() - at < 0.05:
            return known
        value = super().value(buffer, name)
        self.known[buffer.name, name] = time.monotonic(), value
        return value


@fault("unclamped", violates="catalog.clamped")
class Unclamped(Consumer):
    """Stores what is beyond a bound, if it fits the type."""

    def clamp(self, param: Parameter, value: Any, warnings: list[str]) -> Any:
        clamped = super().clamp(param, value, warnings)
        return value if param.name != "power" else clamped


@fault("integers-unclamped", violates="catalog.clamped", subtle=True)
class IntegersUnclamped(Consumer):
    """Clamps floats only; integers wrap."""

    def clamp(self, param: Parameter, value: Any, warnings: list[str]) -> Any:
        if param.kind != INTEGER or not isinstance(value, int):
            return super().clamp(param, value, warnings)
        return getattr(ctypes, f"c_{param.type}")(value).value


@fault("refused-beyond-bounds", violates="catalog.clamped")
class RefusedBeyondBounds(Consumer):
    """Fails where a value is beyond a bound."""

    def clamp(self, param: Parameter, value: Any, warnings: list[str]) -> Any:
        clamped = super().clamp(param, value, warnings)
        if warnings:
            raise ValueError(warnings[0])
        return clamped


@fault("lower-bounds-of-16-bits", violates="catalog.clamped", subtle=True)
class LowerBoundsOf16Bits(Consumer):
    """Takes a lower bound that does not fit into 16 bits for none."""

    def clamp(self, param: Parameter, value: Any, warnings: list[str]) -> Any:
        lower = param.lower if param.lower >= -(2**15) else -inf
        return super().clamp(replace(param, lower=lower), value, warnings)


@fault("upper-bound-for-both", violates="catalog.clamped", subtle=True)
class UpperBoundForBoth(Consumer):
    """Stores the upper bound for what is below the lower one, where they are as far from zero."""

    def clamp(self, param: Parameter, value: Any, warnings: list[str]) -> Any:
        clamped = super().clamp(param, value, warnings)
        below = bool(warnings) and param.lower == -param.upper and value < param.lower
        return -clamped if below else clamped


@fault("one-warning", violates="catalog.clamp-warning", subtle=True)
class OneWarning(Consumer):
    """Warns of each parameter once."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.warned: set[str] = set()

    def warn(self, text: str, warnings: list[str]) -> None:
        name = text.partition(":")[0]
        if name not in self.warned:
            self.warned.add(name)
            super().warn(text, warnings)


@fault("bounds-excluded", violates="catalog.within-bounds", subtle=True)
class BoundsExcluded(Consumer):
    """Warns of a value that is a bound."""

    def clamp(self, param: Parameter, value: Any, warnings: list[str]) -> Any:
        clamped = super().clamp(param, value, warnings)
        if param.kind in (INTEGER, REAL) and not warnings and value in (param.lower, param.upper):
            self.warn(f"{param.name}: {value} is not between its bounds", warnings)
        return clamped


@fault("always-warned", violates="catalog.within-bounds")
class AlwaysWarned(Consumer):
    """Warns of every value of what has bounds."""

    def clamp(self, param: Parameter, value: Any, warnings: list[str]) -> Any:
        self.warn(f"{param.name}: to be written with care", warnings)
        return super().clamp(param, value, warnings)


@fault("missing-bound-is-zero", violates="catalog.one-bound")
class MissingBoundIsZero(Consumer):
    """Takes a lower bound that is missing for 0."""

    def clamp(self, param: Parameter, value: Any, warnings: list[str]) -> Any:
        lower = 0 if param.lower == -inf else param.lower
        return super().clamp(replace(param, lower=lower), value, warnings)


@fault("missing-bound-of-16-bits", violates="catalog.one-bound", subtle=True)
class MissingBoundOf16Bits(Consumer):
    """Takes the upper bound of an integer, if it is missing and there is a lower one, for 32767."""

    def clamp(self, param: Parameter, value: Any, warnings: list[str]) -> Any:
        if param.lower != float("-inf") and param.upper == float("inf") and param.kind == INTEGER:
            param = replace(param, upper=32767)
        return super().clamp(param, value, warnings)


@fault("refused-silently", violates="catalog.not-writeable", subtle=True)
class RefusedSilently(Consumer):
    """Passes over a write that is not allowed."""

    async def set_value(self, buffer: Buffer, name: str, value: Any) -> Warned:
        answer = await super().set_value(buffer, name, value)
        return answer if buffer.peripheral[name].writeable else Warned(None, [])


@fault("writes-what-is-read", violates="catalog.not-writeable")
class WritesWhatIsRead(Consumer):
    """Writes a parameter that is not writeable to the read block, with a warning."""

    async def set_value(self, buffer: Buffer, name: str, value: Any) -> Warned:
        answer = await super().set_value(buffer, name, value)
        param = buffer.peripheral[name]
        if param.readable and not param.writeable:
            async with self.operation(buffer):
                field = buffer.param("read", name)
                self.put(buffer, field, field.encode(value))
        return answer


@fault("reads-what-is-written", violates="catalog.not-readable")
class ReadsWhatIsWritten(Consumer):
    """Answers what is in the write block of a parameter that is not readable."""

    async def get_value(self, buffer: Buffer, name: str) -> Warned:
        param = buffer.peripheral[name]
        if param.writeable and not param.readable:
            async with self.operation(buffer):
                return Warned(buffer[buffer.param("write", name).name], ["not readable"])
        return await super().get_value(buffer, name)


@fault("nothing-silently", violates="catalog.not-readable", subtle=True)
class NothingSilently(Consumer):
    """Answers nothing, without a warning, for a parameter that is not readable."""

    async def get_value(self, buffer: Buffer, name: str) -> Warned:
        answer = await super().get_value(buffer, name)
        return answer if buffer.peripheral[name].readable else Warned(None, [])


@fault("wanted-for-sensed", violates="get-value.value")
class WantedForSensed(Consumer):
    """Answers what was written, where something was."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.written: set[tuple[str, str]] = set()

    def value(self, buffer: Buffer, name: str) -> Any:
        if (buffer.name, name) in self.written:
            return buffer[buffer.param("write", name).name]
        return super().value(buffer, name)

    async def set_value(self, buffer: Buffer, name: str, value: Any) -> Warned:
        answer = await super().set_value(buffer, name, value)
        self.written.add((buffer.name, name))
        return answer


@fault("signs-lost", violates="get-value.value", subtle=True)
class SignsLost(Consumer):
    """Reads the smallest value of an integer of 64 bits as the greatest."""

    def value(self, buffer: Buffer, name: str) -> Any:
        value = super().value(buffer, name)
        return -value if value == -(2**63) else value


@fault("words-without-signs", violates="get-value.value", subtle=True)
class WordsWithoutSigns(Consumer):
    """Reads the integers of 16 bits in an array as if none were negative."""

    def value(self, buffer: Buffer, name: str) -> Any:
        value, param = super().value(buffer, name), buffer.peripheral[name]
        words = param.count is not None and param.type in ("short", "int16")
        return [number % 2**16 for number in value] if words else value


@fault("true-in-all-bits", violates="set-value.value", subtle=True)
class TrueInAllBits(Consumer):
    """Writes a boolean that is true as 255."""

    def put(self, buffer: Buffer, field: Field, raw: bytes) -> None:
        super().put(
            buffer, field, bytes(255 * byte for byte in raw) if field.type == "bool" else raw
        )


@fault("doubles-in-single-precision", violates="set-value.value", subtle=True)
class DoublesInSinglePrecision(Consumer):
    """Rounds a double to the precision of a float, and one that is too great to infinity."""

    def put(self, buffer: Buffer, field: Field, raw: bytes) -> None:
        if field.type == "double" and len(raw) == 8:
            raw = struct.pack("<d", ctypes.c_float(*struct.unpack("<d", raw)).value)
        super().put(buffer, field, raw)


@fault("first-of-an-array", violates="set-value.value", subtle=True)
class FirstOfAnArray(Consumer):
    """Writes the first seven bytes of an array."""

    def put(self, buffer: Buffer, field: Field, raw: bytes) -> None:
        super().put(buffer, replace(field, size=min(7, len(raw))), raw[:7])


@fault("written-once", violates="set-value.value")
class WrittenOnce(Consumer):
    """Writes a parameter once, and not a second time."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.written: set[tuple[str, str]] = set()

    def put(self, buffer: Buffer, field: Field, raw: bytes) -> None:
        if (buffer.name, field.name) not in self.written:
            self.written.add((buffer.name, field.name))
            super().put(buffer, field, raw)


@fault("no-bit", violates="set-value.bit")
class NoBit(Consumer):
    """Sets no bit of the Write bitmap."""

    def mark(self, buffer: Buffer, bitmap: str, names: Any) -> None:
        pass


@fault("other-bits-lost", violates="set-value.bit", subtle=True)
class OtherBitsLost(Consumer):
    """Clears the other bits of the Write bitmap."""

    def mark(self, buffer: Buffer, bitmap: str, names: Any) -> None:
        if buffer.layout.control:
            self.clear(buffer, bitmap)
        super().mark(buffer, bitmap, names)


@fault("bit-toggled", violates="set-value.bit", subtle=True)
class BitToggled(Consumer):
    """Clears a bit that is set already."""

    def mark(self, buffer: Buffer, bitmap: str, names: Any) -> None:
        if buffer.layout.control:
            buffer[f"control.{bitmap}"] ^= self.bits(buffer.peripheral, names)


@fault("not-stamped", violates="set-value.timestamp")
class NotStamped(Consumer):
    """Leaves the timestamp as it is."""

    def stamp(self, buffer: Buffer, block: str) -> None:
        pass


@fault("smart-devices-stamped", violates="set-value.timestamp", subtle=True)
class SmartDevicesStamped(Consumer):
    """Without a device_id, leaves the timestamp as it is."""

    def stamp(self, buffer: Buffer, block: str) -> None:
        if buffer.layout.control:
            super().stamp(buffer, block)


@fault("clamped-not-stamped", violates="set-value.timestamp", subtle=True)
class ClampedNotStamped(Consumer):
    """Leaves the timestamp as it is where it has stored another value than it was given."""

    clamped = False

    def warn(self, text: str, warnings: list[str]) -> None:
        self.clamped = True
        super().warn(text, warnings)

    def stamp(self, buffer: Buffer, block: str) -> None:
        if not self.clamped:
            super().stamp(buffer, block)
        self.clamped = False


@fault("asked-is-written", violates="set-value.timestamp", subtle=True)
class AskedIsWritten(TimeOfAsking, Consumer):
    """Has the time at which it asked for the mutex in its timestamps."""


@fault("time-of-a-look", violates="set-value.timestamp", subtle=True)
class TimeOfALookAtValues(TimeOfALook, Consumer):
    """Looks at the clock once in five seconds."""


@fault("fraction-unpadded", violates="set-value.timestamp", subtle=True)
class FractionUnpaddedOfValues(FractionUnpadded, Consumer):
    """Has microseconds without their zeros behind the point in its timestamps."""


@fault("since-the-start", violates="set-value.timestamp", subtle=True)
class SinceTheStart(Consumer):
    """Has timestamps that count from the start of the machine."""

    def now(self) -> float:
        return time.monotonic()


@fault("second-element-kept", violates="set-value.value", subtle=True)
class SecondElementKept(Consumer):
    """Does not write the second byte of an array that is written again."""

    def put(self, buffer: Buffer, field: Field, raw: bytes) -> None:
        before = bytes(buffer.mapped.data[field.offset : field.end])
        again = field.count is not None and len(raw) > 1 and before[0] == raw[0]
        super().put(buffer, field, raw[:1] + before[1:2] + raw[2:] if again else raw)


@fault("16-parameters-opened", violates="catalog.no-limit", subtle=True)
class SixteenParametersOpened(Consumer):
    """Tells the layout of a buffer with more than 16 parameters, and cannot open it."""

    def open(self, name: str, type_: str) -> Buffer:
        if len(self.peripheral(type_).params) > 16:
            raise ValueError(f"{name} has too many parameters")
        return super().open(name, type_)
