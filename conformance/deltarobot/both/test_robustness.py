"""What any sane peer survives: a handshake out of place, lengths that lie, undefined sizes."""

from typing import Any

import pytest

from conformance.cases import check, requirement
from conformance.deltarobot import tester
from conformance.deltarobot.codec import encode
from conformance.deltarobot.handshake import opened
from conformance.deltarobot.messages import HANDSHAKE, VERSION, announcing
from conformance.deltarobot.service import lives_on, unharmed
from conformance.iut import Iut
from conformance.session import Session

GIBIBYTE = 1 << 30
_GROWING = 16 << 20  # bytes by which memory grows that is still being taken


@requirement("robustness.second-handshake")
@pytest.mark.parametrize(
    "again",
    [HANDSHAKE, ({**VERSION, "version": 2},)],
    ids=["same", "other-version"],
)
async def test_second_handshake(iut: Iut, again: tuple[Any, ...]) -> None:
    """A magic or version in the middle of a session is ignored or ends it."""
    async with opened(iut) as session:
        await session.send(*again)
        await lives_on(iut, session, "a second handshake")


HUGE = {
    "unknown": announcing(0xF321, 2**32 - 1, b"abc"),
    "curve": announcing(0xF009, 2**32 - 1, b"\0" * 12),
    "signed": announcing(0xF321, 2**31, b"abc"),
}


@requirement("robustness.huge-length")
@pytest.mark.parametrize("kind", HUGE)
async def test_huge_length(iut: Iut, kind: str) -> None:
    """A message that announces gigabytes, and brings a few bytes, takes no gigabytes of memory."""
    async with opened(iut) as session:
        before = _memory(session)
        await session.send_bytes(HUGE[kind])
        await session.send_bytes(bytes(64 * 1024))
        taken = await _taken(session, before)
        check(taken < GIBIBYTE, "no memory to be taken for it", f"it took {taken >> 20} MiB")
        await _harmless(iut, session, "a message of four gigabytes that do not come")


@requirement("robustness.undefined-sizes")
@pytest.mark.parametrize("identifier", [0x5123, 0xE006])
async def test_undefined_size(iut: Iut, identifier: int) -> None:
    """A message of an undefined size may be refused, but kills neither server nor client."""
    async with opened(iut) as session:
        stray = identifier.to_bytes(2, "little") + b"\x01\x02\x03\x04"
        await session.send_bytes(stray + encode(HANDSHAKE[1]) * 3)
        await session.until_closed(session.seconds("quiet"))
        await _harmless(iut, session, f"the identifier {identifier:#06x}")


async def _harmless(iut: Iut, session: Session, after: str) -> None:
    """Nobody dies of it, now or when the connection ends; a server serves its next client."""
    await unharmed(session, after)
    await session.finish()
    await session.until_closed()
    await unharmed(session, after)
    await tester.of(session).next_is_served(iut, session, after)


async def _taken(session: Session, before: int) -> int:
    """The memory in bytes that it has taken, once that no longer grows or is too much."""
    deadline = session.now + session.instance.configuration.max_wait
    while True:
        await session.until_closed(session.seconds("quiet"))
        taken = _memory(session)
        if taken >= GIBIBYTE or taken - before < _GROWING or session.now > deadline:
            return taken
        before = taken


def _memory(session: Session) -> int:
    """The largest size in bytes that the IUT's process has had in memory; 0 if it is not known."""
    process = session.instance.process
    return process.peak if process else 0
