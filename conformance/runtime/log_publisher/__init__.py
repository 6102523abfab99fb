"""Test cases for a log publisher: the suite reads what it publishes."""

from conformance.iut import Iut
from conformance.runtime.log_publisher.tester import publishing

SMOKE = "log.form"


async def smoke(iut: Iut) -> None:
    """It connects; whether it can be made to log is the business of the tests."""
    async with publishing(iut):
        pass
