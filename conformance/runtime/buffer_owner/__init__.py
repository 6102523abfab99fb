"""Test cases for an owner of buffers: its operations, and the resulting memory."""

from conformance.iut import Iut
from conformance.runtime.both import locks_basis, plain_basis
from conformance.runtime.buffer_owner.tester import OPERATIONS, set_alone
from conformance.runtime.memory.answers import confused
from conformance.runtime.memory.bits import differ
from conformance.runtime.memory.samples import sample
from conformance.runtime.memory.tester import ONE, memory_tester
from conformance.verdicts import Violation

SMOKE = "lifecycle.created-valid"


async def smoke(iut: Iut) -> None:
    """Check that a peripheral of a short catalog connects and has a valid buffer."""
    async with memory_tester(iut, ONE) as tester:
        buffer = await tester.connect("arm")
        (await buffer.look()).is_valid()


async def basis(iut: Iut) -> str:
    """Return the requirement that basic operations violate, or an empty string.

    The parameters of an arm are set one by one, each with its bit. Each operation waits for the
    mutex.
    """
    bits: dict[str, int] = {}
    async with memory_tester(iut) as tester:
        buffer = await tester.connect("arm")
        for param in (param for param in buffer.peripheral.params if param.readable):
            try:
                image = await set_alone(buffer, param)
                image.holds({f"read.params.{param.name}": sample(param, 3)})
            except Violation as found:
                return found.requirement or "set-data.values"
            bits[param.name] = image["control.update"]
        own = {name: bit.bit_length() - 1 for name, bit in bits.items()}
        if confused([*bits.values()]) or await differ(buffer, own):
            return "format.bitmaps"
        await locks_basis(buffer, OPERATIONS)
    await plain_basis(iut)
    return ""
