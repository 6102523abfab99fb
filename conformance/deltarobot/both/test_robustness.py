"""Malformed or misplaced input that must do no harm.

Examples are a second handshake, wrong lengths and undefined sizes.
"""

from typing import Any

import pytest

from conformance.cases import requirement
from conformance.deltarobot import tester
from conformance.deltarobot.codec import encode
from conformance.deltarobot.handshake import open_session
from conformance.deltarobot.messages import HANDSHAKE, VERSION, begin_message
from conformance.deltarobot.service import assert_alive, check_survives
from conformance.iut import Iut
from conformance.memory import check_growth, final_growth, memory_growth
from conformance.session import Session


@requirement("robustness.second-handshake")
@pytest.mark.parametrize(
    "again",
    [HANDSHAKE, ({**VERSION, "version": 2},)],
    ids=["same", "other-version"],
)
async def test_second_handshake(iut: Iut, again: tuple[Any, ...]) -> None:
    """A magic or version during a session is ignored or ends the session."""
    async with open_session(iut) as session:
        await session.send(*again)
        await check_survives(iut, session, "a second handshake")


HUGE = {
    "unknown": begin_message(0xF321, 2**32 - 1, b"abc"),
    "curve": begin_message(0xF009, 2**32 - 1, b"\0" * 12),
    "signed": begin_message(0xF321, 2**31, b"abc"),
}


@requirement("robustness.huge-length")
@pytest.mark.parametrize("kind", HUGE)
async def test_huge_length(iut: Iut, kind: str) -> None:
    """A message that announces gigabytes but carries few bytes allocates no gigabytes."""
    async with open_session(iut) as session:
        async with memory_growth(session) as growth:
            await session.send_bytes(HUGE[kind])
            await session.send_bytes(bytes(64 * 1024))
            taken = await final_growth(session, growth)
        check_growth(taken)
        await _check_harmless(
            iut, session, "a message that announces 4 GiB and does not carry them"
        )


@requirement("robustness.undefined-sizes")
@pytest.mark.parametrize("identifier", [0x5123, 0xE006])
async def test_undefined_size(iut: Iut, identifier: int) -> None:
    """A message of an undefined size can be refused, but crashes neither server nor client."""
    async with open_session(iut) as session:
        stray = identifier.to_bytes(2, "little") + b"\x01\x02\x03\x04"
        await session.send_bytes(stray + encode(HANDSHAKE[1]) * 3)
        await session.until_closed(session.seconds("quiet"))
        await _check_harmless(iut, session, f"the identifier {identifier:#06x}")


async def _check_harmless(iut: Iut, session: Session, after: str) -> None:
    """Raise Violation if the IUT crashes now or after the disconnect.

    A server must also serve its next client.
    """
    await assert_alive(session, after)
    await session.finish()
    await session.until_closed()
    await assert_alive(session, after)
    await tester.of(session).check_next_is_served(iut, session, after)
