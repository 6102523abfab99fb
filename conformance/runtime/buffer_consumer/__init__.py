"""Test cases for a consumer of buffers: the suite creates buffers, and runs its operations."""

from conformance.iut import Iut
from conformance.runtime.both import locks_basis, plain_basis
from conformance.runtime.buffer_consumer.tester import OPERATIONS, reads, set_value
from conformance.runtime.memory.answers import confused
from conformance.runtime.memory.samples import sample, unclamped
from conformance.runtime.memory.tester import ONE, memory_tester
from conformance.verdicts import Violation

SMOKE = "get-value.value"


async def smoke(iut: Iut) -> None:
    """Check that the consumer can read a buffer."""
    async with memory_tester(iut, ONE) as tester:
        buffer = await tester.make("arm")
        await tester.tested("get_value", **buffer.arguments, param="angle")


async def basis(iut: Iut) -> str:
    """Return the requirement that basic operations violate, or an empty string.

    The parameters of an arm are set several times, each with its bit, and read. Each operation
    waits for the mutex.
    """
    bits = []
    async with memory_tester(iut) as tester:
        buffer = await tester.make("arm")
        for param in (param for param in buffer.peripheral.params if param.writeable):
            field = f"write.params.{param.name}"
            for value in (*unclamped(param), sample(param, 3), sample(param, 5)):
                await buffer.put({field: sample(param, 4), "control.write": 0})
                try:
                    await set_value(buffer, param.name, value)
                    image = await buffer.look()
                    image.holds({field: value})
                except Violation as found:
                    return found.requirement or "set-value.value"
            bits.append(image["control.write"])
        if confused(bits):
            return "format.bitmaps"
        for param in (param for param in buffer.peripheral.params if param.readable):
            await buffer.put({f"read.params.{param.name}": sample(param, 3)})
            await reads(buffer, param.name, sample(param, 3))
        await locks_basis(buffer, OPERATIONS)
    await plain_basis(iut)
    return ""
