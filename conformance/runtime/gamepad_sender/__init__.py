"""Test cases for a gamepad sender: the suite receives what it sends."""

from conformance.iut import Iut
from conformance.runtime.gamepad_sender.tester import pad
from conformance.runtime.tester import takes_part

SMOKE = "gamepad.form"


async def smoke(iut: Iut) -> None:
    """It starts, and sends something if it takes input; how it does is the tests' business."""
    async with iut.session() as session:
        # Of what is at rest it may have nothing to say.
        await takes_part(session, "gamepads", **{"0": pad(0.5, pressed=[0])})
