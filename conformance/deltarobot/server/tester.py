"""The tester of a server: answers pings, and starts exercises by a hook."""

import contextlib
from collections.abc import AsyncIterator
from typing import ClassVar

from conformance.deltarobot.codec import encode
from conformance.deltarobot.handshake import open_session, shake_hands
from conformance.deltarobot.messages import EXERCISE, HANDSHAKE, OF_EACH_SIZE, PROGRESS, end, pong
from conformance.deltarobot.service import (
    check_serves,
    find_known_habits,
    habits,
    is_closed_after,
    share_session,
)
from conformance.deltarobot.session_ends import excuse_end, is_served
from conformance.deltarobot.tester import Form, Tester
from conformance.harness.instance import Instance
from conformance.iut import Iut
from conformance.segmentation import Segmentation
from conformance.session import Session, Timeout
from conformance.verdicts import Inconclusive, Unreachable, Violation

NEXT = "robustness.next-client"

_NEVER = "does not even close late after an end that it did not understand"
_NEXT_UNSERVED = "the next client is refused"
_GREETING = len(b"".join(map(encode, HANDSHAKE)))
"""The number of bytes of magic and version."""


class ServerTester(Tester):
    """Plays the client."""

    signs = ("Ping", *EXERCISE)
    unseen = "the server sends no ping and no exercise data"
    silent = "no longer sends anything"
    foreign: ClassVar = pong(1)
    script: ClassVar = [*OF_EACH_SIZE.values(), *reversed(OF_EACH_SIZE.values())]
    asks = False

    def attend(self, session: Session, since: int) -> None:
        session.answer("Ping", lambda message: pong(message.value["number"]), since)

    async def settle(self, session: Session) -> None:
        # The server's application can learn of its client only now, and can end only a known
        # connection.
        if _pings(session):
            await session.wait_for("Ping", within=session.countdown("ping", "response"))

    async def has_served(self, session: Session) -> bool:
        """Return True if a ping or exercise data arrive; start an exercise if necessary."""
        upper = session.instance.upper
        # A server that is not known to ping shows service only by an exercise.
        idle = upper.offers("exercise") and not _pings(session)
        within: Timeout = "quiet" if idle else session.countdown("ping", "response")
        await drain(session, 0)
        if await session.wait_for(*self.signs, within=within):
            return True
        if session.ended or not upper.offers("exercise"):
            return False
        await session.operate("exercise", curve=[[0, 0, 0], [1, 2, -3]])
        within = session.countdown("exercise", "response")
        # A message with a wrong length hides all messages after it.
        return await session.wait_for(*self.signs, "Oversized", within=within) is not None

    async def has_served_in_form(self, session: Session, form: Form) -> bool:
        closed = await session.until_closed()
        return not closed and session.size > _GREETING

    async def show_more(self, session: Session) -> None:
        upper = session.instance.upper
        if upper.offers("exercise"):
            await session.operate("exercise", curve=[[0, 0, 0], [1, 2, -3]])
            await session.wait_for(*PROGRESS, within=session.seconds("exercise"))
        for _ in range(3):
            await session.wait_for("Ping", within=session.seconds("ping"))

    async def is_in_step(self, iut: Iut, session: Session) -> bool:
        """Return True if the server closes after an end of transmission.

        A server sends its messages in any case, so they are no evidence of understanding.
        """
        closing = (await habits(iut)).closing
        return closing is not None and await is_closed_after(session, closing)

    async def occupy(self, session: Session) -> None:
        upper = session.instance.upper
        if upper.offers("exercise"):
            await session.operate("exercise", curve=[[0, 0, 0], [1, 2, -3]])
            await session.wait_for("CurrentActuatorPosition", within=session.seconds("exercise"))

    async def check_follows(self, iut: Iut, session: Session, after: str) -> None:
        """Raise Violation unless the server closes after an end of transmission.

        A server sends its messages in any case, so only the close is evidence of understanding.
        """
        closing = (await habits(iut)).closing
        if closing is None:
            raise Inconclusive(
                "the server keeps the connection after an end of transmission in a plain session, "
                f"too: nothing shows if the server understands messages after {after}"
            )
        if await is_closed_after(session, closing):
            return
        expected = f"an end of transmission to be understood after {after}"
        # If the server never closed late before, a short wait is enough.
        hardly = iut.facts.get(_NEVER, False)
        late = await session.until_closed(
            "quiet" if hardly else session.countdown(*2 * ["response"])
        )
        iut.facts[_NEVER] = hardly or not late
        async with open_session(iut) as plain:
            if any(message.name in EXERCISE for message in session.received):
                await self.occupy(plain)
            if not await is_closed_after(plain, closing):
                raise Inconclusive("the server does not always close after an end of transmission")
        if late:
            # A server that has understood nothing can still give up its client after some time.
            if (reason := _end_reason(session)) is not None and _end_reason(plain) is None:
                raise Violation(
                    expected,
                    f"the server ended the session after {session.now:.1f} s: {reason!r}",
                )
            raise Inconclusive(f"expected {expected}; the server did so after {session.now:.1f} s")
        came = "the server did not close the connection, as it does in a plain session"
        raise Violation(expected, came)

    @contextlib.asynccontextmanager
    async def open_later(
        self, iut: Iut, segmentation: Segmentation | None = None
    ) -> AsyncIterator[Session]:
        if came := await find_next_client_refusal(iut):
            raise Violation("the next client to be served after another", came, NEXT)
        async with iut.instance() as instance:
            await visit(iut, instance)
            connected = iut.connect(instance, segmentation=segmentation)
            async with connected as session, excuse_end(iut, session):
                yield session

    async def check_next_is_served(self, iut: Iut, session: Session, after: str) -> None:
        await session.close()
        try:
            async with open_next_client(iut, session.instance, after) as another:
                await check_serves(iut, another, f"{after} in an earlier connection")
        except (Violation, Unreachable):
            await session.assert_alive(after)
            raise


