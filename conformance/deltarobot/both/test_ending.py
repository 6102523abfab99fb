"""The end of a session: announced by either side, or abrupt."""

from collections.abc import Awaitable, Callable
from string import printable

import pytest

from conformance.cases import absent, check, requirement
from conformance.deltarobot import tester
from conformance.deltarobot.codec import LENGTH_KNOWN, OVERSIZED, TRUNCATED, encode, name_of_begun
from conformance.deltarobot.handshake import open_session, shake_hands
from conformance.deltarobot.messages import UNKNOWN, end
from conformance.deltarobot.service import REASON, assert_alive, habits, ordinary, share_session
from conformance.deltarobot.session_ends import has_announced_end
from conformance.iut import Iut
from conformance.session import EXIT_TIME, Session
from conformance.verdicts import Inconclusive, NotExercised, Violation
from conformance.wire import Message

_END = "EndOfTransmission"
_READABLE = frozenset(printable)
_OF_OUR_OWN = "exercise 7351 is over"  # a reason that no IUT gives by itself
_REQUESTS = 100  # requests without time to read the answers


async def shut_down(iut: Iut) -> Session:
    """Return a quiet session that the application has ended."""
    return await share_session(iut, "shut down", _shut_down)


async def shut_down_busy(iut: Iut) -> Session:
    """Return a busy session that the application has ended.

    Requests after the end are not answered.
    """
    return await share_session(iut, "shut down busy", _shut_down_busy)


async def shut_down_later(iut: Iut) -> Session:
    """Return a quiet session, not the first of its process, that the application has ended."""
    return await share_session(iut, "shut down later", _shut_down_later)


async def _shut_down(iut: Iut) -> Session:
    async with open_session(iut) as session:
        return await _open_quiet(session)


async def _shut_down_later(iut: Iut) -> Session:
    async with tester.of(iut).open_later(iut) as session:
        await shake_hands(session)
        return await _open_quiet(session)


async def _open_quiet(session: Session) -> Session:
    await tester.of(session).settle(session)
    await _close(session)
    await session.until_closed()
    return session


async def _shut_down_busy(iut: Iut) -> Session:
    async with open_session(iut) as session:
        await tester.of(session).occupy(session)
        await _close(session)
        await tester.of(session).ask(session)
        await session.until_closed(session.seconds("quiet"))
        return session


async def _close(session: Session) -> None:
    """Make the application end the connection, by its operation or by closing stdin."""
    instance = session.instance
    by_line = instance.configuration.upper_tester == "stdio" and instance.process
    try:
        answer = await instance.upper("close")
        done, error = answer.ok, answer.why
    except Inconclusive as none:
        # An application can exit with its connection before it has answered.
        done, error = False, str(none)
    if by_line and not done:
        by_line.standard.finish()
    came = await session.wait_for(_END, OVERSIZED, within="response")
    if not (done or came or (by_line and session.ended)):
        raise Inconclusive(f"the operation 'close' failed: {error}")


def _announcement(session: Session) -> Message:
    """Return the IUT's end of transmission.

    Raises NotExercised if the IUT declares that it sends none, Inconclusive if it is missing.
    """
    for message in session.received:
        if message.name == _END:
            return message
    if why := session.instance.configuration.reason_to_leave_out("end.announced"):
        raise NotExercised(f"the IUT sends no end of transmission: {why}")
    raise Inconclusive("received no end of transmission (end.announced)")


SHUT_DOWN = {"quiet": shut_down, "busy": shut_down_busy, "later": shut_down_later}


@requirement("end.announced")
@pytest.mark.parametrize("held", SHUT_DOWN.values(), ids=SHUT_DOWN)
async def test_announced(iut: Iut, held: Callable[[Iut], Awaitable[Session]]) -> None:
    """An application that ends the connection announces the end."""
    session = await held(iut)
    if not has_announced_end(session):
        if session.reset and any(
            name_of_begun(event.data or b"") == _END for event in session.iut_events
        ):
            raise Inconclusive("a reset of the connection cut the end of transmission")
        came = (
            "the connection was closed without an end of transmission"
            if session.ended
            else "received none"
        )
        raise Violation("an end of transmission before the connection is closed", came)


