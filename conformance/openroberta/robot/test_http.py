"""Tests that a robot understands HTTP in all spellings that a lab can use."""

import gzip
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import pytest

from conformance.cases import PAUSE, check, compared, lasting, requirement
from conformance.iut import Iut
from conformance.openroberta.codec import (
    Spelling,
    chunks,
    content,
    encode,
    response,
    title_case,
    with_a_blank,
)
from conformance.openroberta.robot.tester import PROGRAM, RESTART, LabTester, playing
from conformance.openroberta.robot.tester.exchange import NAME, Exchange
from conformance.openroberta.robot.tester.programs import find_latest_program
from conformance.segmentation import Segmentation, byte_by_byte, in_halves, split_at
from conformance.verdicts import Conclusion, Inconclusive, NotExercised, Violation

Answers = Callable[[Exchange, Any], Awaitable[None]]


Program = tuple[str, bytes | None] | None


async def conversation(iut: Iut, answers: Answers) -> None:
    """Answer a registration, two pushes and a request for a program in the given way.

    The robot must run the same program as after plain answers. Raises Inconclusive if the session
    fails with plain answers, too.
    """
    plain = await iut.cached("plain conversation", lambda: _plain(iut))
    if isinstance(plain, Violation):
        raise Inconclusive(f"the session fails with plain answers, too: {plain}")
    async with playing(iut) as tester:
        ran = await _conversation(tester, answers)
        # If no program was visible after plain answers, the robot can still run a program later.
        right = plain is None or ran == plain
        check(
            right,
            f"{_text_of(plain)} to be run, as with plain answers",
            _text_of(ran),
        )


def _text_of(program: Program) -> str:
    if program is None:
        return "no program"
    name, data = program
    return repr(name) if data is None else f"{name!r} of {len(data)} bytes"


async def _plain(iut: Iut) -> Program | Violation:
    try:
        async with playing(iut) as tester:
            return await _conversation(tester, Exchange.answer)
    except Violation as violation:
        return violation


async def _conversation(tester: LabTester, answers: Answers) -> Program:
    asked = await tester.next("Register", requirement="register.first")
    await answers(asked, response(200, {}, {"cmd": "repeat"}))
    push = await tester.next("Push")
    await answers(push, response(200, {}, {"cmd": "repeat"}))
    push = await tester.next("Push")
    await answers(push, response(200, {}, {"cmd": "download"}))
    asked = await tester.program_request()
    await answers(asked, response(200, {"Filename": NAME}, tester.program))
    await tester.next("Push", within=PROGRAM)
    return await find_latest_program(tester)


SPELLINGS: Mapping[str, Spelling] = {
    "lower": lambda name, text: f"{name.lower()}: {text}",
    "upper": lambda name, text: f"{name.upper()}: {text}",
    "none": lambda name, text: f"{name.title()}:{text}",
    "spaces": lambda name, text: f"{name.title()}:  \t{text}",
}
"""Spellings of a header field. None has white space after the value (see the requirement)."""


@requirement("http.header-names")
@pytest.mark.parametrize("spelling", SPELLINGS)
async def test_header_names(iut: Iut, spelling: str) -> None:
    """Header names are in any case, and any white space precedes the values."""
    await _in_spelling(iut, SPELLINGS[spelling])


async def _in_spelling(iut: Iut, spell: Spelling) -> None:
    async def answer(asked: Exchange, value: Any) -> None:
        await asked.raw(encode(value, spell))

    await conversation(iut, answer)


@requirement("http.header-names")
@pytest.mark.parametrize("spelling", SPELLINGS)
async def test_name_of_chunks(iut: Iut, spelling: str) -> None:
    """Transfer-Encoding means the same in any case, and so does its value."""
    if not await iut.cached("reads chunks", lambda: _can_read_chunks(iut)):
        raise Inconclusive("this robot reads no chunks (http.chunked-answers)")
    await _in_chunks(iut, 7, SPELLINGS[spelling], "Chunked")


@requirement("http.header-names")
@pytest.mark.parametrize("spelling", SPELLINGS)
async def test_name_of_connection(iut: Iut, spelling: str) -> None:
    """Connection means the same in any case: the robot does not use a closed connection."""
    await _announcing_ends(iut, SPELLINGS[spelling])


@requirement("robustness.trailing-blanks")
@pytest.mark.parametrize("field", ["all", "close"])
async def test_trailing_blanks(iut: Iut, field: str) -> None:
    """A blank at the end of header values changes nothing.

    Transfer-Encoding gets no blank: Python's HTTP library cannot read chunks after it.
    """
    if field == "close":
        await _announcing_ends(iut, with_a_blank)
    else:
        await _in_spelling(iut, with_a_blank)


