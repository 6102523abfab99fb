"""JSON Lines over a stream: segmentation and spelling must not matter."""

import base64
import json
import string

import pytest

from conformance.cases import check, compared, lasting, requirement, send_with_pause
from conformance.iut import Iut
from conformance.segmentation import Segmentation, split_at, whole
from conformance.verdicts import Inconclusive, NotExercised
from conformance.vexide import strategies
from conformance.vexide.codec import encode
from conformance.vexide.cuts import CUTS, inside_characters
from conformance.vexide.events import PROGRAM, READY, SIGNATURE, answer, drawing, log
from conformance.vexide.frontend.port_notation import accepted_events
from conformance.vexide.frontend.tester import (
    check_normal_end,
    expect_offer,
    expect_start,
    is_readable,
    open_in_setup,
    open_session,
    play_to_end,
    start_program,
)
from conformance.vexide.lengths import EACH_LENGTH, SHORT, pad
from conformance.vexide.spellings import BEYOND_ASCII, SEPARATORS, SPELLINGS

MEBIBYTE = 1024 * 1024
_INSIDE = 3  # bytes of a Ready before a pause
PAIRS = r"\u00e4 \uD83D\uDE00 \ud83d\ude00\/\b"
"""A text with escapes; some characters need two."""
LONG_LINE = (
    5  # usual lines whose reading time a long line can need, because a slow reader is not wrong
)
GREETING = answer()
REPORT = log("Gerät bereit: ä€😀")


@requirement("framing.json-lines")
async def test_every_line_is_json(iut: Iut) -> None:
    """All bytes of a whole session are UTF-8 lines with one JSON value each."""
    async with open_in_setup(iut, starting=False) as session:
        await session.send(SIGNATURE)
        await play_to_end(iut, session)


@requirement("framing.segmentation")
@pytest.mark.parametrize("cut", CUTS, ids=lambda cut: cut.__name__)
async def test_cut_lines(iut: Iut, cut: Segmentation) -> None:
    """Each event that arrives in pieces is read like a whole line."""
    async with open_session(iut, segmentation=cut) as session:
        for event in (GREETING, SIGNATURE):
            await session.send(event)
        await start_program(session, to="after a Handshake and a Ready in pieces")


@requirement("framing.segmentation")
@pytest.mark.parametrize("cut", CUTS, ids=lambda cut: cut.__name__)
async def test_cut_lines_at_the_end(iut: Iut, cut: Segmentation) -> None:
    """Events of a running program, and Exited, can arrive in pieces."""
    events = await accepted_events(iut, PROGRAM["serial"], REPORT, PROGRAM["copy-buffer"])

    async def play(segmentation: Segmentation | None) -> None:
        async with open_in_setup(iut, segmentation=segmentation) as session:
            await start_program(session)
            await session.send(*events)
            await check_normal_end(iut, session, "events in pieces")

    await compared(iut, play, cut, None, "log.tolerated")


@requirement("framing.segmentation")
async def test_cut_text(iut: Iut) -> None:
    """A Log that is cut inside a UTF-8 character keeps its text for the user."""

    async def play(cut: Segmentation | None) -> None:
        async with open_in_setup(iut, starting=False) as session:
            await session.send(log("Gerät 1: ä€😀"))
            if not await is_readable(session, "Gerät 1: ä€😀"):
                raise Inconclusive(
                    "the text of a whole Log with such characters is not readable either"
                )
            await session.send(log("Gerät 2: ä€😀"), segmentation=cut)
            read = await is_readable(session, "Gerät 2: ä€😀")
            check(
                read,
                "the text of a Log that was cut inside a character",
                "the user cannot read the text",
            )

    await compared(iut, play, inside_characters, None, "log.tolerated or log.accessible")


@requirement("framing.segmentation")
@pytest.mark.parametrize("separator", SEPARATORS)
async def test_other_line_separators(iut: Iut, separator: str) -> None:
    """Only a newline ends a line; a text can contain other separators."""

    async def play(text: str) -> None:
        async with open_session(iut) as session:
            line = json.dumps(answer(x=text), ensure_ascii=False)
            await session.send_bytes(f"{line}\n".encode())
            await start_program(session, to=f"after a Handshake with a {separator} separator")

    known = "framing.white-space or handshake.unknown-fields"
    await compared(iut, play, f"a{SEPARATORS[separator]}b", BEYOND_ASCII, known)


