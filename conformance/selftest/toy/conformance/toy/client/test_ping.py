"""The times at which a client sends a Ping."""

from conformance.cases import check, requirement
from conformance.iut import Iut
from conformance.segmentation import byte_by_byte


@requirement("ping.waits")
async def test_waits_for_the_answer(iut: Iut) -> None:
    """No further Ping comes while the first one is unanswered."""
    async with iut.session() as session:
        ping = await session.expect("Ping")
        second = await session.wait_for("Ping")
        check(second is None, "no further Ping", "one came", second.event if second else None)
        await session.send({**ping.value, "kind": 2})


@requirement("framing.layout")
async def test_answer_in_pieces(iut: Iut) -> None:
    """A Pong that arrives byte by byte counts: the next Ping comes."""
    async with iut.session(segmentation=byte_by_byte) as session:
        ping = await session.expect("Ping")
        await session.send({**ping.value, "kind": 2})
        await session.expect("Ping", to="after a Pong that came byte by byte")