async def _announcing_ends(iut: Iut, spell: Spelling) -> None:
    async def answer(asked: Exchange, value: Any) -> None:
        headers = {**value["headers"], "connection": "close"}
        await asked.raw(encode({**value, "headers": headers}, spell), ends=True)

    try:
        await conversation(iut, answer)
    except Violation as wrong:
        wrong.shown_in(next(reversed(iut.sessions), None))
        if not await iut.cached("notes a close", lambda: _can_note_close(iut)):
            raise Inconclusive(f"{wrong}; the same in the usual case (http.persistence)") from None
        raise


async def _can_note_close(iut: Iut) -> bool:
    """Return True if the robot goes on after answers with Connection: close."""

    async def answer(asked: Exchange, value: Any) -> None:
        headers = {**value["headers"], "connection": "close"}
        await asked.raw(encode({**value, "headers": headers}), ends=True)

    return await _is_holding(conversation(Iut(iut.testbed, ""), answer))


async def _is_holding(playing_it: Awaitable[None]) -> bool:
    try:
        await playing_it
    except Violation:
        return False
    except Conclusion:
        pass  # this shows no fault
    return True


@requirement("http.chunked-answers")
@pytest.mark.parametrize("size", [1, 7, 1000])
async def test_chunked(iut: Iut, size: int) -> None:
    """Answers and programs come in chunks of 1, 7 or 1000 bytes."""
    await _in_chunks(iut, size)


@requirement("http.chunked-answers")
async def test_sizes_in_capitals(iut: Iut) -> None:
    """The hexadecimal sizes of chunks can have capital letters."""
    if not await iut.cached("reads chunks", lambda: _can_read_chunks(iut)):
        raise Inconclusive("this robot reads no chunks, with any size")
    await _in_chunks(iut, 10, capitals=True)


async def _in_chunks(
    iut: Iut,
    size: int,
    spell: Spelling = title_case,
    coding: str = "chunked",
    *,
    capitals: bool = False,
) -> None:
    """Send all answers in chunks of this size; `spell` writes the header field before them."""

    async def answer(asked: Exchange, value: Any) -> None:
        if asked.message.value["version"] == "1.0":
            raise NotExercised("this robot uses HTTP/1.0, which has no chunks")
        top, _, body = encode(value).partition(b"\r\n\r\n")
        lines = [line for line in top.split(b"\r\n") if b"Content-Length" not in line]
        pieces = [body[at : at + size] for at in range(0, len(body), size)]
        announced = spell("transfer-encoding", coding).encode()
        coded = b"\r\n".join([*lines, announced, b"", chunks(pieces, capitals=capitals)])
        await asked.raw(coded)

    await conversation(iut, answer)


@requirement("robustness.compressed")
async def test_compressed(iut: Iut) -> None:
    """A program comes compressed with gzip if the robot accepts gzip."""

    async def answer(asked: Exchange, value: Any) -> None:
        if asked.name == "DownloadRequest":
            taken = asked.message.value["headers"].get("accept-encoding", "")
            if not re.search(r"\bgzip\b(?! *; *q=0(\.0*)?\b)", taken):
                raise NotExercised("this robot does not accept gzip (Accept-Encoding)")
            headers = {**value["headers"], "Content-Encoding": "gzip"}
            value = response(200, headers, gzip.compress(content(value)))
        await asked.answer(value)

    await conversation(iut, answer)


@requirement("http.persistence")
@pytest.mark.parametrize("length", [True, False], ids=["length", "no-length"])
async def test_closed_after_each(iut: Iut, length: bool) -> None:
    """The lab closes the connection after each answer, with or without a Content-Length."""

    async def answer(asked: Exchange, value: Any) -> None:
        headers = {**value["headers"], "Connection": "close"}
        if not length:
            del headers["content-length"]
        await asked.raw(encode({**value, "headers": headers}), ends=True)

    try:
        await conversation(iut, answer)
    except Violation as wrong:
        # A robot that needs a length also fails on chunks: report one fault, not two.
        if not length and not await iut.cached("reads chunks", lambda: _can_read_chunks(iut)):
            wrong.requirement = "http.chunked-answers"
        raise


async def _can_read_chunks(iut: Iut) -> bool:
    return await _is_holding(_in_chunks(Iut(iut.testbed, ""), 1000))


@requirement("http.persistence")
async def test_answers_in_http_1_0(iut: Iut) -> None:
    """The lab answers with HTTP/1.0, after which each connection is closed."""

    async def answer(asked: Exchange, value: Any) -> None:
        await asked.raw(encode({**value, "version": "1.0"}), ends=True)

    await conversation(iut, answer)


