"""Test cases for an update publisher: the suite receives its updates."""

from conformance.iut import Iut
from conformance.runtime.tester import operated, takes_part
from conformance.runtime.update_publisher.tester import connect, listed, new_uids

SMOKE = "update.form"


async def smoke(iut: Iut) -> None:
    """Check that the publisher starts, and sends a message if it can be operated."""
    async with iut.session() as session:
        await takes_part(session, "connect", uid=new_uids()[0], params={"switch0": False})


async def basis(iut: Iut) -> None:
    """Raise Violation if updates do not contain the only device."""
    one, *_ = new_uids()
    async with operated(iut) as session:
        await connect(session, one, {"value": 1})
        await listed(session, one)
