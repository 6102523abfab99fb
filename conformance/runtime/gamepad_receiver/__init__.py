"""Test cases for a receiver of gamepad input: the suite sends it, and looks at the buffers."""

from conformance.iut import Iut
from conformance.runtime.gamepad_receiver.tester import gamepad_tester, pad

SMOKE = "lifecycle.created-valid"


async def smoke(iut: Iut) -> set[str]:
    """The first message of a gamepad makes a buffer that is valid; the name of its object."""
    async with gamepad_tester(iut) as tester:
        await tester.play({"0": pad(lx=0.5)})
        return {(await tester.made("0")).name}


async def basis(iut: Iut) -> None:
    """Raise Violation where a plain message of one gamepad does not show in its buffer."""
    axes = {"lx": 0.5, "ly": -0.25, "rx": 0.125, "ry": 0.75}
    async with gamepad_tester(iut) as tester:
        await tester.plays({"0": pad(**axes)}, "0", axes)
