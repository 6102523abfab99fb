"""When a client sends what."""

from conformance.cases import check, in_one_loop, requirement
from conformance.iut import Iut

pytestmark = in_one_loop


@requirement("ping.waits")
async def test_waits_for_the_answer(iut: Iut) -> None:
    """As long as the first Ping is not answered no other comes."""
    async with iut.session() as session:
        ping = await session.expect("Ping")
        second = await session.watch("Ping")
        check(second is None, "no further Ping", "one came", second.event if second else None)
        await session.send({**ping.value, "kind": 2})
