"""Test cases for a receiver of gamepad input: the suite sends it, and looks at the buffers."""

from conformance.iut import Iut
from conformance.runtime.gamepad_receiver.playing import pad, receiver

SMOKE = "lifecycle.created-valid"


async def smoke(iut: Iut) -> None:
    """The first message of a gamepad makes a buffer that is valid."""
    async with receiver(iut) as on:
        await on.play({"0": pad(lx=0.5)})
        await on.made("0")
