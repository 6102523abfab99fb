"""Test cases for an update publisher: the suite receives its updates."""

from conformance.iut import Iut
from conformance.runtime.tester import takes_part

SMOKE = "update.form"


async def smoke(iut: Iut) -> None:
    """It starts; whether it can be given devices is the business of the tests."""
    async with iut.session() as session:
        await takes_part(session)
