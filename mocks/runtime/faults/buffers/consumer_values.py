"""Faults of the consumer about the values that it reads and writes."""

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


@fault("cached", violates="get-value.value")
class Cached(Consumer):
    """Caches values forever."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.known: dict[tuple[str, str], Any] = {}

    def value(self, buffer: Buffer, name: str) -> Any:
        return self.known.setdefault((buffer.name, name), super().value(buffer, name))


@fault("cached-for-a-moment", violates="buffers.on-demand", subtle=True)
class CachedForAMoment(Consumer):
    """Caches values for 50 ms."""

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
    """Stores values beyond a bound, except for the parameter power."""

    def clamp(self, param: Parameter, value: Any, warnings: list[str]) -> Any:
        clamped = super().clamp(param, value, warnings)
        return value if param.name != "power" else clamped


@fault("integers-unclamped", violates="catalog.clamped", subtle=True)
class IntegersUnclamped(Consumer):
    """Clamps only floats; integers wrap around."""

    def clamp(self, param: Parameter, value: Any, warnings: list[str]) -> Any:
        if param.kind != INTEGER or not isinstance(value, int):
            return super().clamp(param, value, warnings)
        return getattr(ctypes, f"c_{param.type}")(value).value


@fault("refused-beyond-bounds", violates="catalog.clamped")
class RefusedBeyondBounds(Consumer):
    """Fails if a value is beyond a bound."""

    def clamp(self, param: Parameter, value: Any, warnings: list[str]) -> Any:
        clamped = super().clamp(param, value, warnings)
        if warnings:
            raise ValueError(warnings[0])
        return clamped


@fault("lower-bounds-of-16-bits", violates="catalog.clamped", subtle=True)
class LowerBoundsOf16Bits(Consumer):
    """Ignores a lower bound that does not fit into 16 bits."""

    def clamp(self, param: Parameter, value: Any, warnings: list[str]) -> Any:
        lower = param.lower if param.lower >= -(2**15) else -inf
        return super().clamp(replace(param, lower=lower), value, warnings)


@fault("upper-bound-for-both", violates="catalog.clamped", subtle=True)
class UpperBoundForBoth(Consumer):
    """Stores the upper bound for values below a symmetric lower bound."""

    def clamp(self, param: Parameter, value: Any, warnings: list[str]) -> Any:
        clamped = super().clamp(param, value, warnings)
        below = bool(warnings) and param.lower == -param.upper and value < param.lower
        return -clamped if below else clamped


@fault("one-warning", violates="catalog.clamp-warning", subtle=True)
class OneWarning(Consumer):
    """Warns only once for each parameter."""

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
    """Warns about a value that equals a bound."""

    def clamp(self, param: Parameter, value: Any, warnings: list[str]) -> Any:
        clamped = super().clamp(param, value, warnings)
        if param.kind in (INTEGER, REAL) and not warnings and value in (param.lower, param.upper):
            self.warn(f"{param.name}: {value} is not between its bounds", warnings)
        return clamped


@fault("always-warned", violates="catalog.within-bounds")
class AlwaysWarned(Consumer):
    """Warns about every written value."""

    def clamp(self, param: Parameter, value: Any, warnings: list[str]) -> Any:
        self.warn(f"{param.name}: write with care", warnings)
        return super().clamp(param, value, warnings)


@fault("missing-bound-is-zero", violates="catalog.one-bound")
class MissingBoundIsZero(Consumer):
    """Uses 0 as a missing lower bound."""

    def clamp(self, param: Parameter, value: Any, warnings: list[str]) -> Any:
        lower = 0 if param.lower == -inf else param.lower
        return super().clamp(replace(param, lower=lower), value, warnings)


@fault("missing-bound-of-16-bits", violates="catalog.one-bound", subtle=True)
class MissingBoundOf16Bits(Consumer):
    """Uses 32767 as the missing upper bound of an integer that has a lower bound."""

    def clamp(self, param: Parameter, value: Any, warnings: list[str]) -> Any:
        if param.lower != float("-inf") and param.upper == float("inf") and param.kind == INTEGER:
            param = replace(param, upper=32767)
        return super().clamp(param, value, warnings)


@fault("refused-silently", violates="catalog.not-writeable", subtle=True)
class RefusedSilently(Consumer):
    """Ignores a forbidden write without a warning."""

    async def set_value(self, buffer: Buffer, name: str, value: Any) -> Warned:
        answer = await super().set_value(buffer, name, value)
        return answer if buffer.peripheral[name].writeable else Warned(None, [])


@fault("always-the-same-warning", violates="catalog.not-writeable", subtle=True)
class AlwaysTheSameWarning(Consumer):
    """Warns in every answer of set_value that it is slow, and of nothing else."""

    async def set_value(self, buffer: Buffer, name: str, value: Any) -> Warned:
        answer = await super().set_value(buffer, name, value)
        own = answer.warnings if buffer.peripheral[name].writeable else []
        return Warned(answer.result, [*own, "writing is slow"])


@fault("denormals-as-zero", violates="set-value.value", subtle=True)
class DenormalsAsZero(Consumer):
    """Stores zero for a number that is not normal in its type."""

    def put(self, buffer: Buffer, field: Field, raw: bytes) -> None:
        if field.type == "float" and not field.count:
            (bits,) = struct.unpack("<I", raw)
            raw = raw if bits >> 23 & 255 else bytes(len(raw))
        super().put(buffer, field, raw)


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
    """Answers the value in the write block for a parameter that is not readable."""

    async def get_value(self, buffer: Buffer, name: str) -> Warned:
        param = buffer.peripheral[name]
        if param.writeable and not param.readable:
            async with self.operation(buffer):
                return Warned(buffer[buffer.param("write", name).name], ["not readable"])
        return await super().get_value(buffer, name)


@fault("nothing-silently", violates="catalog.not-readable", subtle=True)
class NothingSilently(Consumer):
    """Answers nil without a warning for a parameter that is not readable."""

    async def get_value(self, buffer: Buffer, name: str) -> Warned:
        answer = await super().get_value(buffer, name)
        return answer if buffer.peripheral[name].readable else Warned(None, [])


@fault("wanted-for-sensed", violates="get-value.value")
class WantedForSensed(Consumer):
    """Answers the written value after a write."""

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
    """Reads the smallest integer of 64 bits as a positive number."""

    def value(self, buffer: Buffer, name: str) -> Any:
        value = super().value(buffer, name)
        return -value if value == -(2**63) else value


@fault("words-without-signs", violates="get-value.value", subtle=True)
class WordsWithoutSigns(Consumer):
    """Reads 16-bit integers in arrays as unsigned."""

    def value(self, buffer: Buffer, name: str) -> Any:
        value, param = super().value(buffer, name), buffer.peripheral[name]
        words = param.count is not None and param.type in ("short", "int16")
        return [number % 2**16 for number in value] if words else value


@fault("true-in-all-bits", violates="set-value.value", subtle=True)
class TrueInAllBits(Consumer):
    """Writes true as 255."""

    def put(self, buffer: Buffer, field: Field, raw: bytes) -> None:
        super().put(
            buffer, field, bytes(255 * byte for byte in raw) if field.type == "bool" else raw
        )


@fault("doubles-in-single-precision", violates="set-value.value", subtle=True)
class DoublesInSinglePrecision(Consumer):
    """Rounds doubles to single precision; large values become infinite."""

    def put(self, buffer: Buffer, field: Field, raw: bytes) -> None:
        if field.type == "double" and len(raw) == 8:
            raw = struct.pack("<d", ctypes.c_float(*struct.unpack("<d", raw)).value)
        super().put(buffer, field, raw)


@fault("first-of-an-array", violates="set-value.value", subtle=True)
class FirstOfAnArray(Consumer):
    """Writes only the first seven bytes of an array."""

    def put(self, buffer: Buffer, field: Field, raw: bytes) -> None:
        super().put(buffer, replace(field, size=min(7, len(raw))), raw[:7])


@fault("written-once", violates="set-value.value")
class WrittenOnce(Consumer):
    """Writes each parameter only once."""

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
    """Clears a bit that is already set."""

    def mark(self, buffer: Buffer, bitmap: str, names: Any) -> None:
        if buffer.layout.control:
            buffer[f"control.{bitmap}"] ^= self.bits(buffer.peripheral, names)


@fault("not-stamped", violates="set-value.timestamp")
class NotStamped(Consumer):
    """Never updates the timestamp."""

    def stamp(self, buffer: Buffer, block: str) -> None:
        pass


@fault("smart-devices-stamped", violates="set-value.timestamp", subtle=True)
class SmartDevicesStamped(Consumer):
    """Does not update the timestamp if the peripheral is not a Smart Device."""

    def stamp(self, buffer: Buffer, block: str) -> None:
        if buffer.layout.control:
            super().stamp(buffer, block)


@fault("clamped-not-stamped", violates="set-value.timestamp", subtle=True)
class ClampedNotStamped(Consumer):
    """Does not update the timestamp after a value was clamped."""

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
    """Writes timestamps of the time before it waited for the mutex."""


@fault("time-of-a-look", violates="set-value.timestamp", subtle=True)
class TimeOfALookAtValues(TimeOfALook, Consumer):
    """Reads the clock only every five seconds."""


@fault("fraction-unpadded", violates="set-value.timestamp", subtle=True)
class FractionUnpaddedOfValues(FractionUnpadded, Consumer):
    """Writes the microseconds of timestamps without leading zeros."""


@fault("since-the-start", violates="set-value.timestamp", subtle=True)
class SinceTheStart(Consumer):
    """Writes timestamps that count from the start of the machine."""

    def now(self) -> float:
        return time.monotonic()


@fault("second-element-kept", violates="set-value.value", subtle=True)
class SecondElementKept(Consumer):
    """Does not write the second byte of an array if the first byte is unchanged."""

    def put(self, buffer: Buffer, field: Field, raw: bytes) -> None:
        before = bytes(buffer.mapped.data[field.offset : field.end])
        again = field.count is not None and len(raw) > 1 and before[0] == raw[0]
        super().put(buffer, field, raw[:1] + before[1:2] + raw[2:] if again else raw)


@fault("16-parameters-opened", violates="catalog.no-limit", subtle=True)
class SixteenParametersOpened(Consumer):
    """Reports the layout of a buffer with more than 16 parameters, but cannot open it."""

    def open(self, name: str, type_: str) -> Buffer:
        if len(self.peripheral(type_).params) > 16:
            raise ValueError(f"{name} has too many parameters")
        return super().open(name, type_)


@fault("same-value-not-written", violates="set-value.bit", subtle=True)
class SameValueNotWritten(Consumer):
    """Does nothing if the new value is equal to the one in the write block."""

    async def set_value(self, buffer: Buffer, name: str, value: Any) -> Warned:
        if buffer.peripheral[name].writeable:
            async with self.operation(buffer):
                if buffer[buffer.param("write", name).name] == value:
                    return Warned(None, [])
        return await super().set_value(buffer, name, value)
