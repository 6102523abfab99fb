"""Test cases for an owner of buffers: its operations, and the resulting memory."""

from conformance.iut import Iut
from conformance.runtime.memory.tester import ONE, memory_tester

SMOKE = "lifecycle.created-valid"


async def smoke(iut: Iut) -> None:
    """Check that a peripheral of a short catalog connects and has a valid buffer."""
    async with memory_tester(iut, ONE) as tester:
        buffer = await tester.connect("arm")
        (await buffer.look()).check_valid()
