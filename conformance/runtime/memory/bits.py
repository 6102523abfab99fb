"""Finds the bit of each parameter from the effects of the IUT's operations."""

import contextlib
from collections.abc import Iterable, Mapping

from conformance.runtime.memory.buffer import Buffer
from conformance.runtime.memory.samples import other_sample
from conformance.verdicts import Inconclusive, NotExercised, Violation


async def find_bits(buffer: Buffer) -> dict[str, int]:
    """Return the number of each parameter's bit, found by setting one parameter at a time.

    The result is empty if the bits are not unique, or if each bit equals the parameter's index.
    """
    owns = buffer.tester.owns
    operation, bitmap = ("set_data", "update") if owns else ("set_value", "write")
    block = "read" if owns else "write"
    found: dict[str, int] = {}
    for param in buffer.peripheral.params:
        if param.name in buffer.layout.params(block):
            await buffer.put({f"control.{bitmap}": 0})
            value = other_sample(param, (await buffer.look())[f"{block}.params.{param.name}"])
            given = (
                {"values": {param.name: value}} if owns else {"param": param.name, "value": value}
            )
            await buffer.tester.require(operation, **buffer.arguments, **given)
            bits = int((await buffer.look())[f"control.{bitmap}"])
            if bits.bit_count() != 1:
                return {}
            found[param.name] = bits.bit_length() - 1
    found |= await _find_answered_bits(buffer, found)
    usual = all(buffer.peripheral.index(name) == bit for name, bit in found.items())
    return {} if usual or len({*found.values()}) < len(found) else found


async def _find_answered_bits(buffer: Buffer, known: Mapping[str, int]) -> dict[str, int]:
    """Return the bits of the other parameters, found with an operation that reads a bitmap."""
    owns = buffer.tester.owns
    block, bitmap = ("write", "write") if owns else ("read", "update")
    if all(name in known for name in buffer.layout.params(block)):
        return {}
    unknown = set(range(8 * buffer.layout[f"control.{bitmap}"].size)) - {*known.values()}
    answered = await _names_by_bit(buffer, bitmap, unknown)
    return {name: bit for bit, names in answered.items() for name in names if name not in known}


async def _names_by_bit(buffer: Buffer, bitmap: str, bits: Iterable[int]) -> dict[int, list[str]]:
    """By bit: the parameters that an operation answers, if the IUT offers it."""
    answered: dict[int, list[str]] = {}
    with contextlib.suppress(Inconclusive, NotExercised):
        for bit in bits:
            await buffer.put({f"control.{bitmap}": 1 << bit})
            answer = await buffer.tester.require(f"get_{bitmap}", **buffer.arguments)
            answered[bit] = [*answer.result] if isinstance(answer.result, dict) else []
    return answered


def check_bitmap(
    buffer: Buffer, field: str, bits: int, came: int, names: Iterable[str], sets: str
) -> None:
    """Raise Violation unless a bitmap has the expected bits of these parameters.

    Without any bit, the violated requirement is ``sets``. With several bits, the violated
    requirement is format.bitmaps, because the order of the bits is not the error.
    """
    if came != bits:
        one = came.bit_count() == 1
        about = None if one else "format.bitmaps" if came else sets
        expected = f"{buffer.place(field)} to be {bits:#06x} for {', '.join(names)}"
        raise Violation(expected, f"it is {came:#06x}", about)
