"""Test cases for an owner of buffers: the suite works its upper tester, and looks at its memory."""

from conformance.iut import Iut
from conformance.runtime.memory.tester import ONE, memory_tester

SMOKE = "lifecycle.created-valid"


async def smoke(iut: Iut) -> None:
    """A peripheral of a short catalog connects, and there is a valid buffer."""
    async with memory_tester(iut, ONE) as tester:
        buffer = await tester.connect("arm")
        (await buffer.look()).holds({"valid": 1})
