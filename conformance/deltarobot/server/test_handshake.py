"""The handshake of a server."""

from conformance.cases import in_one_loop, requirement
from conformance.deltarobot.handshake import shake_hands
from conformance.deltarobot.messages import VERSION, end
from conformance.deltarobot.refusal import unserved
from conformance.iut import Iut

pytestmark = in_one_loop


@requirement("handshake.closes-partial")
async def test_half_a_handshake_of_the_next_client(iut: Iut) -> None:
    """What one client has sent does not count for the next, which is dropped like any other."""
    async with iut.instance() as instance:
        async with iut.connect(instance) as session:
            await shake_hands(session)
            await session.send(end("bye"))
            await session.finish()
            await session.until_closed()
        async with iut.connect(instance) as session:
            await session.send(VERSION)
            await unserved(iut, session, "only a version from the next client")
