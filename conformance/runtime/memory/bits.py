"""Which bit is which parameter's, where an IUT does not declare that: what its operations show."""

import contextlib
from collections.abc import Mapping

from conformance.runtime.memory.buffer import Buffer
from conformance.runtime.memory.samples import sample
from conformance.verdicts import Inconclusive, NotExercised, Violation


async def observed(buffer: Buffer) -> dict[str, int]:
    """By parameter the bit that an operation with it alone sets, if each has one of its own.

    Empty where they do not, or where each has that of its index.
    """
    owns = buffer.tester.owns
    operation, bitmap = ("set_data", "update") if owns else ("set_value", "write")
    found: dict[str, int] = {}
    for param in buffer.peripheral.params:
        if param.name in buffer.layout.params("read" if owns else "write"):
            await buffer.put({f"control.{bitmap}": 0})
            value = sample(param, 3)
            given = (
                {"values": {param.name: value}} if owns else {"param": param.name, "value": value}
            )
            await buffer.tester.means(operation, **buffer.arguments, **given)
            bits = int((await buffer.look())[f"control.{bitmap}"])
            if bits.bit_count() != 1:
                return {}
            found[param.name] = bits.bit_length() - 1
    found |= await _answered(buffer, found)
    usual = all(buffer.peripheral.index(name) == bit for name, bit in found.items())
    return {} if usual or len({*found.values()}) < len(found) else found


async def _answered(buffer: Buffer, known: Mapping[str, int]) -> dict[str, int]:
    """The bits of the other parameters, for which an operation answers where it is offered."""
    owns = buffer.tester.owns
    block, bitmap = ("write", "write") if owns else ("read", "update")
    found: dict[str, int] = {}
    if all(name in known for name in buffer.layout.params(block)):
        return found
    with contextlib.suppress(Inconclusive, NotExercised):
        for bit in range(8 * buffer.layout[f"control.{bitmap}"].size):
            if bit not in known.values():
                await buffer.put({f"control.{bitmap}": 1 << bit})
                answer = await buffer.tester.means(f"get_{bitmap}", **buffer.arguments)
                names = [*answer.result] if isinstance(answer.result, dict) else []
                found |= {name: bit for name in names if name not in known}
    return found


def is_bitmap(buffer: Buffer, field: str, bits: int, came: int, sets: str) -> None:
    """Raise Violation unless a bitmap is the expected one bit.

    Of the requirement that the operation sets the bit, where there is none; of format.bitmaps where
    there are several: then it is not their order that is wrong.
    """
    if came != bits:
        one = came.bit_count() == 1
        about = None if one else "format.bitmaps" if came else sets
        expected = f"{buffer.place(field)} to be {bits:#06x} for {', '.join(buffer.named(bits))}"
        raise Violation(expected, f"it is {came:#06x}", about)