@requirement("framing.segmentation")
async def test_many_lines_in_one_write(iut: Iut) -> None:
    """Forty lines in one write are forty events, and the last event, Ready, counts."""
    steps = [log(f"step {number}") for number in range(38)]

    async def play(segmentation: Segmentation | None) -> None:
        async with open_session(iut) as session:
            await session.send(GREETING)
            await session.send(*steps, SIGNATURE, READY, segmentation=segmentation)
            await expect_start(
                session, to="after a Ready at the end of 40 lines in one write", lines=40
            )

    await compared(iut, play, whole, None, "log.tolerated")


@requirement("framing.segmentation")
async def test_ready_in_the_middle(iut: Iut) -> None:
    """Ready counts between other lines in the same write."""

    async def play(segmentation: Segmentation | None) -> None:
        async with open_in_setup(iut) as session:
            await session.send(SIGNATURE, READY, REPORT, segmentation=segmentation)
            await expect_start(session, to="after a Ready between other lines in one write")

    await compared(iut, play, whole, None, "log.tolerated")


@requirement("framing.segmentation")
async def test_ready_behind_the_handshake(iut: Iut) -> None:
    """Ready counts in the same write as the Handshake event."""
    async with open_session(iut) as session:
        await session.send(GREETING, READY, segmentation=whole)
        await expect_start(session, to="after a Ready in the same write as the Handshake")


@requirement("framing.segmentation")
async def test_a_line_and_a_half(iut: Iut) -> None:
    """A write can end inside the next line."""
    async with open_in_setup(iut) as session:
        lines = encode(SIGNATURE) + encode(READY)
        await session.send_bytes(lines, segmentation=split_at([len(lines) - 4]))
        await expect_start(session, to="after a Ready in two pieces")


@lasting
@requirement("framing.segmentation")
async def test_pause_inside_a_line(iut: Iut) -> None:
    """A Ready whose rest comes after a pause counts."""

    async def play(at: int) -> None:
        async with open_in_setup(iut) as session:
            await send_with_pause(session, encode(READY), at)
            await expect_start(session, to="after a Ready with a pause inside")

    await compared(iut, play, _INSIDE, 0, "start.sent")


@pytest.mark.parametrize("size", EACH_LENGTH)
async def test_lines_of_any_length(iut: Iut, size: int) -> None:
    """A Ready counts in a line as long as a buffer, or almost so long."""

    async def play(size: int) -> None:
        async with open_in_setup(iut) as session:
            await session.send_bytes(pad(SIGNATURE, size))
            await session.send_bytes(pad(READY, size))
            await expect_start(session, to=f"after a Ready in a line of {size} bytes")

    await compared(iut, play, size, SHORT, "framing.white-space")


@requirement("framing.white-space")
@pytest.mark.parametrize("spelling", SPELLINGS)
async def test_any_spelling(iut: Iut, spelling: str) -> None:
    """White space between tokens and escaped characters change nothing in any event."""
    spell = SPELLINGS[spelling]
    async with open_session(iut) as session:
        for event in (GREETING, SIGNATURE, REPORT, READY):
            line = spell(encode(event).decode().removesuffix("\n"))
            await session.send_bytes(f"{line}\n".encode())
        await expect_start(session, to="after events in another spelling")


@requirement("framing.white-space")
async def test_text_as_itself(iut: Iut) -> None:
    """A text can contain characters beyond ASCII without escapes."""

    async def play(text: str) -> None:
        async with open_session(iut) as session:
            await session.send(answer(x=text))
            await start_program(session, to=f"after a Handshake with the text {text}")

    await compared(iut, play, BEYOND_ASCII, "ab", "handshake.unknown-fields")


@requirement("framing.white-space")
async def test_escaped_pairs(iut: Iut) -> None:
    """Characters beyond the basic plane can be written as a pair of escapes."""

    async def play(text: str) -> None:
        async with open_session(iut) as session:
            for line in (
                f'{{"Handshake": {{"version": 1, "extensions": [], "x": "{text}"}}}}',
                f'{{"Log": {{"level": "Info", "message": "{text}"}}}}',
            ):
                await session.send_bytes(f"{line}\n".encode())
            await start_program(session, to=f"after events with the text {text}")

    await compared(iut, play, PAIRS, "ab", "handshake.unknown-fields")


