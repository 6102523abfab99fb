"""Answers of a server to Pings in any segmentation."""

from typing import Any

from hypothesis import strategies as st

from conformance.cases import explore, requirement
from conformance.definitions import protocols
from conformance.generation import valid
from conformance.iut import Iut
from conformance.segmentation import byte_by_byte

PINGS = valid(protocols.load("toy").schemas.schema("ping.json"))


@requirement("framing.layout")
async def test_frame_in_pieces(iut: Iut) -> None:
    """A Ping that arrives byte by byte is answered like any other."""
    async with iut.session(segmentation=byte_by_byte) as session:
        await session.send({"kind": 1, "number": 7})
        await session.expect("Pong", to="in answer to a Ping that came byte by byte")


@requirement("pong.answers")
@explore(pings=st.lists(PINGS, min_size=1, max_size=5))
async def test_every_number(iut: Iut, pings: list[Any]) -> None:
    """All numbers come back in order; the oracle compares them."""
    async with iut.session() as session:
        for ping in pings:
            await session.send(ping)
            await session.expect("Pong", to=f"in answer to Ping {ping['number']}")