@requirement("end.reason-ascii")
async def test_reason(iut: Iut) -> None:
    """The reason given in an end of transmission, if any, is ASCII."""
    message = _announcement(await shut_down(iut))
    reason = message.value["reason"]
    check(reason.isascii(), "ASCII text", f"received {reason[:80]!r}", message.event)


@requirement("frame.variable-length")
async def test_length_of_the_reason(iut: Iut) -> None:
    """The length of an end of transmission is the length of its reason."""
    session = await shut_down(iut)
    _check_size(session)
    _announcement(session)


@requirement("frame.variable-length")
async def test_length_of_the_answer(iut: Iut) -> None:
    """An end of transmission that answers another one carries the length of its reason."""
    _check_size(await ordinary(iut))


@requirement("frame.variable-length")
async def test_length_of_a_refusal(iut: Iut) -> None:
    """An end of transmission that refuses a peer carries the length of its reason."""
    async with iut.session() as session:
        await session.send(UNKNOWN["32-bit"])
        await session.until_closed()
        _check_size(session)


def _check_size(session: Session) -> None:
    """Raise Violation if the length of an end of transmission is wrong."""
    ending = False
    # If the stream was out of step before, the end of transmission can be an illusion.
    astray = any(found.requirement == "frame.fixed-lengths" for found in session.judge.findings)
    for index, event in enumerate(session.events):
        if event.sender != session.role.name:
            continue
        ending = ending or name_of_begun(event.data or b"") == _END
        if ending and event.message == OVERSIZED:
            came = f"received a length of {event.value['length']}"
            raise Violation("the length of the reason", came, event=index, explains=not astray)
        # A message that breaks off earlier has not announced its length yet.
        has_length = event.message is None or (
            event.message == TRUNCATED
            and len(event.data or b"") >= LENGTH_KNOWN
            and not session.reset
        )
        if ending and event.data is not None and has_length:
            came = f"received more or fewer bytes than the length says: {event.data[:60]!r}"
            raise Violation("the length of the reason", came, event=index, explains=not astray)


@requirement("end.closes")
async def test_closes_after_it(iut: Iut) -> None:
    """A side that has announced the end of the connection closes it."""
    session = await shut_down(iut)
    _announcement(session)
    check(
        session.ended,
        "the connection to be closed after an end of transmission",
        "the connection stays open",
    )


@requirement("end.nothing-after")
async def test_nothing_after_it(iut: Iut) -> None:
    """The IUT sends nothing after its end of transmission, not even a requested answer."""
    session = await shut_down_busy(iut)
    last = _announcement(session)
    later = [message for message in session.received if message.event > last.event]
    absent(later[0] if later else None, "nothing after an end of transmission")


REASONS = {
    "long": "The exercise is finished. " * 40,
    "longer": "The exercise is finished. " * 3000,
    "odd": "100 %s%n%d\r\ntwo\0 Auf Wiederh\xf6ren \xff",
}


@requirement("end.received")
@pytest.mark.parametrize("reason", REASONS)
async def test_received(iut: Iut, reason: str) -> None:
    """After the peer's end of transmission the connection is closed, or its close accepted."""
    text = REASONS[reason]
    if not set(text) <= _READABLE and await _is_sending_back(iut):
        # Otherwise, our reason would make the IUT's reason unreadable.
        text = "".join(character for character in text if character in _READABLE)
    async with open_session(iut) as session:
        await session.send(end(text))
        if (await habits(iut)).closing != REASON or not await session.until_closed():
            await session.finish()
        await _check_ends(session, "an end of transmission")


