"""Test cases for a consumer of buffers: the suite creates buffers, and runs its operations."""

from conformance.iut import Iut
from conformance.runtime.memory.tester import ONE, memory_tester

SMOKE = "get-value.value"


async def smoke(iut: Iut) -> None:
    """Check that the consumer can read a buffer."""
    async with memory_tester(iut, ONE) as tester:
        buffer = await tester.make("arm")
        await tester.check_operation("get_value", **buffer.arguments, param="angle")