TESTER = ServerTester()


def _pings(session: Session) -> bool:
    """Return False if no ping interval is declared or an ordinary session had no pings."""
    ordinary, _ = find_known_habits(session)
    declared = "ping" in session.instance.configuration.timing
    return declared and (ordinary is None or any(m.name == "Ping" for m in ordinary.received))


def _end_reason(session: Session) -> str | None:
    """Return the reason of the server's own end of transmission; None if it sent none."""
    ends = (m.value["reason"] for m in session.received if m.name == "EndOfTransmission")
    return next((str(reason)[:200] for reason in ends), None)


async def drain(session: Session, seconds: float) -> None:
    """Read all messages that have arrived or that arrive within this time."""
    deadline = session.now + seconds
    while await session.wait_for(within=deadline - session.now):
        pass


async def visit(iut: Iut, instance: Instance) -> Session:
    """Run a whole session, after which another client can connect; return the session."""
    async with iut.connect(instance) as session:
        await shake_hands(session)
        await end_session(session)
        return session


async def end_session(session: Session) -> None:
    """End the transmission and both sides of a connection."""
    await session.send(end("the next one, please"))
    await session.finish()
    await session.until_closed()


async def find_next_client_refusal(iut: Iut, before: int = 1) -> str:
    """Return the refusal if a client after ``before`` plain clients is not served, else empty."""
    known = f"{_NEXT_UNSERVED} after {before}"

    async def ask(iut: Iut) -> Session:
        came = ""
        async with iut.instance() as instance:
            try:
                for left in range(before, -1, -1):
                    async with _open_next_client(iut, instance, "", NEXT) as session:
                        if left:
                            await end_session(session)
            except Violation as none:
                # A wrong handshake is an error of its own, and no refusal.
                came = none.came if none.requirement == NEXT else ""
            iut.facts[known] = came
            return iut.sessions[-1]

    if iut.facts.get(known) != "":
        await share_session(iut, f"next client after {before}", ask)
    return str(iut.facts[known])


@contextlib.asynccontextmanager
async def open_next_client(
    iut: Iut, instance: Instance, after: str, requirement: str | None = None
) -> AsyncIterator[Session]:
    """Open a session with a server that had another client just before.

    A server that serves one client at a time can refuse the next client until it has noticed the
    disconnect of the last. ``requirement`` is the requirement to blame if no client is served; the
    default is the one under test.
    """
    expected = f"the next client to be served after {after}"
    probed = iut.requirement_id != NEXT and not iut.configuration.has_fixed_address
    if probed and (came := await find_next_client_refusal(iut)):
        raise Violation(expected, came, NEXT)
    before = sum(session.instance is instance for session in iut.sessions)
    served = False
    try:
        async with _open_next_client(iut, instance, expected, requirement) as session:
            served = True
            yield session
    except Violation as none:
        # The server can refuse every client after this number of clients.
        if served or not probed or not await find_next_client_refusal(iut, before):
            raise
        raise Violation(none.expected, none.came, NEXT, none.event) from none


@contextlib.asynccontextmanager
async def _open_next_client(
    iut: Iut, instance: Instance, expected: str, requirement: str | None = None
) -> AsyncIterator[Session]:
    """Open a session with the next client, without comparing with other numbers of clients."""

    async def refuses(session: Session) -> bool:
        try:
            await shake_hands(session)
        except Violation as none:
            if session.received:
                raise
            if not session.ended:
                raise Violation(expected, none.came, requirement) from none
        return await _is_refused(session)

    async with contextlib.AsyncExitStack() as stack:
        try:
            session = await stack.enter_async_context(iut.connect(instance, is_refusing=refuses))
        except Unreachable as none:
            if instance.connections:
                raise Violation(expected, str(none), requirement) from None
            raise
        if came := _refusal(session):
            raise Violation(expected, came, requirement)
        yield session


async def _is_refused(session: Session) -> bool:
    """Return True if a server ends a later session before it serves the client."""
    await session.is_refused(lambda: bool(_refusal(session)) or is_served(session))
    return bool(_refusal(session))


def _refusal(session: Session) -> str:
    """Return how a server ended a later, unserved session, else an empty text."""
    reason = _end_reason(session)
    ended = session.ended or reason is not None
    if session.number == 1 or not ended or is_served(session):
        return ""
    return "the server ended the session" + (f" with the reason {reason!r}" if reason else "")
