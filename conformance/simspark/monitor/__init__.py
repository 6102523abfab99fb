"""Test cases for a monitor or trainer: the suite plays its server."""

from conformance.iut import Iut
from conformance.simspark.monitor.showing import showing
from conformance.verdicts import Violation

SMOKE = "text.s-expressions"


async def smoke(iut: Iut) -> None:
    """It connects, and stays while it is shown a simulation."""
    async with showing(iut) as shown:
        await shown.tick(3)
        await shown.session.until_closed(shown.session.seconds("quiet"))
        about = "monitors.understood"
        try:
            await shown.session.unharmed("the beginning of a plain session")
        except Violation as died:
            raise Violation(died.expected, died.came, about) from died
        if shown.session.ended:
            raise Violation("the monitor to stay", "it closed the connection at once", about)
