"""The simulator's standard error: text for the user, never events."""

import pytest

from conformance.cases import absent, check, requirement
from conformance.harness.deadlines import in_time
from conformance.iut import Iut
from conformance.verdicts import Inconclusive, Violation
from conformance.vexide.codec import encode
from conformance.vexide.commands import START
from conformance.vexide.events import EXITED, READY, answer, log
from conformance.vexide.frontend.tester import (
    check_normal_end,
    complain,
    hang_up,
    is_readable,
    open_in_setup,
    open_session,
    require_ready_first,
    start_program,
)

MUCH = (b"a line of a log that says nothing" * 30 + b"\n") * 1024
"""About a mebibyte: more than all buffers between the suite and the frontend hold."""

ONE_LINE = MUCH.replace(b"\n", b" ") + b"\n"

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
    """Text on standard error changes nothing, even if the text resembles an event."""
    async with open_in_setup(iut) as session:
        await complain(session, TEXTS[text])
        ended = await session.until_closed(session.seconds("quiet"))
        check(not ended, "the session to continue", "the frontend ended the session")
        await start_program(session, to=f"despite {TEXTS[text][:40]!r} on standard error")


@requirement("stderr.unstructured")
@pytest.mark.parametrize("when", ["setup", "running", "one-line"])
async def test_much_text_on_stderr(iut: Iut, when: str) -> None:
    """A simulator that writes much text on standard error is not blocked."""
    async with open_in_setup(iut) as session:
        if when == "running":
            await start_program(session)
        much = ONE_LINE if when == "one-line" else MUCH
        read = f"{len(much)} bytes on standard error to be read"
        try:
            with session.deadline(read, session.countdown("response", "response")) as left:
                await in_time(complain(session, much), left)
        except TimeoutError:
            raise Violation(read, "the frontend stopped reading them") from None
        if when != "running":
            await start_program(session, to="after much text on standard error")
        else:
            await check_normal_end(iut, session, "much text on standard error")


@requirement("stderr.unstructured")
async def test_ready_on_stderr(iut: Iut) -> None:
    """A Ready on standard error does not count; only a Ready on the stream does."""
    async with open_in_setup(iut) as session:
        upper = session.instance.upper
        if upper.offers("start"):
            # A frontend that starts without any Ready does this here, once the handshake is
            # finished.
            await session.wait_for("CompetitionMode")
            await session.operate("start")
        await require_ready_first(session)
        await complain(session, encode(READY))
        if upper.offers("start"):
            await session.operate("start")
        early = await session.wait_for(START)
        absent(early, "no StartExecution after a Ready on standard error")
        await start_program(session)


@requirement("stderr.unstructured")
async def test_handshake_on_stderr(iut: Iut) -> None:
    """A Handshake on standard error is not an answer: no setup follows."""
    async with open_session(iut) as session:
        if await session.wait_for():
            raise Inconclusive("commands came without a Handshake event (handshake.nothing-before)")
        await complain(session, encode(answer()))
        early = await session.wait_for()
        absent(early, "no command after a Handshake on standard error")
        await session.send(answer())
        await start_program(session)


@requirement("stderr.unstructured")
async def test_exited_on_stderr_while_running(iut: Iut) -> None:
    """An Exited on standard error does not end the session of a running program."""
    async with open_in_setup(iut) as session:
        await start_program(session)
        await complain(session, encode(EXITED))
        await session.until_closed(session.seconds("quiet"))
        await check_normal_end(iut, session, "Exited on standard error")


@requirement("stderr.accessible")
@pytest.mark.parametrize("when", ["before", "setup", "running"])
async def test_stderr_is_readable(iut: Iut, when: str) -> None:
    """The user can read the simulator's standard error before, during and after setup."""
    markers = (f"conformance-stderr-{when}", f"conformance-more-{when}")
    async with open_session(iut, starting=when == "running") as session:
        if when != "before":
            await session.send(answer())
            await session.wait_for()
        if when == "running":
            await start_program(session)
        for marker in markers:
            await complain(session, f"{marker}\n")
            readable = await is_readable(session, marker)
            what = "standard error" if marker == markers[0] else "later text on standard error"
            check(readable, f"{what} to be readable", "the user cannot read the text")


@requirement("stderr.accessible")
async def test_stderr_behind_bytes_that_are_no_text(iut: Iut) -> None:
    """The user can read standard error after a line that is not UTF-8."""
    async with open_in_setup(iut, starting=False) as session:
        await complain(session, b"\xff\xfe\x00\n")
        await complain(session, "conformance-stderr-behind\n")
        readable = await is_readable(session, "conformance-stderr-behind")
        check(
            readable,
            "standard error to be readable after a line that is not UTF-8",
            "the user cannot read the text",
        )


@requirement("stderr.accessible")
async def test_last_words_on_stderr(iut: Iut) -> None:
    """The user can read the last line on standard error, even without a newline."""
    async with open_in_setup(iut, starting=False) as session:
        await complain(session, "conformance-last-words")
        await hang_up(session)
        readable = await is_readable(session, "conformance-last-words")
        check(
            readable,
            "the last line on standard error to be readable",
            "the user cannot read the text",
        )
