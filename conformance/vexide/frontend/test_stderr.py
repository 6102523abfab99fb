"""The simulator's standard error: text for the user, and never events."""

import pytest

from conformance.cases import absent, check, requirement
from conformance.iut import Iut
from conformance.verdicts import Inconclusive
from conformance.vexide.codec import encode
from conformance.vexide.commands import START
from conformance.vexide.events import EXITED, READY, answer, log
from conformance.vexide.frontend.tester import (
    complain,
    finishes,
    hang_up,
    in_setup,
    needs_ready,
    opened,
    shown,
    starts,
)

TEXTS = {
    "text": b"loading the program\n",
    "log": encode(log("not a Log", "Error")),
    "exited": encode(EXITED),
    "handshake": encode(answer(version=2)),
    "not-json": b'{"Log": {"level":\n',
    "not-utf-8": b"\xff\xfe loaded\n",
    "long": b"x" * 200_000 + b"\n",
    "no-newline": b"loading",
}


@requirement("stderr.unstructured")
@pytest.mark.parametrize("text", TEXTS)
async def test_text_on_stderr(iut: Iut, text: str) -> None:
    """Text on standard error that looks like an event changes nothing."""
    async with in_setup(iut) as session:
        await complain(session, TEXTS[text])
        ended = await session.until_closed(session.seconds("quiet"))
        check(not ended, "the session to go on", "the frontend ended it")
        await starts(session, to=f"in spite of {TEXTS[text][:40]!r} on standard error")


@requirement("stderr.unstructured")
async def test_ready_on_stderr(iut: Iut) -> None:
    """A Ready on standard error does not count: StartExecution follows that on the stream."""
    async with in_setup(iut) as session:
        upper = session.instance.upper
        if upper.offers("start"):
            # Who starts without any Ready does so here, too, once it has taken the Handshake.
            await session.watch("CompetitionMode")
            await upper("start")
        await needs_ready(session)
        await complain(session, encode(READY))
        if upper.offers("start"):
            await upper("start")
        early = await session.watch(START)
        absent(early, "no StartExecution after a Ready on standard error")
        await starts(session)


@requirement("stderr.unstructured")
async def test_handshake_on_stderr(iut: Iut) -> None:
    """A Handshake on standard error is not an answer: no setup follows it."""
    async with opened(iut) as session:
        if await session.watch():
            raise Inconclusive("commands come without any Handshake (handshake.nothing-before)")
        await complain(session, encode(answer()))
        early = await session.watch()
        absent(early, "no command after a Handshake on standard error")
        await session.send(answer())
        await starts(session)


@requirement("stderr.unstructured")
async def test_exited_on_stderr_while_running(iut: Iut) -> None:
    """An Exited on standard error does not end the session of a running program."""
    async with in_setup(iut) as session:
        await starts(session)
        await complain(session, encode(EXITED))
        await session.until_closed(session.seconds("quiet"))
        await finishes(iut, session, "Exited on standard error")


@requirement("stderr.accessible")
@pytest.mark.parametrize("when", ["before", "setup", "running"])
async def test_stderr_is_readable(iut: Iut, when: str) -> None:
    """The user can read the simulator's standard error: before the handshake, then, and later."""
    markers = (f"conformance-stderr-{when}", f"conformance-more-{when}")
    async with opened(iut, starting=when == "running") as session:
        if when != "before":
            await session.send(answer())
            await session.watch()
        if when == "running":
            await starts(session)
        for marker in markers:
            await complain(session, f"{marker}\n")
            readable = await shown(session, marker)
            what = (
                "standard error" if marker == markers[0] else "what comes later on standard error"
            )
            check(readable, f"{what} to be readable", "it is not")


@requirement("stderr.accessible")
async def test_stderr_behind_bytes_that_are_no_text(iut: Iut) -> None:
    """The user can read what comes on standard error behind a line that is not UTF-8."""
    async with in_setup(iut, starting=False) as session:
        await complain(session, b"\xff\xfe\x00\n")
        await complain(session, "conformance-stderr-behind\n")
        readable = await shown(session, "conformance-stderr-behind")
        check(readable, "standard error to be readable behind what is not UTF-8", "it is not")


@requirement("stderr.accessible")
async def test_last_words_on_stderr(iut: Iut) -> None:
    """The user can read the last words of a simulator that ends without a line's end."""
    async with in_setup(iut, starting=False) as session:
        await complain(session, "conformance-last-words")
        await hang_up(session)
        readable = await shown(session, "conformance-last-words")
        check(readable, "the last words on standard error to be readable", "they are not")
