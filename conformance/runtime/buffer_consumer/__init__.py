"""Test cases for a consumer of buffers: the suite makes buffers, and works its upper tester."""

from conformance.iut import Iut
from conformance.runtime.memory.bench import bench

SMOKE = "get-value.value"


async def smoke(iut: Iut) -> None:
    """It looks at a buffer."""
    async with bench(iut) as on:
        buffer = await on.make("arm")
        await on.tested("get_value", **buffer.arguments, param="angle")