@requirement("http.persistence")
async def test_closed_without_a_word(iut: Iut) -> None:
    """The lab closes a kept connection without announcing it; the robot uses another one.

    The robot can take its lost request for an error, and register again.
    """
    try:
        await _closing_without_a_word(iut)
    except Violation as wrong:
        wrong.shown_in(next(reversed(iut.sessions), None))
        # A robot that gives up after any error has a different fault.
        if not await iut.cached("goes on after an error", lambda: _goes_on_after_error(iut)):
            wrong.requirement = "robustness.lost-answers"
        raise


async def _closing_without_a_word(iut: Iut) -> None:
    async with playing(iut) as tester:
        asked = await tester.link()
        closed = "an answer whose connection was closed without an announcement"
        for _ in range(3):
            await asked.raw(encode(response(200, {}, {"cmd": "repeat"})), ends=True)
            asked = await tester.next("Push", "Register", within=RESTART, after=closed)
        await asked.command("repeat")
        await tester.next("Push", within=RESTART, after="answers that came as usual again")


async def _goes_on_after_error(iut: Iut) -> bool:
    """Return True if the robot sends another request after an error in answer to a push."""
    async with playing(iut) as tester:
        await (await tester.link()).refuse(500)
        within = tester.iut.countdown(*RESTART)
        return await tester.wait_for("Push", "Register", within=within) is not None


@requirement("http.persistence")
async def test_kept_open(iut: Iut) -> None:
    """The lab keeps the connection open unless the robot asked to close it."""

    async def answer(asked: Exchange, value: Any) -> None:
        kept = {**value["headers"], "Connection": "keep-alive"}
        await asked.answer(value if asked.closing else {**value, "headers": kept})

    await conversation(iut, answer)


CUTS: Sequence[Segmentation] = (byte_by_byte, in_halves, split_at([10, 40, -17, -3, -1]))


@requirement("http.segmentation")
@pytest.mark.parametrize("cut", CUTS, ids=["bytes", "halves", "places"])
async def test_segmentation(iut: Iut, cut: Segmentation) -> None:
    """Answers in several segments mean the same as in one segment."""

    async def answer(asked: Exchange, value: Any) -> None:
        await asked.answer(value, segmentation=cut)

    await conversation(iut, answer)


@requirement("http.segmentation")
@pytest.mark.parametrize("place", [30, -3], ids=["inside-the-header", "inside-the-body"])
@lasting
async def test_pause_inside_answers(iut: Iut, place: int) -> None:
    """Answers to pushes, and programs, mean the same with a pause inside."""

    async def play(place: int) -> None:
        async def answer(asked: Exchange, value: Any) -> None:
            if asked.name == "Register":
                await asked.answer(value)
            elif place:
                await asked.answer(value, split_at([place]), pause=PAUSE)
            else:
                await asked.session.until_closed(PAUSE)
                await asked.answer(value)

        await conversation(iut, answer)

    # A robot that gives up its requests early also gives up whole answers that come late.
    await compared(iut, play, place, 0, "push.patient")


@requirement("http.json")
async def test_white_space_in_json(iut: Iut) -> None:
    """Answers contain white space and line feeds in their JSON."""
    await _spelt(iut, '{{\r\n\t"cmd" :\n  "{command}"\n}}\n')


@requirement("robustness.escaped-letters")
async def test_escaped_letters(iut: Iut) -> None:
    """The first letter of each command is written as a JSON escape."""
    await _spelt(iut, '{{"cmd":"\\u{first:04x}{rest}"}}')


async def _spelt(iut: Iut, form: str) -> None:
    async def answer(asked: Exchange, value: Any) -> None:
        if command := value.get("json", {}).get("cmd"):
            spelt = form.format(command=command, first=ord(command[0]), rest=command[1:])
            kind = {"Content-Type": "application/json"}
            value = response(200, kind, spelt.encode())
        await asked.answer(value)

    await conversation(iut, answer)


@requirement("robustness.charset")
async def test_charset(iut: Iut) -> None:
    """Answers name the character set of their JSON."""

    async def answer(asked: Exchange, value: Any) -> None:
        if "json" in value:
            named = {**value["headers"], "content-type": "application/json; charset=utf-8"}
            value = {**value, "headers": named}
        await asked.answer(value)

    await conversation(iut, answer)


@requirement("robustness.reason-phrase")
@pytest.mark.parametrize("reason", ["", "Fine"], ids=["none", "other"])
async def test_reason_phrase(iut: Iut, reason: str) -> None:
    """Answers have another reason phrase after their status, or none."""

    async def answer(asked: Exchange, value: Any) -> None:
        await asked.answer({**value, "reason": reason})

    await conversation(iut, answer)
