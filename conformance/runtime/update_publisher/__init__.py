"""Test cases for an update publisher: the suite receives its updates."""

from conformance.iut import Iut
from conformance.runtime.tester import takes_part
from conformance.runtime.update_publisher.tester import new_uids

SMOKE = "update.form"


async def smoke(iut: Iut) -> None:
    """It starts, and sends something if it takes devices; how it does is the tests' business."""
    async with iut.session() as session:
        await takes_part(session, "connect", uid=new_uids()[0], params={"switch0": False})
