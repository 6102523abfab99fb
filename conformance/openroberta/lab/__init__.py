"""Test cases for a lab: the suite plays its robots."""

from conformance.iut import Iut
from conformance.openroberta.lab.tester import playing

SMOKE = "http.paths"


async def smoke(iut: Iut) -> None:
    """A registration, which is held; and is answered once its token is entered, if it can be."""
    async with playing(iut) as tester:
        robot = tester.robot()
        exchange = await robot.register()
        quiet = iut.configuration.seconds("quiet")
        message = await exchange.session.watch(within=quiet)
        if message is not None:
            early = "register.held" if message.name == "Abort" else None
            raise exchange.violation("no answer for a while", message, early)
        if await tester.offers("pair"):
            # The token was an unknown one.
            message = await exchange.session.watch(within=quiet)
            if message is not None:
                raise exchange.violation("no answer upon another token", message, "token.links")
            await robot.linked_by(exchange)
