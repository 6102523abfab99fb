"""Checks that the IUT serves its peer, understands the next message, and is alive."""

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from conformance.cases import check
from conformance.deltarobot import tester
from conformance.deltarobot.codec import encode
from conformance.deltarobot.handshake import open_session
from conformance.deltarobot.messages import OF_EACH_SIZE, end, unknown
from conformance.deltarobot.reading_errors import is_in_step
from conformance.deltarobot.session_ends import (
    describe_own_end,
    has_announced_end,
    is_ended_by_itself,
)
from conformance.iut import Iut
from conformance.segmentation import Segmentation, byte_by_byte
from conformance.session import Session
from conformance.verdicts import Inconclusive, Violation

_LONG_UNKNOWN = unknown(0xF321, "ff" * 0x1_8FF0)
"""An unknown message; the lower bytes of its length are negative if bytes are read as signed."""

_SHORT = encode(unknown(0xF321, "ff" * 10))  # 16 bytes, so that a power of two contains many
_MANY_IN_ONE = unknown(0xF321, (_SHORT * ((1 << 20) // len(_SHORT))).hex())
"""An unknown message of 1 MiB; the lower 16 bits of its length are zero."""

_SKIPPED = "messages.unknown-skipped"
_TEXTS, _NO_TEXT = ("61", "41", "30", "21"), "ff"  # characters, and a byte that is in no UTF-8
_ORDINARY = "ordinary"  # key of the ordinary session in the memory of the run

REASON = "bye"
"""The usual reason in our end of transmission."""


# Facts that an undisturbed session shows


@dataclass(frozen=True)
class Habits:
    """The behaviour of the IUT in an ordinary session.

    ``shows_service``: the IUT shows that it serves its peer. ``closing``: the reason of an end of
    transmission after which the IUT closes before its peer does. The value is REASON, or empty if
    only an end without a reason has this effect; None if neither has.
    """

    shows_service: bool
    closing: str | None


async def share_session(iut: Iut, name: str, hold: Callable[[Iut], Awaitable[Session]]) -> Session:
    """Return a session that several tests share and that runs once in a run."""
    return _is_service_shown(iut, await iut.cached(name, lambda: hold(iut)))


def _is_service_shown(iut: Iut, session: Session) -> Session:
    if session not in iut.sessions:
        iut.sessions.append(session)
    return session


async def ordinary(iut: Iut) -> Session:
    """Return an ordinary session, complete from its start to its end."""
    session, _ = await iut.cached(_ORDINARY, lambda: _run_ordinary(iut))
    return _is_service_shown(iut, session)


async def habits(iut: Iut) -> Habits:
    """Return the IUT's behaviour in an ordinary session."""
    _, found = await iut.cached(_ORDINARY, lambda: _run_ordinary(iut))
    return found


def find_known_habits(tested: Iut | Session) -> tuple[Session | None, Habits | None]:
    """Return the ordinary session and its findings, if one has run already; do not wait."""
    found: tuple[Session | None, Habits | None] = tested.facts.get(_ORDINARY, (None, None))
    return found


async def _run_ordinary(iut: Iut) -> tuple[Session, Habits]:
    """Run the ordinary session; repeat it once if it shows no service.

    Many tests depend on the result, so one bad start must not decide it.
    """
    session, found = await _plain_session(iut)
    return (session, found) if found.shows_service else await _plain_session(iut)


async def _plain_session(iut: Iut) -> tuple[Session, Habits]:
    async with open_session(iut) as session:
        served = await tester.of(session).has_served(session)
        await tester.of(session).show_more(session)
        closes = not session.ended and await is_closed_after(session, REASON)
        # A session can end early by itself, and an exercise can delay the close. New, short
        # sessions show the reaction to both ends alike.
        closing = REASON if closes else await _closing_reasons(iut, REASON, "")
        found = Habits(served, closing)
        await session.finish()
        await session.until_closed()
        return session, found


async def _closing_reasons(iut: Iut, *reasons: str) -> str | None:
    for reason in reasons:
        async with open_session(iut) as session:
            if await is_closed_after(session, reason):
                return reason
    return None


async def is_closed_after(session: Session, reason: str) -> bool:
    """Send an end with this reason. Returns True if the IUT closes before its peer does.

    Nothing else is sent. More bytes could complete a message for which a misreading IUT waits.
    """
    await session.stop_answering()
    await session.send(end(reason))
    return await session.until_closed()


@dataclass(frozen=True)
class Refused:
    """Unknown messages, one of each size, after which the IUT closes the connection or crashes.

    The specification does not forbid the IUT to close. Tests that depend on such messages can
    decide nothing then.
    """

    closed: list[Any]
    deadly: list[Any]

    def __contains__(self, message: Any) -> bool:
        return message in self.closed or message in self.deadly

    def is_refusing(self, message: Any) -> bool:
        """Return True if a message of the same size is refused."""
        size = slice(3)  # the characters of an identifier that give its size: 0x and one digit
        ends = (one["identifier"][size] for one in (*self.closed, *self.deadly))
        return message["identifier"][size] in ends


async def find_refused(iut: Iut) -> Refused:
    """Find the unknown messages after which the IUT ends the session, once in a run."""
    return await iut.cached("refused", lambda: _find_refused(iut))


async def _find_refused(iut: Iut) -> Refused:
    each = list(OF_EACH_SIZE.values())
    some = await _end_after(iut, *each)
    ends = [(one, await _end_after(iut, one)) for one in each if some]
    closed = [one for one, end in ends if end == "closed"]
    return Refused(closed, [one for one, end in ends if end == "crashed"])


async def _end_after(iut: Iut, *messages: Any) -> str:
    """Return how these messages end the session: closed, crashed, or empty."""
    async with open_session(iut) as session:
        await session.send(*messages)
        await tester.of(session).prompt(session)
        await session.wait_for(*tester.of(session).signs, within="response")
        # The signs can have been sent before the IUT read a long message.
        await session.wait_until_taken()
        if not await session.until_closed(session.seconds("quiet")):
            return ""
        try:
            await assert_alive(session, "unknown messages")
        except Violation:
            return "crashed"
        return "" if await is_ended_by_itself(iut, session) else "closed"


async def leave_out_refused(iut: Iut, messages: dict[str, Any]) -> dict[str, Any]:
    """Return the messages whose size the IUT does not refuse. Raises Inconclusive if none."""
    known = await find_refused(iut)
    left = {name: value for name, value in messages.items() if not known.is_refusing(value)}
    if not left:
        raise Inconclusive("the IUT closes after unknown messages (messages.unknown-skipped)")
    return left


async def usable_script(iut: Iut) -> list[Any]:
    """Return the script of the peer without the messages that the IUT refuses."""
    left_out = await find_refused(iut)
    return [message for message in tester.of(iut).script if message not in left_out]


# Checks that the IUT serves


async def check_serves(iut: Iut, session: Session, after: str) -> None:
    """Raise Violation unless a new message of the IUT shows that it serves this session."""
    _, known = find_known_habits(iut)
    if (known is None or known.shows_service) and await tester.of(session).has_served(session):
        return
    # Opened only now: a server that serves one client at a time refuses a second session.
    if not (await habits(iut)).shows_service:
        raise Inconclusive(f"{tester.of(session).unseen} in a plain session either")
    await _raise_because_stopped(iut, session, after)


async def check_continues(iut: Iut, session: Session, after: str) -> None:
    """Raise Violation unless the IUT serves and understands the next message.

    A server shows that it understands only by closing after an end of transmission.
    """
    await check_serves(iut, session, after)
    # A server can have sent its last messages before it closed the connection.
    within = 0 if tester.of(session).asks else session.seconds("quiet")
    if await session.until_closed(within):
        await _raise_because_stopped(iut, session, after)
    await tester.of(session).check_follows(iut, session, after)


async def check_ignores(iut: Iut, session: Session, after: str) -> None:
    """Call `check_continues`; raise Inconclusive if the IUT closes after unknown messages, too.

    The IUT need not know these messages, so it can treat them as unknown.
    """
    try:
        await check_continues(iut, session, after)
    except Violation as wrong:
        if session.ended and (await find_refused(iut)).closed:
            known = "the IUT closes after unknown messages, too (messages.unknown-skipped)"
            raise Inconclusive(f"{wrong}; {known}") from None
        raise


async def _raise_because_stopped(iut: Iut, session: Session, after: str) -> None:
    """Raise Violation because the IUT stopped serving, or Inconclusive with the reason."""
    await assert_alive(session, after)
    expected = f"the session to continue after {after}"
    if not session.ended:
        known = await tester.of(session).find_plain_failure(iut)
        came = f"the {session.role.name} {tester.of(session).silent}"
        raise Violation(expected, came, known).shown_in(session)
    if await is_ended_by_itself(iut, session):
        raise Inconclusive(f"{describe_own_end(session)}; expected {expected}").shown_in(session)
    came = f"the {session.role.name} closed the connection{_end_reason(session)}"
    raise Violation(expected, came).shown_in(session)


def _end_reason(session: Session) -> str:
    reasons = [m.value["reason"] for m in session.received if m.name == "EndOfTransmission"]
    return f" with the reason {reasons[0][:200]!r}" if reasons and reasons[0] else ""


@contextlib.asynccontextmanager
async def in_many_reads(iut: Iut) -> AsyncIterator[None]:
    """Run a block in which the suite sends more than the IUT reads at once.

    A Violation in the block is blamed on a simpler failure, if there is one:

    - frame.segmentation, if the IUT does not understand short messages in pieces either.
    - frame.variable-length, if it skips no message of more than 65535 bytes. A close because of the
      length is no such failure.

    A failure because of the contents of a message is not simpler.
    """
    try:
        yield
    except Violation as violation:
        if violation.requirement == _SKIPPED:
            raise
        violation.session = violation.session or (iut.sessions[-1] if iut.sessions else None)
        if await iut.cached("loses pieces", lambda: _is_losing_messages(iut, byte_by_byte)):
            violation.requirement = "frame.segmentation"
        elif (
            OF_EACH_SIZE["variable"] not in await find_refused(iut)
            and await iut.cached(
                "loses long ones", lambda: _is_losing_messages(iut, None, _LONG_UNKNOWN)
            )
            and not await _is_refusing_long_messages(iut)
        ):
            violation.requirement = "frame.variable-length"
        raise


@contextlib.asynccontextmanager
async def blame_contents(iut: Iut) -> AsyncIterator[None]:
    """Blame messages.unknown-skipped if the IUT stops because of the contents of such a message.

    An IUT that reads all contents as text, for example, still reads lengths and types correctly.
    """
    try:
        yield
    except Violation as violation:
        violation.session = violation.session or next(reversed(iut.sessions), None)
        crashed = violation.session is not None and violation.session.crash
        if not crashed and await _is_stopping_at_contents(iut):
            violation.requirement = _SKIPPED
        raise


async def _is_stopping_at_contents(iut: Iut) -> bool:
    """Return True if the IUT skips unknown messages with text, but none of the same lengths."""

    async def find() -> bool:
        # After any other reading of odd lengths, odd numbers of bytes are left. A reader can come
        # back into step by chance after one character, but not after all of them.
        for byte in _TEXTS:
            if not await is_in_step(iut, *_of_odd_lengths(byte)):
                return False
        return not await is_in_step(iut, *_of_odd_lengths(_NO_TEXT))

    return await iut.cached("stops at contents", find)


def _of_odd_lengths(byte: str) -> list[Any]:
    return [unknown(0xF321, byte * size) for size in (1, 5)]


@contextlib.asynccontextmanager
async def excuse_length_limit(iut: Iut) -> AsyncIterator[None]:
    """Blame messages.unknown-skipped if the IUT closes because a message is too long for it."""
    try:
        yield
    except Violation as violation:
        session = violation.session or iut.sessions[-1]
        if session.ended and not session.crash and await _is_refusing_long_messages(iut):
            violation.requirement = _SKIPPED
        raise


async def _is_refusing_long_messages(iut: Iut) -> bool:
    """Return True if the IUT closes after a long message because of its length.

    The contents can be read as many short messages. An IUT that reads the length wrongly, and then
    closes after other contents, does not close after these.
    """
    return await iut.cached("refuses long ones", lambda: _is_closing_after(iut, _MANY_IN_ONE))


async def _is_closing_after(iut: Iut, message: Any) -> bool:
    return await _end_after(iut, message) == "closed"


async def _is_losing_messages(iut: Iut, segmentation: Segmentation | None, *messages: Any) -> bool:
    """Return True if the IUT does not serve a peer after these messages."""
    try:
        async with open_session(iut, segmentation=segmentation) as session:
            await session.send(*messages)
            await check_continues(iut, session, "messages")
    except Violation:
        return True
    return False


# Checks that the IUT is alive


async def assert_alive(session: Session, after: str) -> None:
    """Raise Violation if a signal or an unhandled error ended the IUT."""
    if not (
        session.ended and (has_announced_end(session) or await tester.of(session).is_alive(session))
    ):
        await session.assert_alive(after)


async def check_survives(iut: Iut, session: Session, after: str) -> None:
    """Raise Violation unless the IUT continues to serve or closes the connection by itself.

    A server must also serve its next client.
    """
    serving = (await habits(iut)).shows_service
    if not session.ended and serving and not await tester.of(session).has_served(session):
        hangs = f"the IUT hangs{session.instance.describe_end()}"
        check(session.ended, f"the session to continue or to end after {after}", hangs)
    await assert_alive(session, after)
    await tester.of(session).check_next_is_served(iut, session, after)
