"""Test cases for an owner of buffers: the suite works its upper tester, and looks at its memory."""

from conformance.iut import Iut
from conformance.runtime.buffer_owner.tester import bits_of
from conformance.runtime.memory.tester import ONE, memory_tester

SMOKE = "lifecycle.created-valid"


async def smoke(iut: Iut) -> None:
    """A peripheral of a short catalog connects, and there is a valid buffer."""
    async with memory_tester(iut, ONE) as tester:
        buffer = await tester.connect("arm")
        (await buffer.look()).holds({"valid": 1})


async def basis(iut: Iut) -> str:
    """What it violates who gives two parameters the same bit: all that has a bitmap rests on it."""
    async with memory_tester(iut) as tester:
        buffer = await tester.connect("arm")
        params = (param for param in buffer.peripheral.params if param.readable)
        bits = [await bits_of(buffer, param.name) for param in params]
    # Where no bit is set, that is what is wrong.
    shared = all(bits) and len(set(bits)) < len(bits)
    return "format.bitmaps" if shared else ""
