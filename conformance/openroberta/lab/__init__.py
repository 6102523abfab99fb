"""Test cases for a lab: the suite plays its robots."""

from conformance.harness.instance import SLOW
from conformance.iut import Iut
from conformance.openroberta.lab.tester import playing
from conformance.verdicts import Inconclusive

SMOKE = "http.paths"


async def smoke(iut: Iut) -> None:
    """Check that a registration is held, and answered after the token is entered if possible."""
    async with playing(iut) as tester:
        robot = tester.robot()
        exchange = await robot.register()
        quiet = iut.configuration.seconds("quiet")
        message = await exchange.session.wait_for(within=quiet)
        if message is None and exchange.session.size:
            # An answer has begun.
            message = await exchange.session.wait_for(within=iut.countdown("response"))
        if message is not None:
            early = "register.held" if message.name == "Abort" else None
            raise exchange.violation("no immediate answer", message, early)
        if await tester.offers("pair"):
            # The token of the operation was unknown to the lab.
            message = await exchange.session.wait_for(within=quiet)
            if message is not None:
                raise exchange.violation("no answer after another token", message, "token.links")
            await robot.linked_by(exchange)
        elif not exchange.session.received:
            # A held registration looks like a program that never answers.
            within = iut.configuration.total("startup", "response")
            asked = await robot.ask("/", None, method="GET")
            message = await asked.session.wait_for(within=iut.countdown(within))
            if not (message or asked.session.ended):
                raise Inconclusive(
                    f"expected an answer within {within:g} s, to a request for the page "
                    f"/, because a registration can be held; received nothing; {SLOW}"
                )
