"""Test cases for a lab: the suite plays its robots."""

from conformance.iut import Iut
from conformance.openroberta.lab.stage import staged

SMOKE = "http.paths"


async def smoke(iut: Iut) -> None:
    """A registration, which is held; and is answered once its token is entered, if it can be."""
    async with staged(iut) as stage:
        robot = stage.robot()
        held = await robot.register()
        await held.taken()
        if stage.offers("pair"):
            await stage.user("pair", token=robot.token)
            await held.answer("Repeat", requirement="register.repeat")