async def _is_sending_back(iut: Iut) -> bool:
    """Return True if the IUT's own reason contains the reason of its peer."""

    async def find() -> bool:
        async with open_session(iut) as session:
            await session.send(end(_OF_OUR_OWN))
            await session.finish()
            await session.until_closed()
            return any(_OF_OUR_OWN in m.value["reason"] for m in session.received if m.name == _END)

    return await iut.cached("reasons sent back", find)


@requirement("end.received")
async def test_received_in_a_busy_session(iut: Iut) -> None:
    """An end of transmission amid messages crashes nothing, even if the peer stays."""
    async with open_session(iut) as session:
        await tester.of(session).occupy(session)
        await session.send(end(REASON))
        if (await habits(iut)).closing != REASON or not await session.until_closed():
            await session.finish()
        if session.instance.process:
            await session.instance.process.crashes(EXIT_TIME)
        after = "an end of transmission amid messages"
        await _check_ends(session, after)
        await tester.of(session).check_next_is_served(iut, session, after)


async def _check_ends(session: Session, after: str, requirement: str | None = None) -> None:
    """Raise Violation, of this requirement if one is given, unless the IUT disconnects."""
    if not await session.until_closed():
        expected = f"the connection to be closed after {after}"
        raise Violation(expected, "the connection stays open", requirement)
    await assert_alive(session, after)


@requirement("end.heeded")
async def test_nothing_to_a_peer_that_has_ended(iut: Iut) -> None:
    """Nothing, not even an answer, is sent to a peer that has ended the transmission.

    Messages that were under way have the time of a reaction to arrive.
    """
    async with open_session(iut) as session:
        await tester.of(session).occupy(session)
        await session.stop_answering()
        await session.send(end(REASON))
        await tester.of(session).ask(session)
        under_way = session.countdown("response")
        while not tester.of(session).asks and await session.wait_for(within=under_way):
            pass
        late = await session.wait_for(*tester.of(session).signs, within="response")
        absent(late, "nothing after the peer's end of transmission")
        await assert_alive(session, "an end of transmission and messages after it")


@requirement("end.reason-optional")
async def test_no_reason(iut: Iut) -> None:
    """An end of transmission without a reason is understood like one with a reason."""
    with_reason = (await habits(iut)).closing == REASON
    async with open_session(iut) as session:
        await session.send(end(""))
        closed = await session.until_closed(None if with_reason else session.seconds("quiet"))
        does = {True: "closed the connection", False: "did not close the connection"}
        check(
            closed == with_reason,
            f"the same as with a reason, after which the IUT {does[with_reason]}",
            f"the IUT {does[closed]}",
        )
        await session.finish()
        await _check_ends(session, "an end of transmission without a reason", "end.received")
        if not closed:
            raise Inconclusive("the IUT closes after neither, so nothing shows that it read them")


WHERE = {
    "at-once": None,
    "between-messages": b"",
    "inside-a-length": encode(UNKNOWN["variable"])[:4],
    "inside-contents": encode(UNKNOWN["128-bit"])[:9],
}


@requirement("end.abrupt")
@pytest.mark.parametrize("where", WHERE)
async def test_abrupt_end(iut: Iut, where: str) -> None:
    """A peer that disconnects without an end of transmission crashes nothing.

    A server also serves its next client.
    """
    last = WHERE[where]
    async with iut.session() as session:
        if last is not None:
            await shake_hands(session)
            await session.send_bytes(last)
        await session.finish()
        await _check_ends(session, "an abrupt end")
        await tester.of(session).check_next_is_served(iut, session, "an abrupt end")


@requirement("end.abrupt")
async def test_abrupt_end_of_a_busy_session(iut: Iut) -> None:
    """A peer that disconnects without reading the latest messages crashes nothing."""
    async with iut.session() as session:
        await shake_hands(session)
        await tester.of(session).occupy(session)
        for _ in range(_REQUESTS):
            await tester.of(session).ask(session)
        await session.close(reset=True)
        after = "the end of a connection to which it was writing"
        if session.instance.process:
            await session.instance.process.crashes(EXIT_TIME)
        await session.assert_alive(after)
        await tester.of(session).check_next_is_served(iut, session, after)
