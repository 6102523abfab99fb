"""Segmented messages to an agent, and malformed messages that it must survive.

All angles are whole, because an agent can round angles and still take every message.
"""

import pytest

from conformance.cases import compared, lasting, requirement
from conformance.iut import Iut
from conformance.segmentation import byte_by_byte, split_at
from conformance.simspark import malformed
from conformance.simspark.agent.tester import (
    bytes_of,
    connect_agent,
    send_groups_singly,
    send_in_pieces,
)
from conformance.simspark.tester import blame_pieces, expressions, require_reported

_BURST = 40  # groups in one write; more than a small queue of messages has room for


@requirement("frame.segmentation")
async def test_one_by_one(iut: Iut) -> None:
    """The agent takes each of many groups that arrive one by one."""
    await send_groups_singly(iut)


@requirement("frame.segmentation")
async def test_byte_by_byte(iut: Iut) -> None:
    """The agent takes a whole session that arrives byte by byte."""
    async with connect_agent(iut, segmentation=byte_by_byte) as tester:
        await tester.check_continues("a session that came byte by byte")


@requirement("frame.segmentation")
@pytest.mark.parametrize("place", [1, 2, 3, 4, 5, 40, -1])
async def test_cut_in_two(iut: Iut, place: int) -> None:
    """The agent takes a group that is cut in two at any place.

    The places are inside the length, after the length and inside the text.
    """
    async with connect_agent(iut) as tester:
        for angle in (-3.0, 4.0):
            after = f"a group that was cut at byte {place}"
            await tester.check_taken(angle, after, split_at([place]))


@requirement("frame.segmentation")
async def test_several_in_one_write(iut: Iut) -> None:
    """The agent takes the newest of several groups that arrive in one write.

    The write also contains the beginning of a further group. The rest of that group follows after a
    pause.
    """

    async def play(together: bool) -> None:
        what = "several groups in one write" if together else "groups that arrive one by one"
        async with connect_agent(iut) as tester:
            for cut, angle in ((2, 7.0), (30, -8.0)):
                # An agent that is late can skip all complete groups except the newest.
                others = [
                    bytes_of(expressions(f"(time (now {tester.now_next()}))"))
                    for _ in range(_BURST)
                ]
                whole = [*others, bytes_of(tester.group(angle=angle))]
                rest = f"(time (now {tester.now_next()}))(GS (t 0.00) (pm PlayOn))"
                last = bytes_of(expressions(rest))
                for some in (
                    [b"".join(whole) + last[:cut], last[cut:]] if together else [*whole, last]
                ):
                    await tester.session.send_bytes(some)
                    if together:
                        await tester.session.until_closed("quiet")
                    await tester.session.wait_until_taken()
                await tester.check_known_if_reported(angle, what)
                await tester.check_continues(what)

    await compared(iut, play, True, False, "agents.understood")


@requirement("robustness.empty-message")
async def test_empty_messages(iut: Iut) -> None:
    """The agent ignores messages of length 0."""
    async with connect_agent(iut) as tester:
        await tester.session.send([])
        await tester.check_continues("an empty message")
        await tester.session.send_bytes(bytes(4 * 20) + bytes_of(tester.group(angle=5.0)))
        await tester.check_known_if_reported(5.0, "twenty empty messages in the same write")
        await tester.check_continues("twenty empty messages")


async def _check_outlived(iut: Iut, data: bytes, what: str) -> None:
    async with connect_agent(iut) as tester:
        await malformed.check_outlived(tester.session, data, bytes_of(tester.group()) * 3, what)


@requirement("robustness.malformed")
@pytest.mark.parametrize("kind", malformed.TEXTS)
async def test_malformed(iut: Iut, kind: str) -> None:
    """After a malformed text, the agent closes the connection or takes the next groups."""
    await malformed.check_survived(
        iut, connect_agent, malformed.TEXTS[kind], f"a text that is {kind}"
    )


@requirement("frame.length-prefix")
@pytest.mark.parametrize("bit", malformed.HIGH_BITS)
async def test_all_bits_of_a_length(iut: Iut, bit: int) -> None:
    """The agent reads all 32 bits of a length.

    It takes no message from inside an incomplete message.
    """
    async with blame_pieces(iut, send_in_pieces), connect_agent(iut) as tester:
        await tester.send_group(angle=1.0)
        await tester.check_known_if_reported(1.0, "the init")
        inside = bytes_of(tester.group(angle=66.0))
        await tester.session.send_bytes(malformed.message_beyond_bit(bit, inside))
        if not await tester.session.until_closed("quiet"):
            require_reported(tester.session, tester.hinge)
            malformed.check_read_in_full(bit, (await tester.hinges()).get(tester.hinge) == 66.0)


@lasting
@requirement("robustness.huge-length")
@pytest.mark.parametrize("length", [0x7FFFFFFF, 0xFFFFFFFF])
async def test_huge_length(iut: Iut, length: int) -> None:
    """The agent survives a length of gigabytes."""
    await _check_outlived(iut, length.to_bytes(4, "big") + b"(time (now 1))" * 4000, f"{length:#x}")


@lasting
@requirement("robustness.wrong-length")
@pytest.mark.parametrize("kind", malformed.LENGTHS)
async def test_wrong_length(iut: Iut, kind: str) -> None:
    """The agent survives a wrong length."""
    await _check_outlived(iut, malformed.LENGTHS[kind], f"a length that is {kind}")
