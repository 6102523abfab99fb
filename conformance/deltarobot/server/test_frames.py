"""The stream as a server reads it and writes it."""

from typing import Any

import pytest

from conformance import generation
from conformance.cases import (
    check,
    compared,
    explore,
    however_cut,
    lasting,
    requirement,
    send_with_pause,
)
from conformance.deltarobot import strategies
from conformance.deltarobot.codec import encode
from conformance.deltarobot.handshake import open_session, shake_hands
from conformance.deltarobot.messages import HANDSHAKE, PROGRESS, UNKNOWN, begin_message, end
from conformance.deltarobot.server.exercise import begin, set_progress
from conformance.deltarobot.server.tester import drain
from conformance.deltarobot.service import check_continues, check_serves, habits
from conformance.iut import Iut
from conformance.segmentation import Segmentation, whole
from conformance.session import Session
from conformance.verdicts import Inconclusive, Violation

_LONGER = 4  # times the pause between two messages; the next one is missing after that time


@requirement("messages.unknown-skipped")
@explore(plan=strategies.of_a_client(), cuts=generation.cuts())
async def test_any_interleaving(iut: Iut, plan: list[Any], cuts: list[int]) -> None:
    """Any unknown messages, however segmented, leave the session as it was."""

    async def play(cut: Segmentation | None) -> None:
        async with open_session(iut) as session:
            await session.send(*plan, segmentation=cut)
            await check_continues(iut, session, f"{len(plan)} unknown messages")

    await however_cut(iut, cuts, "frame.segmentation", play)


@requirement("frame.segmentation")
@lasting
@pytest.mark.parametrize("at", [1, 4, -1], ids=["identifier", "length", "last-byte"])
async def test_pause_inside_an_end(iut: Iut, at: int) -> None:
    """An end of transmission whose rest comes after a pause closes the connection."""
    closing = (await habits(iut)).closing
    if closing is None:
        raise Inconclusive("the server closes after no end of transmission in a plain session")

    async def play(at: int) -> None:
        async with open_session(iut) as session:
            # A pong during the pause would be a part of the message.
            await session.stop_answering()
            await send_with_pause(session, encode(end(closing)), at)
            expected = "the connection to be closed after an end of transmission with a pause"
            check(await session.until_closed(), expected, "the server did not close it")

    await compared(iut, play, at, 0, "end.received")


@requirement("frame.segmentation")
async def test_end_with_the_handshake(iut: Iut) -> None:
    """An end of transmission in one write with the handshake closes the connection."""
    closing = (await habits(iut)).closing
    if closing is None:
        raise Inconclusive("the server closes after no end of transmission in a plain session")

    async def play(together: bool) -> None:
        async with iut.session() as session:
            if together:
                await session.send(*HANDSHAKE, end(closing), segmentation=whole)
            else:
                await shake_hands(session)
                await session.send(end(closing))
            expected = "the connection to be closed after an end of transmission"
            check(await session.until_closed(), expected, "the server did not close it")

    await compared(iut, play, True, False, "end.received")


@requirement("frame.variable-length")
@pytest.mark.parametrize("length", [2**31, 2**32 - 1], ids=hex)
async def test_end_inside_gigabytes(iut: Iut, length: int) -> None:
    """An end of transmission inside the contents of a message of gigabytes closes nothing."""
    ending = encode(end((await habits(iut)).closing or ""))

    async def play(contents: bytes) -> None:
        async with open_session(iut) as session:
            await session.send_bytes(begin_message(0xF321, length, contents))
            closed = await session.until_closed(session.seconds("quiet"))
            expected = f"no effect of bytes inside a message of {length} bytes"
            check(not closed, expected, "the server closed the connection")

    await compared(iut, play, ending, bytes(len(ending)), "robustness.huge-length")


@requirement("messages.unknown-skipped")
async def test_unknown_messages_stop_nothing(iut: Iut) -> None:
    """Messages that the server repeats continue after unknown messages."""
    if stopped := await _find_stop(iut, *UNKNOWN.values()):
        if await _find_stop(iut):
            raise Inconclusive(f"{stopped.came}, without unknown messages either")
        raise stopped


async def _find_stop(iut: Iut, *messages: Any) -> Violation | None:
    """Return a Violation if a repeated message stops after these messages, else None."""
    async with open_session(iut) as session:
        pauses = {"Ping": await _pause(session, "Ping", session.seconds("response"))}
        if session.instance.upper.offers("exercise"):
            await begin(session)
            await set_progress(session)
            for name in PROGRESS:
                pauses[name] = await _pause(session, name, session.seconds("exercise"))
        await session.send(*messages)
        await drain(session, session.seconds("quiet"))
        for name, pause in pauses.items():
            if pause is None:
                continue
            within = _LONGER * pause + session.seconds("response")
            if not await session.wait_for(name, within=within):
                if session.ended:
                    await check_serves(iut, session, "unknown messages")
                expected = f"{name} again after unknown messages"
                return Violation(expected, f"received none in {within:.1f} s").shown_in(session)
    return None


async def _pause(session: Session, name: str, within: float) -> float | None:
    """Return the seconds between two messages of a name; None if either times out."""
    first = await session.wait_for(name, within=within)
    second = await session.wait_for(name, within=within) if first else None
    return second.at - first.at if first and second else None
