"""Faults about the layout of buffers."""

from dataclasses import replace

from conformance.runtime.memory.catalog import Parameter, Peripheral
from conformance.runtime.memory.layout import Field, Layout
from mocks.deviations import fault
from mocks.runtime.memory.peer import Asked


def move_field(layout: Layout, field: Field) -> Layout:
    """Return a layout with one field moved."""
    return Layout(layout.size, {**layout.fields, field.name: field})


class Narrow(Asked):
    """Reserves too few bytes for one field of the device control block."""

    narrow: str
    width = 1

    def layout(self, peripheral: Peripheral) -> Layout:
        layout = super().layout(peripheral)
        if not layout.control:
            return layout
        return move_field(layout, replace(layout[self.narrow], size=self.width))


class OtherParameters(Asked):
    """Makes the layout for changed parameters."""

    def parameter(self, param: Parameter) -> Parameter:
        raise NotImplementedError

    def layout(self, peripheral: Peripheral) -> Layout:
        params = tuple(self.parameter(param) for param in peripheral.params)
        return super().layout(replace(peripheral, params=params))


@fault("valid-in-the-mutex", violates="format.fields-apart", subtle=True)
class ValidInTheMutex(Asked):
    """Uses the last byte of the mutex, which is usually 0, for the valid bit."""

    def layout(self, peripheral: Peripheral) -> Layout:
        layout = super().layout(peripheral)
        return move_field(layout, replace(layout["valid"], offset=layout["mutex"].end - 1))


@fault("booleans-share-a-byte", violates="format.fields-apart")
class BooleansShareAByte(Asked):
    """Stores all booleans of a block in one byte."""

    def layout(self, peripheral: Peripheral) -> Layout:
        layout = super().layout(peripheral)
        for block in ("read", "write"):
            booleans = [
                f for f in layout.params(block).values() if (f.type, f.count) == ("bool", None)
            ]
            for field in booleans[1:]:
                layout = move_field(layout, replace(field, offset=booleans[0].offset))
        return layout


@fault("neither-is-read", violates="format.read-block", subtle=True)
class NeitherIsRead(OtherParameters):
    """Adds parameters to the read block that are neither readable nor writeable."""

    def parameter(self, param: Parameter) -> Parameter:
        return replace(param, readable=param.readable or not param.writeable)


@fault("everything-is-read", violates="format.read-block")
class EverythingIsRead(OtherParameters):
    """Adds all parameters to the read block."""

    def parameter(self, param: Parameter) -> Parameter:
        return replace(param, readable=True)


@fault("write-only-is-not", violates="format.write-block", subtle=True)
class WriteOnlyIsNot(OtherParameters):
    """Omits parameters from the write block that are not readable."""

    def parameter(self, param: Parameter) -> Parameter:
        return replace(param, writeable=param.writeable and param.readable)


@fault("everything-is-written", violates="format.write-block")
class EverythingIsWritten(OtherParameters):
    """Adds all parameters to the write block."""

    def parameter(self, param: Parameter) -> Parameter:
        return replace(param, writeable=True)


@fault("uid-of-64-bits", violates="format.control-widths")
class UidOf64Bits(Narrow):
    """Reserves 64 bits for a UID."""

    narrow = "control.uid"
    width = 8


@fault("subscription-of-8-bits", violates="format.control-widths", subtle=True)
class SubscriptionOf8Bits(Narrow):
    """Reserves 8 bits for the subscription."""

    narrow = "control.subscription"


@fault("update-of-8-bits", violates="format.control-block", subtle=True)
class UpdateOf8Bits(Narrow):
    """Reserves 8 bits for the Update bitmap."""

    narrow = "control.update"


@fault("first-bit-last", violates="format.bit-order")
class FirstBitLast(Asked):
    """Counts bits from the most significant."""

    def bits(self, peripheral: Peripheral, names: list[str]) -> int:
        return int(f"{super().bits(peripheral, names):016b}"[::-1], 2)

    def names(self, peripheral: Peripheral, bitmap: int) -> list[str]:
        return super().names(peripheral, int(f"{bitmap:016b}"[::-1], 2))


@fault("bits-of-the-block", violates="format.bit-order", subtle=True)
class BitsOfTheBlock(Asked):
    """Counts only parameters that are readable or writeable."""

    def bits(self, peripheral: Peripheral, names: list[str]) -> int:
        return super().bits(self.used(peripheral), names)

    def names(self, peripheral: Peripheral, bitmap: int) -> list[str]:
        return super().names(self.used(peripheral), bitmap)

    def used(self, peripheral: Peripheral) -> Peripheral:
        params = (p for p in peripheral.params if p.readable or p.writeable)
        return replace(peripheral, params=tuple(params))


@fault("read-of-8-bits", violates="format.control-block")
class ReadOf8Bits(Narrow):
    """Reserves 8 bits for the Read bitmap."""

    narrow = "control.read"


@fault("two-bits-each", violates="format.bitmaps")
class TwoBitsEach(Asked):
    """Sets the bit of the next parameter too."""

    def bits(self, peripheral: Peripheral, names: list[str]) -> int:
        bits = super().bits(peripheral, names)
        return (bits | bits << 1) & 0xFFFF


@fault("fifteen-bits", violates="format.bitmaps", subtle=True)
class FifteenBits(Asked):
    """Uses one bit for the last two of 16 parameters."""

    def bits(self, peripheral: Peripheral, names: list[str]) -> int:
        bits = super().bits(peripheral, names)
        return bits & 0x7FFF | (bits & 0x8000) >> 1


@fault("bits-from-one", violates="format.bitmaps", subtle=True)
class BitsFromOne(Asked):
    """Counts bits from 1, so that the last of 16 parameters has none."""

    def bits(self, peripheral: Peripheral, names: list[str]) -> int:
        return super().bits(peripheral, names) << 1 & 0xFFFF

    def names(self, peripheral: Peripheral, bitmap: int) -> list[str]:
        return super().names(peripheral, bitmap >> 1)