@requirement("framing.white-space")
async def test_any_spelling_of_numbers(iut: Iut) -> None:
    """A number can have an exponent, and more digits than a double has."""
    async with open_in_setup(iut) as session:
        await start_program(session)
        await session.send_bytes(
            b'{"Battery":{"voltage":126e-1,"current":0.5E+0,"capacity":1.4e1}}\n'
            b'{"Battery":{"voltage":1.25E1,"current":1e-7,"capacity":14E-00}}\n'
            b'{"Battery":{"voltage":0.0000000125e9,"current":5000000000e-10,"capacity":14.0}}\n'
            b'{"Battery":{"voltage":12.500000000000000000000000000000000000000001,'
            b'"current":0.3333333333333333333333333333333333333333,"capacity":14}}\n'
        )
        await check_normal_end(iut, session, "numbers in other spellings")


@requirement("framing.white-space")
async def test_any_order_of_fields(iut: Iut) -> None:
    """Fields count by their names, in any order."""
    async with open_session(iut) as session:
        await session.send({"Handshake": {"extensions": [], "version": 1}})
        await session.send({"Log": {"message": "reversed", "level": "Info"}})
        await start_program(session, to="after a Handshake with its fields in another order")


@requirement("framing.long-lines")
@pytest.mark.parametrize("size", [70_000, MEBIBYTE + 1, 3 * MEBIBYTE], ids=["70k", "1M", "3M"])
async def test_long_lines(iut: Iut, size: int) -> None:
    """The session continues after a Log of up to three mebibytes."""
    message = (string.ascii_letters * (size // 52 + 1))[:size]
    async with open_in_setup(iut) as session:
        await session.send(log(message))
        await start_program(session, to=f"after a line of {size} bytes", lines=LONG_LINE)


@requirement("framing.long-lines")
async def test_long_lines_count(iut: Iut) -> None:
    """A Handshake of more than a mebibyte is not only survived but read."""

    async def play(size: int) -> None:
        async with open_session(iut) as session:
            await session.send(answer(x="a" * size))
            await start_program(
                session, to=f"after a Handshake of more than {size} bytes", lines=LONG_LINE
            )

    await compared(iut, play, MEBIBYTE, 1, "handshake.unknown-fields")


@requirement("framing.long-lines")
async def test_a_whole_screen(iut: Iut) -> None:
    """The session continues after a ScreenDraw with as many pixels as the screen (about 700 kB)."""
    width, height = strategies.WIDTH, strategies.HEIGHT
    # The buffer is long enough if the frontend includes the bottom right corner, or not, and if
    # stride counts pixels or bytes.
    pixels = {
        "top_left": {"x": 0, "y": 0},
        "bottom_right": {"x": width - 1, "y": height // 4 - 1},
        "stride": 4 * width,
        "buffer": base64.b64encode(bytes(4 * width * height)).decode(),
    }
    async with open_in_setup(iut) as session:
        await start_program(session)
        await session.send(drawing({"CopyBuffer": pixels}))
        await check_normal_end(iut, session, "a whole screen of pixels", lines=LONG_LINE)


@requirement("transport.standard-streams")
async def test_standard_streams(iut: Iut) -> None:
    """The session uses the standard streams of a simulator that the frontend starts."""
    if "{simulator}" not in " ".join(iut.configuration.command):
        raise NotExercised(
            "this frontend starts no simulator; put {simulator} into its command as the "
            "executable that the frontend starts"
        )
    async with open_in_setup(iut, starting=False) as session:
        await session.send(SIGNATURE)
        await session.wait_for()
        check(
            not session.ended, "a session over standard streams", "the frontend closed the session"
        )


@requirement("transport.others")
async def test_other_transports(iut: Iut) -> None:
    """The session uses a TCP or a Unix domain socket."""
    if iut.transport == "stdio":
        raise NotExercised(
            "this run uses standard streams; give a command with {port} or {socket}, or --listen"
        )
    async with iut.session() as session:
        await expect_offer(session)
        await session.send(answer(), SIGNATURE)
        await session.wait_for()
        check(not session.ended, "a session over a socket", "the frontend closed the session")
