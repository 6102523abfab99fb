"""Test cases for a gamepad sender: the suite receives what it sends."""

from conformance.iut import Iut
from conformance.runtime.tester import takes_part

SMOKE = "gamepad.form"


async def smoke(iut: Iut) -> None:
    """It starts; whether it can be given input is the business of the tests."""
    async with iut.session() as session:
        await takes_part(session)
