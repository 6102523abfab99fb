"""Segmented messages to a monitor, and malformed messages that it must survive."""

import pytest

from conformance.cases import compared, lasting, requirement
from conformance.iut import Iut
from conformance.segmentation import Segmentation, byte_by_byte, split_at
from conformance.simspark import malformed, messages
from conformance.simspark.codec import frame
from conformance.simspark.monitor.tester import connect_monitor, introduce_monitor
from conformance.simspark.tester import LONG_NUMBERS, ODD_NUMBERS, blame_pieces, require_reported


@requirement("frame.segmentation")
async def test_cut_in_two(iut: Iut) -> None:
    """The monitor takes messages that are cut in two at any place.

    The places are inside the length, after the length and inside the text.
    """

    async def play(cut: bool) -> None:
        async with introduce_monitor(iut) as tester:
            for place in (1, 2, 3, 4, 5, 17, -1):
                text = tester.partial(more=f"(score_right {place % 50})")
                await tester.say(text, segmentation=split_at([place]) if cut else None)
                await tester.check_known_if_reported(score_right=place % 50)
            await tester.check_continues("messages cut in two" if cut else "single messages")

    await compared(iut, play, True, False, "monitors.understood")


@requirement("frame.segmentation")
async def test_byte_by_byte(iut: Iut) -> None:
    """The monitor takes a message that arrives byte by byte."""

    async def play(cut: bool) -> None:
        async with introduce_monitor(iut) as tester:
            text = tester.partial(messages.moved(7, 8), "(score_left 7)")
            await tester.say(text, segmentation=byte_by_byte if cut else None)
            await tester.check_known_if_reported(time=tester.time, score_left=7)
            await tester.check_continues("a message that came byte by byte" if cut else "a message")

    await compared(iut, play, True, False, "monitors.understood")


@requirement("frame.segmentation")
async def test_all_in_one_write(iut: Iut) -> None:
    """The monitor takes introduction and updates in one write that ends inside a message.

    The rest of that message follows after a pause.
    """

    async def play(together: bool) -> None:
        async with connect_monitor(iut) as tester:
            graph = messages.scene(0, 0)
            # Each score is in only one update, so it shows if the monitor took that update.
            scores = {4: "(score_right 27)", _BURST - 4: "(score_left 31)"}
            texts = [
                messages.full(messages.ENVIRONMENT, graph),
                messages.full(messages.state(0), graph),
                *(
                    tester.partial(messages.moved(step, 0), scores.get(step, ""))
                    for step in range(1, _BURST)
                ),
            ]
            data = [tester.bytes_of(*texts)] if together else [*map(tester.bytes_of, texts)]
            last = tester.bytes_of(tester.partial(messages.moved(_BURST, 0)))
            latest = {"time": tester.time, "score_right": 27, "score_left": 31}
            data[-1:] = (
                [data[-1] + last[:2], last[2:] + last[:30], last[30:]]
                if together
                else [data[-1], last, last]
            )
            for some in data:
                await tester.session.send_bytes(some)
                if together:
                    await tester.session.until_closed("quiet")
                await tester.session.wait_until_taken()
            await tester.check_known_if_reported(**latest)
            await tester.check_continues(
                "everything in one write" if together else "single messages"
            )

    await compared(iut, play, True, False, "monitors.understood")


@requirement("frame.segmentation")
async def test_in_order(iut: Iut) -> None:
    """The monitor takes messages, long and short, in the order of their arrival."""

    async def play(together: bool) -> None:
        async with introduce_monitor(iut) as tester:
            robots, still = messages.robot(-1, 0) * _ROBOTS, "(nd (nd)(nd (nd)))" * _ROBOTS
            for goals in (2, 4):
                graph = messages.scene(goals, 1, more=robots)
                texts = [
                    messages.full(messages.state(tester.time, left=goals - 1), graph),
                    tester.partial(messages.moved(goals, 3, more=still), f"(score_left {goals})"),
                ]
                if together:
                    await tester.session.send_bytes(tester.bytes_of(*texts))
                else:
                    for text, shown in zip(texts, (goals - 1, goals), strict=True):
                        await tester.say(text)
                        await tester.check_known_if_reported(score_left=shown)
                # A message that is read late must not undo the next one.
                for _ in range(2):
                    await tester.check_known_if_reported(
                        time=tester.time, score_left=goals, ball=[goals, 3, 0.042]
                    )
                    await tester.session.until_closed("quiet")

    await compared(iut, play, True, False, "monitors.understood")


