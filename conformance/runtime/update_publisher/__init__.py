"""Test cases for an update publisher: the suite receives its updates."""

from conformance.iut import Iut
from conformance.runtime.tester import wait_until_started
from conformance.runtime.update_publisher.tester import new_uids

SMOKE = "update.form"


async def smoke(iut: Iut) -> None:
    """Check that the publisher starts, and sends a message if it can be operated."""
    async with iut.session() as session:
        await wait_until_started(session, "connect", uid=new_uids()[0], params={"switch0": False})
