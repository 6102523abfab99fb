"""Test cases for a gamepad sender: the suite receives its messages."""

from conformance.iut import Iut
from conformance.runtime.gamepad_sender.tester import pad
from conformance.runtime.tester import wait_until_started

SMOKE = "gamepad.form"


async def smoke(iut: Iut) -> None:
    """Check that the sender starts, and sends a message if it can be operated."""
    async with iut.session() as session:
        # A sender may send nothing for a gamepad at rest.
        await wait_until_started(session, "gamepads", **{"0": pad(0.5, pressed=[0])})
