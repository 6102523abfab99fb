"""Test cases for a gamepad receiver: the suite sends input, and reads the buffers."""

from conformance.iut import Iut
from conformance.runtime.gamepad_receiver.tester import gamepad_tester, pad

SMOKE = "lifecycle.created-valid"


async def smoke(iut: Iut) -> set[str]:
    """Send the first message of a gamepad; return the name of the buffer's object."""
    async with gamepad_tester(iut) as tester:
        await tester.play({"0": pad(lx=0.5)})
        return {(await tester.expect_buffer("0")).name}
