"""Test cases for a monitor or trainer: the suite plays its server."""

from conformance.iut import Iut
from conformance.simspark.monitor.tester import introduce_monitor
from conformance.verdicts import Violation

SMOKE = "text.s-expressions"


async def smoke(iut: Iut) -> None:
    """The monitor connects, and keeps the connection during a short simulation."""
    async with introduce_monitor(iut) as tester:
        await tester.tick(3)
        await tester.session.until_closed(tester.session.seconds("quiet"))
        about = "monitors.understood"
        try:
            await tester.session.assert_alive("the beginning of a plain session")
        except Violation as crashed:
            raise Violation(crashed.expected, crashed.came, about) from crashed
        if tester.session.ended:
            raise Violation("the monitor to stay connected", "it disconnected at once", about)
