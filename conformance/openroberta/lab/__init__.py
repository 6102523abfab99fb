"""Test cases for a lab: the suite plays its robots."""

from conformance.harness.instance import SLOW
from conformance.iut import Iut
from conformance.openroberta import naming
from conformance.openroberta.lab.tester import playing
from conformance.openroberta.lab.tester.exchange import refusal
from conformance.openroberta.lab.tester.robot import HELD, LINKED, TOLD
from conformance.verdicts import Inconclusive, Violation

SMOKE = "http.paths"


async def smoke(iut: Iut) -> None:
    """Check that a registration is held, and answered after the token is entered if possible."""
    async with playing(iut) as tester:
        robot = tester.robot()
        exchange = await robot.register()
        quiet = iut.configuration.seconds("quiet")
        message = await exchange.session.watch(within=quiet)
        if message is not None:
            early = "register.held" if message.name == "Abort" else None
            raise exchange.violation("no immediate answer", message, early)
        if await tester.offers("pair"):
            # The token of the operation was unknown to the lab.
            message = await exchange.session.watch(within=quiet)
            if message is not None:
                raise exchange.violation("no answer after another token", message, "token.links")
            await robot.linked_by(exchange)
        elif not exchange.session.received:
            # A held registration looks like a program that never answers.
            within = iut.configuration.total("startup", "response")
            asked = await robot.ask("/", None, method="GET")
            message = await asked.session.watch(within=iut.left(within))
            if not (message or asked.session.ended):
                raise Inconclusive(
                    f"expected an answer within {within:g} s, to a request for the page "
                    f"/, because a registration can be held; received nothing; {SLOW}"
                )


async def basis(iut: Iut) -> str:
    """Return the requirement that a plain session violates, or an empty string.

    The session has a robot that runs a program and pushes again, and then a second robot. The
    requirement is `TOLD`, `HELD` or `LINKED`.
    """
    async with playing(iut) as tester:
        if not (await tester.offers("pair") and await tester.offers("run")):
            return ""
        robot = tester.robot()
        try:
            await robot.link()
            await robot.commanded("run", "Download", TOLD)
            await robot.file()
            session = (await robot.push()).session
            message = await session.watch(within=tester.seconds("quiet"))
            if message is not None and message.name in naming.CALLS:
                return HELD
            if session.ended or (message is not None and message.name != "Repeat"):
                return ""
            await tester.linked()
            return LINKED if await refusal((await robot.push()).session) else ""
        except Violation as lost:
            return TOLD if lost.requirement == TOLD else ""