_BURST = 70  # updates in one write; more than a small queue of messages has room for
_ROBOTS = 40  # robots that make a full graph more than ten times as long as an update
SIZES = (
    *(255, 256, 511, 512, 1023, 1024, 1025, 4095, 4096, 4097),
    *(33_008, 65_535, 65_536, 65_537, 70_000),
)
"""Sizes of texts in bytes, at the usual limits of lengths and buffers."""


async def _send_in_pieces(iut: Iut, pieces: Segmentation | None) -> None:
    """Send a state in pieces, or whole. Raises Violation if the monitor loses it."""
    async with introduce_monitor(iut) as tester:
        await tester.say(tester.partial(more="(score_right 8)"), segmentation=pieces)
        await tester.check_known_if_reported(score_right=8)


@requirement("frame.length-prefix")
async def test_large_scenes(iut: Iut) -> None:
    """The monitor reads messages of 255 bytes up to half a million bytes in full."""

    async def play(large: bool) -> None:
        async with introduce_monitor(iut) as tester:
            for goals, count in enumerate((1, 22, 1500) if large else (1, 1, 1), 1):
                robots = "".join(messages.robot(n % 15, n % 9, n % 11 + 1) for n in range(count))
                state = messages.state(tester.time, left=goals)
                await tester.say(messages.full(state, messages.scene(1, 1, more=robots)))
                await tester.check_known_if_reported(score_left=goals)
            await tester.say(messages.full(messages.state(tester.time), messages.scene(0, 0)))
            for goals, size in enumerate(SIZES if large else (0, 0, 0), 11):
                more = f"(score_right {goals})"
                await tester.session.send_bytes(tester.long(size, more=more))
                await tester.check_known_if_reported(score_right=goals)
            await tester.check_continues("large messages" if large else "a few messages")

    async with blame_pieces(iut, _send_in_pieces):
        await compared(iut, play, True, False, "monitors.understood")


@requirement("frame.length-prefix")
@pytest.mark.parametrize("bit", malformed.HIGH_BITS)
async def test_all_bits_of_a_length(iut: Iut, bit: int) -> None:
    """The monitor reads all 32 bits of a length.

    It takes no message from inside an incomplete message.
    """
    async with blame_pieces(iut, _send_in_pieces), introduce_monitor(iut) as tester:
        await tester.check_known_if_reported(time=tester.time)
        inside = tester.bytes_of(tester.partial(more="(score_left 93)(score_right 94)"))
        await tester.session.send_bytes(malformed.message_beyond_bit(bit, inside))
        if not await tester.session.until_closed("quiet"):
            require_reported(tester.session, "score_right")
            malformed.check_read_in_full(bit, (await tester.state()).get("score_right") == 94)


@requirement("robustness.empty-message")
async def test_empty_messages(iut: Iut) -> None:
    """The monitor ignores messages of length 0."""

    async def play(empty: bool) -> None:
        async with introduce_monitor(iut) as tester:
            if empty:
                await tester.session.send([])
                await tester.check_continues("an empty message")
            others = bytes(400) if empty else tester.bytes_of(tester.partial()) * 4
            behind = tester.bytes_of(tester.partial(more="(score_right 35)"))
            await tester.session.send_bytes(others + behind)
            await tester.check_known_if_reported(time=tester.time, score_right=35)
            await tester.check_continues(
                "a hundred empty messages" if empty else "several messages"
            )

    await compared(iut, play, True, False, "frame.segmentation")


async def _check_outlived(iut: Iut, data: bytes, what: str) -> None:
    async with introduce_monitor(iut) as tester:
        await malformed.check_outlived(
            tester.session, data, tester.bytes_of(tester.partial(), tester.partial()), what
        )


@requirement("robustness.malformed")
@pytest.mark.parametrize("kind", malformed.TEXTS)
async def test_malformed(iut: Iut, kind: str) -> None:
    """After a malformed text, the monitor closes the connection or takes the next states."""
    await malformed.check_survived(
        iut, introduce_monitor, malformed.TEXTS[kind], f"a text that is {kind}"
    )


@lasting
@requirement("robustness.huge-length")
@pytest.mark.parametrize("length", [0x7FFFFFFF, 0xFFFFFFFF])
async def test_huge_length(iut: Iut, length: int) -> None:
    """The monitor survives a length of gigabytes."""
    await _check_outlived(iut, length.to_bytes(4, "big") + b"((time 1))" * 6000, f"{length:#x}")


@lasting
@requirement("robustness.wrong-length")
@pytest.mark.parametrize("kind", malformed.LENGTHS)
async def test_wrong_length(iut: Iut, kind: str) -> None:
    """The monitor survives a wrong length."""
    await _check_outlived(iut, malformed.LENGTHS[kind], f"a length that is {kind}")


