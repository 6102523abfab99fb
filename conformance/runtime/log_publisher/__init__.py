"""Test cases for a log publisher: the suite receives its messages."""

from conformance.iut import Iut
from conformance.runtime.log_publisher.tester import open_publisher

SMOKE = "log.form"


async def smoke(iut: Iut) -> None:
    """Check that the publisher connects. The tests check whether it can be operated."""
    async with open_publisher(iut, operated=False):
        pass
