"""What comes to a monitor as a stream brings it, and what no sane monitor dies of."""

import pytest

from conformance.cases import in_one_loop, requirement
from conformance.iut import Iut
from conformance.segmentation import byte_by_byte, split_at
from conformance.simspark import hostile, pieces
from conformance.simspark.monitor.showing import connected, showing

pytestmark = in_one_loop


@requirement("frame.segmentation")
async def test_cut_in_two(iut: Iut) -> None:
    """Messages that are cut in two, inside their length, behind it or in their text, all count."""
    async with showing(iut) as shown:
        for place in (1, 2, 3, 4, 5, 17, -1):
            text = shown.partial(more=f"(score_right {place % 50})")
            await shown.say(text, segmentation=split_at([place]))
            if shown.session.instance.upper.offers("state"):
                await shown.knows(score_right=place % 50)
        await shown.follows("messages that were cut in two")


@requirement("frame.segmentation")
async def test_byte_by_byte(iut: Iut) -> None:
    """A message that comes byte by byte counts."""
    async with showing(iut) as shown:
        await shown.say(pieces.partial("(time 9)", pieces.moved(7, 8)), segmentation=byte_by_byte)
        if shown.session.instance.upper.offers("state"):
            await shown.knows(ball=[7, 8, 0.042])
        await shown.follows("a message that came byte by byte")


@requirement("frame.segmentation")
async def test_all_in_one_write(iut: Iut) -> None:
    """Introduction and updates may come in one write, and a write may end inside a message."""
    async with connected(iut) as shown:
        graph = pieces.scene(0, 0)
        # What only one of the updates tells shows whether that one counted.
        scores = {4: "(score_right 27)", 8: "(score_left 31)"}
        data = shown.bytes_of(
            pieces.full(pieces.ENVIRONMENT, graph),
            pieces.full(pieces.state(0), graph),
            *(shown.partial(pieces.moved(step, 0), scores.get(step, "")) for step in range(1, 12)),
        )
        last = shown.bytes_of(shown.partial(pieces.moved(13, 0)))
        await shown.session.send_bytes(data + last[:2])
        await shown.session.taken()
        await shown.session.send_bytes(last[2:])
        if shown.session.instance.upper.offers("state"):
            await shown.knows(ball=[13, 0, 0.042], score_right=27, score_left=31)
        await shown.follows("everything in one write")


@requirement("frame.length-prefix")
async def test_large_scenes(iut: Iut) -> None:
    """Messages of 255 bytes up to half a million are taken in full."""
    async with showing(iut) as shown:
        for count in (1, 22, 1500):
            robots = "".join(pieces.robot(n % 15, n % 9, n % 11 + 1) for n in range(count))
            await shown.say(pieces.full(pieces.state(1), pieces.scene(count % 10, 1, more=robots)))
            if shown.session.instance.upper.offers("state"):
                await shown.knows(ball=[count % 10, 1, 0.042])
        await shown.say(pieces.full(pieces.state(2), pieces.scene(0, 0)))
        for size in (255, 256, 65_536):
            payload = shown.bytes_of(shown.partial())[4:]
            payload += b" " * (size - len(payload))
            await shown.session.send_bytes(len(payload).to_bytes(4, "big") + payload)
        await shown.follows("large messages")


@requirement("robustness.empty-message")
async def test_empty_messages(iut: Iut) -> None:
    """Messages of length 0 have no effect."""
    async with showing(iut) as shown:
        await shown.session.send([])
        await shown.follows("an empty message")
        await shown.session.send_bytes(bytes(400))
        await shown.follows("a hundred empty messages")


async def _outlives(iut: Iut, data: bytes, what: str) -> None:
    async with showing(iut) as shown:
        await hostile.outlives(
            shown.session, data, shown.bytes_of(shown.partial(), shown.partial()), what
        )


@requirement("robustness.malformed")
@pytest.mark.parametrize("kind", hostile.TEXTS)
async def test_malformed(iut: Iut, kind: str) -> None:
    """It does not die of a text that is none."""
    await _outlives(iut, hostile.TEXTS[kind], f"a text that is {kind}")


@requirement("robustness.huge-length")
@pytest.mark.parametrize("length", [0x7FFFFFFF, 0xFFFFFFFF])
async def test_huge_length(iut: Iut, length: int) -> None:
    """It does not die of a length of gigabytes."""
    await _outlives(iut, length.to_bytes(4, "big") + b"((time 1))" * 6000, f"{length:#x}")


@requirement("robustness.wrong-length")
@pytest.mark.parametrize("kind", hostile.LENGTHS)
async def test_wrong_length(iut: Iut, kind: str) -> None:
    """It does not die of a length that is wrong."""
    await _outlives(iut, hostile.LENGTHS[kind], f"a length that is {kind}")


ODD = {
    "an update before any full graph": pieces.partial("(time 1)", "((nd)(nd (nd)))"),
    "an empty scene": pieces.full(pieces.state(1), "()"),
    "an empty node": pieces.full(pieces.state(1), "((nd))"),
    "an update with fewer nodes": pieces.partial("(time 1)", "((nd (nd)))"),
    "an update with more nodes": pieces.partial(
        "(time 1)", "((nd (nd (nd (nd))))(nd)(nd)(nd)(nd))"
    ),
    "numbers that are none": pieces.partial("(time nan)(score_left x)", pieces.STILL),
    "a transform of none": pieces.full(
        pieces.state(1), "((nd TRF (SLT nan inf x)(nd StaticMesh (load)(sSc))))"
    ),
    "a play mode beyond the list": pieces.partial("(time 1)(play_mode 99)", pieces.STILL),
    "a negative play mode": pieces.partial("(time 1)(play_mode -1)", pieces.STILL),
    "values without any": pieces.partial("(time)(play_mode)(half)", pieces.STILL),
    "a message of one part": "((time 1))",
    "a header of another name": "((time 1))(RXG 0 1)()",
    "deep nodes": pieces.full(pieces.state(1), "(nd BN " * 3000 + ")" * 3000),
}


@requirement("robustness.odd-scenes")
@pytest.mark.parametrize("kind", ODD)
async def test_odd_scenes(iut: Iut, kind: str) -> None:
    """It does not die of a scene or a state that it cannot use."""
    async with connected(iut) as shown:
        if kind.startswith("an update before"):
            await shown.say(ODD[kind])
        await shown.introduce()
        await shown.say(ODD[kind])
        await shown.introduce()
        await shown.tick(2)
        await shown.session.until_closed(shown.session.seconds("quiet") / 2)
        await shown.session.unharmed(kind)
