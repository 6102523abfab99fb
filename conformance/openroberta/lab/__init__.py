"""Test cases for a lab: the suite plays its robots."""

from conformance.iut import Iut
from conformance.openroberta.lab.stage import staged

SMOKE = "http.paths"


async def smoke(iut: Iut) -> None:
    """A registration, which is held; and is answered once its token is entered, if it can be."""
    async with staged(iut) as stage:
        robot = stage.robot()
        held = await robot.register()
        message = await held.session.watch(within=iut.configuration.seconds("quiet"))
        if message is not None:
            early = "register.held" if message.name == "Abort" else None
            raise held.violation("no answer for a while", message, early)
        if stage.offers("pair"):
            await robot.linked_by(held)