ODD = {
    "an update before any full graph": messages.partial("(time 1)", "((nd)(nd (nd)))"),
    "an empty scene": messages.full(messages.state(1), "()"),
    "an empty node": messages.full(messages.state(1), "((nd))"),
    "an update with fewer nodes": messages.partial("(time 1)", "((nd (nd)))"),
    "an update with more nodes": messages.partial(
        "(time 1)", "((nd (nd (nd (nd))))(nd)(nd)(nd)(nd))"
    ),
    "values that are not numbers": messages.partial("(time nan)(score_left x)", messages.STILL),
    "a transform without numbers": messages.full(
        messages.state(1), "((nd TRF (SLT nan inf x)(nd StaticMesh (load)(sSc))))"
    ),
    "a play mode beyond the list": messages.partial("(time 1)(play_mode 99)", messages.STILL),
    "a negative play mode": messages.partial("(time 1)(play_mode -1)", messages.STILL),
    "values without any": messages.partial("(time)(play_mode)(half)", messages.STILL),
    "a message of one part": "((time 1))",
    "a header of another name": "((time 1))(RXG 0 1)()",
    "empty lists among the values": messages.full(f"(){messages.state(1)}(())", "((nd))"),
    **{
        f"the number {number}": messages.full(
            f"(time {number})(half {number})(score_left {number})(play_mode {number})",
            f"((nd TRF (SLT {' '.join([number] * 16)})(nd Light (setDiffuse {number} 1 1 1)"
            f"(setAmbient 1 {number} 1 1)(setSpecular 1 1 {number} 1)))(nd TRF (SLT "
            f"{messages.UPRIGHT} {number} 0 0 1)(nd SMN (load StdUnitCylinder {number} {number})"
            f"(sSc {number} {number} {number})(sMat matGrey))))",
        )
        for number in ODD_NUMBERS
    },
    "numbers of very many digits": messages.full(
        f"(time {LONG_NUMBERS[0]})(score_left {LONG_NUMBERS[0]})",
        f"((nd TRF (SLT {messages.UPRIGHT} {LONG_NUMBERS[1]} {LONG_NUMBERS[2]} 0 1)))",
    ),
    "deep nodes": messages.full(messages.state(1), "(nd BN " * 3000 + ")" * 3000),
}


@requirement("robustness.odd-scenes")
@pytest.mark.parametrize("kind", ODD)
async def test_odd_scenes(iut: Iut, kind: str) -> None:
    """After an unusable scene or state, the monitor disconnects or takes the next ones."""
    early = kind.startswith("an update before")

    async def play(odd: bool) -> None:
        async with connect_monitor(iut) as tester:
            if odd and early:
                # The monitor can open another connection.
                await tester.session.until_closed("quiet")
                await tester.provoke(tester.bytes_of(ODD[kind]))
            await tester.introduce()
            if odd and not early:
                await tester.provoke(tester.bytes_of(ODD[kind]))
            tester.time = 1.0  # the time in the odd message, so that the time does not go back
            await tester.say(messages.full(messages.state(tester.time), messages.scene(1, 1)))
            await tester.say(tester.partial(messages.moved(2, 2)))
            await tester.check_continues(kind if odd else "an introduction", may_close=True)
            if not tester.closed:
                await tester.check_known_if_reported(ball=[2, 2, 0.042])

    await compared(iut, play, True, False, "monitors.understood")


@requirement("text.white-space")
@pytest.mark.parametrize(
    "text",
    [
        "( ( time 5.5 ) ( score_left 41 ) ( score_right 42 ) )( RDS 0 1 )",
        "((time 5.5)\n (score_left 41)\n(score_right 42))\n(RDS 0 1)\n",
        "\t((time\t5.5)\r\n(score_left\t41)(score_right 42))\r\n(RDS\t0\t1)",
    ],
    ids=["blanks", "line ends", "tabs"],
)
async def test_white_space(iut: Iut, text: str) -> None:
    """Blanks, tabs and line ends around brackets and between atoms have no meaning."""

    async def play(state: str) -> None:
        async with introduce_monitor(iut) as tester:
            still = tester.bytes_of(messages.partial("(time 1)", messages.STILL))[4:].decode()
            end = "\n" if state == text else ""
            payload = state + still.partition("(RDS 0 1)")[2].lstrip() + end
            await tester.session.send_bytes(frame(payload.encode("ascii")))
            tester.time = 5.5
            await tester.check_known_if_reported(time=5.5, score_left=41, score_right=42)
            await tester.check_continues("a state with more white space")

    plain = "((time 5.5)(score_left 41)(score_right 42))(RDS 0 1)"
    await compared(iut, play, text, plain, "monitors.understood")
