"""What a server takes from the stream, and what it puts there."""

from typing import Any

from conformance.cases import explore, in_one_loop, requirement
from conformance.deltarobot import drawn
from conformance.deltarobot.both.frames import *  # noqa: F403  both roles have the same
from conformance.deltarobot.life import goes_on
from conformance.deltarobot.opening import opened
from conformance.iut import Iut
from conformance.segmentation import split_at

pytestmark = in_one_loop


@requirement("messages.unknown-skipped")
@explore(plan=drawn.of_a_client(), cuts=drawn.cuts())
async def test_any_interleaving(iut: Iut, plan: list[Any], cuts: list[int]) -> None:
    """Any unknown messages, however they arrive, leave the session as it was."""
    async with opened(iut) as session:
        await session.send(*plan, segmentation=split_at(cuts))
        await goes_on(iut, session, f"{len(plan)} unknown messages")
