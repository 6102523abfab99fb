"""Test cases for a gamepad receiver: the suite sends input, and reads the buffers."""

from conformance.iut import Iut
from conformance.runtime.gamepad_receiver.tester import AXES, gamepad_tester, pad

SMOKE = "lifecycle.created-valid"


async def smoke(iut: Iut) -> set[str]:
    """Send the first message of a gamepad; return the name of the buffer's object."""
    async with gamepad_tester(iut) as tester:
        await tester.play({"0": pad(lx=0.5)})
        return {(await tester.made("0")).name}


async def basis(iut: Iut) -> None:
    """Raise Violation if the buffer of a gamepad does not show plain messages."""
    async with gamepad_tester(iut) as tester:
        for positions in ((0.5, -0.25, 0.125, 0.75), (1.0, 0.0, 0.0, -1.0), (0.0,) * 4):
            axes = dict(zip(AXES, positions, strict=True))
            await tester.plays({"0": pad(**axes)}, "0", axes)
