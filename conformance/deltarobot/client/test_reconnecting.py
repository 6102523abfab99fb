"""A client that connects again: each of its connections begins anew."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

from conformance.cases import in_one_loop, requirement
from conformance.deltarobot.client.tester import all_answered
from conformance.deltarobot.handshake import shake_hands
from conformance.deltarobot.messages import HANDSHAKE, UNKNOWN, curve, end, ping
from conformance.deltarobot.refusal import refused
from conformance.iut import Iut
from conformance.session import Session
from conformance.verdicts import NotExercised, Unreachable

pytestmark = in_one_loop

_STAYS_AWAY = "it connects once only"


@contextlib.asynccontextmanager
async def again(iut: Iut) -> AsyncIterator[Session]:
    """The second connection of a client whose server has ended the first.

    Raises NotExercised where it makes none.
    """
    if iut.memory.get(_STAYS_AWAY):
        raise NotExercised(_STAYS_AWAY)
    async with contextlib.AsyncExitStack() as stack:
        instance = await stack.enter_async_context(iut.instance())
        async with iut.connect(instance) as session:
            await shake_hands(session)
            await session.send(curve((0.0, 0.0, 0.0)), ping(1), end("back soon"))
            await session.finish()
            await session.until_closed()
        try:
            async with asyncio.timeout(2 * iut.configuration.seconds("response")):
                session = await stack.enter_async_context(iut.connect(instance))
        except (TimeoutError, Unreachable):
            iut.memory[_STAYS_AWAY] = True
            raise NotExercised(_STAYS_AWAY) from None
        yield session


@requirement("handshake.magic-sent")
async def test_greets_again(iut: Iut) -> None:
    """Magic and version are sent in each connection."""
    async with again(iut) as session:
        await shake_hands(session)


@requirement("pong.each")
async def test_answers_again(iut: Iut) -> None:
    """Pings are answered in each connection, be their numbers those of an earlier one."""
    async with again(iut) as session:
        await shake_hands(session)
        numbers = [1, 1 << 63, 2]
        await session.send(*map(ping, numbers))
        await all_answered(session, numbers, " in the second connection")


@requirement("handshake.closes-different")
async def test_different_message_again(iut: Iut) -> None:
    """A server is not trusted because it, or another, had the right handshake before."""
    async with again(iut) as session:
        await session.send(UNKNOWN["64-bit"], *HANDSHAKE)
        await refused(iut, session, "an unknown message first in the second connection")
