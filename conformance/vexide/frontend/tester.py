"""The tester of a frontend: plays the simulator and its user, and reads what the frontend does."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

from conformance.cases import check
from conformance.definitions.keywords import shown as brief
from conformance.iut import Iut
from conformance.segmentation import Segmentation
from conformance.session import Session
from conformance.verdicts import Inconclusive, NotExercised
from conformance.vexide.commands import START
from conformance.vexide.events import EXITED, PROGRAM, READY, UNSETTLED, answer, log
from conformance.vexide.tester import received
from conformance.waiting import Within
from conformance.wire import Message

_POLL = 0.02  # seconds between two looks at what the user sees
_LINE, _NO_LOGS = "the reading of a line", "nothing gives the logs during a session"
_MARKER = "conformance-that-follows"
_MANY = 5  # lines or more tell how long one takes
_A_RESPONSE = 4  # lines that a slow frontend reads in the time that it has for a response


# A session, step by step


@contextlib.asynccontextmanager
async def opened(
    iut: Iut, *, starting: bool = True, segmentation: Segmentation | None = None
) -> AsyncIterator[Session]:
    """A session in which the frontend has sent its Handshake and waits for the answer.

    With ``starting``, StartExecution is the sign that what came before was taken: raises
    NotExercised or Inconclusive where the frontend sends none in a plain session either.
    """
    known = await plain_session(iut)
    if starting:
        known.require_start()
    async with iut.session(segmentation=segmentation) as session:
        await begun(session)
        yield session


@contextlib.asynccontextmanager
async def in_setup(
    iut: Iut, *, starting: bool = True, segmentation: Segmentation | None = None
) -> AsyncIterator[Session]:
    """The same, once the handshake is finished; Ready has not been sent."""
    async with opened(iut, starting=starting, segmentation=segmentation) as session:
        await session.send(answer())
        yield session


async def begun(session: Session) -> Message:
    """The frontend's Handshake command."""
    return await session.expect(
        "Handshake",
        to="unasked: a frontend begins the session",
        requirement="handshake.frontend-begins",
    )


def patience(session: Session, lines: int) -> float:
    """How long it may take until that many lines are read: slow reading is not wrong."""
    response = session.instance.configuration.seconds("response")
    # Where the test has failed already, no line is waited for by itself.
    reading = 0 if session.hasty else lines * session.pace(_LINE, response / _A_RESPONSE)
    return max(response, min(reading, session.instance.configuration.max_wait / 2))


def _reading(session: Session, lines: int) -> Within:
    """The same for a single wait: the time to react, where that is as long."""
    return "response" if lines <= _A_RESPONSE else session.left(patience(session, lines))


async def needs_ready(session: Session, within: Within | None = None) -> None:
    """Raise Inconclusive where StartExecution comes although no Ready was sent."""
    if await session.watch(START, within=within):
        raise Inconclusive("StartExecution comes without any Ready (start.waits-for-ready)")


async def starts(session: Session, to: str = "after Ready", lines: int = 1) -> Message:
    """Send Ready; the StartExecution that it brings, by itself or once the user wants to start.

    ``lines`` is how many the frontend may still have to read until it comes to Ready.
    """
    await session.send(READY)
    return await started(session, to, lines)


async def started(session: Session, to: str = "after Ready", lines: int = 1) -> Message:
    """The StartExecution that a Ready brings that was sent before."""
    return await _started(session, lines, "quiet") or await session.expect(START, to=to)


async def _started(
    session: Session, lines: int = 1, at_last: Within = "response"
) -> Message | None:
    """The same, or None; ``at_last`` is how long it is awaited once the user has done all."""
    asked = session.now
    message = await _start(session, lines, at_last)
    if message and lines >= _MANY:
        session.took(_LINE, (message.at - asked) / lines)
    return message


async def _start(session: Session, lines: int, at_last: Within) -> Message | None:
    upper, within = session.instance.upper, _reading(session, lines)
    if not upper.offers("start"):
        return await session.watch(START, within=within)
    message = await session.watch(START)
    if within == "response":
        soon = session.pace(START, session.seconds("response"))
        within = session.left(max(soon, session.seconds("quiet")))
    # Where the first press came before Ready had been read, the second one counts.
    for seconds in (within,) if session.hasty else (within, at_last):
        if message is None and not session.ended:
            with contextlib.suppress(Inconclusive):
                await upper("start")
            message = await session.watch(START, within=seconds)
    return message


async def start_if_possible(iut: Iut, session: Session) -> None:
    """Start the program where a plain session shows that the frontend does."""
    if (await plain_session(iut)).why is None:
        await starts(session)


def before(session: Session, name: str, mark: Message) -> list[Message]:
    """All messages of a name that came before another message."""
    return [message for message in received(session, name) if message.event < mark.event]


# The user's side


async def user(session: Session, operation: str, **arguments: Any) -> Any:
    """What the user does; its result. Raises NotExercised, or Inconclusive where it fails."""
    return (await session.instance.upper(operation, **arguments)).required(operation)


async def outcome(session: Session, lines: int = 1) -> str | None:
    """How the session ended for the user: exited or error, as soon as that is known; else None.

    Raises NotExercised where the operation answers in another form.
    """
    left = session.left(patience(session, lines))
    while True:
        result = await user(session, "outcome")
        if result and not (isinstance(result, dict) and "outcome" in result):
            form = '{"outcome": "exited"} or {"outcome": "error"}'
            raise NotExercised(f"the operation 'outcome' answers {brief(result)}, and not {form}")
        said = result["outcome"] if result else None
        if said in ("exited", "error"):
            return str(said)
        if left() < 0:
            return None
        await asyncio.sleep(_POLL)


async def shown(session: Session, marker: str) -> bool:
    """Whether the user can read a text, in the frontend's own output or in the logs that it keeps.

    Raises NotExercised where neither shows it and nothing gives the logs.
    """
    # What gave no logs during one session gives none during another.
    vain = session.memory.get(_NO_LOGS) and not session.finished
    left = session.left("quiet" if vain else "response")
    upper, process = session.instance.upper, session.instance.process
    while True:
        if process and marker in process.stderr.text + process.stdout.text:
            return True
        logs = None
        if upper.offers("outcome"):
            result = await user(session, "outcome")
            logs = result.get("log") if isinstance(result, dict) else None
            if logs is not None and marker in str(logs):
                return True
        if left() < 0:
            break
        await asyncio.sleep(_POLL)
    if session.deserted:
        raise Inconclusive("the frontend has ended the session itself, and may not have read it")
    if logs is None:
        session.memory[_NO_LOGS] = True
        raise NotExercised(
            "the frontend's own output does not show it; give --hook outcome=COMMAND that prints "
            '{"outcome": …, "log": TEXT} with all logs that the user can read'
        )
    return False


async def complain(session: Session, text: str | bytes) -> None:
    """Write to the standard error of the simulator that the frontend has started."""
    if session.instance.errors is None:
        raise NotExercised(
            "the suite has no standard error towards this frontend; put {simulator} into the "
            "command, the executable that it is to start as its simulator"
        )
    await session.instance.errors.write(text.encode() if isinstance(text, str) else text)


# The end, and signs of life


async def hang_up(session: Session) -> None:
    """End as a simulator's process does: all its streams close at once."""
    await session.finish()
    _end_process(session)


def _end_process(session: Session) -> None:
    # The bridge ends once its standard error has been ended, too.
    if session.instance.errors:
        session.instance.errors.finish()


async def ends(session: Session, lines: int = 1) -> bool | None:
    """Close our side; whether the frontend ends the session, too, or None: it cannot be seen."""
    await session.finish()
    known = session.memory.get(_PLAIN)
    awaits_process = known is not None and known.awaits_process
    if not awaits_process and await session.until_closed(_reading(session, lines)):
        return True
    # It may wait for the end of its simulator's process, after which the stream shows nothing more.
    _end_process(session)
    process = session.instance.process
    if process and await process.wait(session.seconds("response")):
        return True
    if session.instance.errors is None:
        return False
    if session.instance.upper.offers("outcome"):
        return await outcome(session) is not None
    return None


async def lives_on(iut: Iut, session: Session, after: str, lines: int = 1) -> None:
    """Raise Violation unless it has closed the stream by itself or still serves the session.

    For a session in setup that was ``opened``, so that it is known how the frontend shows that.
    Raises NotExercised or Inconclusive where it does not: to read on is not to understand.
    """
    known = await plain_session(iut)
    await session.send(READY)
    if known.why is None:
        served = await _started(session, lines) is not None or session.ended
        ignored = "" if served else f"it hangs{session.instance.describe_end()}"
    else:
        ignored = await _ignored(iut, session, after, lines, may_leave=True)
    await session.unharmed(after)
    served = not ignored or session.deserted
    check(served, f"the frontend to serve its session after {after}", ignored)


async def plays_on(iut: Iut, session: Session) -> None:
    """From Ready to the end of the program, as far as the frontend goes along."""
    await session.send(READY)
    if (await plain_session(iut)).why is None:
        await _started(session)
    else:
        await session.watch(START)
    await session.send(*PROGRAM.values(), *UNSETTLED.values())
    await session.watch()
    await session.send(EXITED)
    await hang_up(session)
    await session.until_closed("quiet")


async def finishes(iut: Iut, session: Session, after: str, lines: int = 1) -> None:
    """Raise Violation unless Exited, sent now, is taken as the normal end of a running session.

    Raises NotExercised or Inconclusive where not even a plain session shows that.
    """
    if not (await plain_session(iut)).tells:
        await session.until_closed("quiet")
    check(not session.ended, f"the session to go on after {after}", "the frontend closed it")
    ignored = await _ignored(iut, session, after, lines)
    check(not ignored, f"Exited to be taken after {after}", ignored)


async def _ignored(
    iut: Iut, session: Session, after: str, lines: int, may_leave: bool = False
) -> str:
    """Send Exited, and a Log if that shows more: what tells that they are ignored, if they are.

    Raises NotExercised or Inconclusive where a plain session does not show either to be taken, and
    Violation where the frontend has died, or does not end as it does there.
    """
    known = await plain_session(iut)
    if known.tells:
        await session.send(EXITED)
        if may_leave and await session.until_closed("quiet"):
            return ""
        await hang_up(session)
        try:
            said = await outcome(session, lines)
        except Inconclusive:
            # What would have told it may have died.
            await session.unharmed(after)
            raise
        return "" if said == "exited" else f"outcome says {said}"
    if not known.leaves and await iut.once("its own output shows a Log", lambda: _logs(iut)):
        if await _shows_log(session):
            return ""
        await session.unharmed(after)
        return "it does not show a Log that is sent then"
    await session.send(EXITED)
    left = await session.until_closed(_reading(session, lines)) if known.leaves else None
    await session.unharmed(after)
    if left is None:
        ended = await ends(session, lines)
        await session.unharmed(after)
        check(ended or not known.ends, f"the frontend to end its session after {after}", "it hangs")
        known.require_start()
        raise NotExercised("nothing shows how a session ended; give --hook outcome=COMMAND")
    return "" if left else "it goes on after Exited"


async def _logs(iut: Iut) -> bool:
    async with in_setup(iut, starting=False) as session:
        return await _shows_log(session)


async def _shows_log(session: Session) -> bool:
    await session.send(log(_MARKER, "Error"))
    try:
        return await shown(session, _MARKER)
    except (Inconclusive, NotExercised):
        return False


@dataclass(frozen=True)
class PlainSession:
    """How the frontend shows, in a plain session, that it serves it.

    ``why``: why StartExecution shows nothing, or None; ``leaves``: it ends its side upon Exited;
    ``ends``: at least once the simulator has; ``awaits_process``: not before the simulator's
    process has ended, too; ``tells``: the operation outcome calls that a normal end.
    """

    why: NotExercised | Inconclusive | None
    leaves: bool
    ends: bool
    awaits_process: bool
    tells: bool

    def require_start(self) -> None:
        """Raise why StartExecution shows nothing, if that is so."""
        if self.why is not None:
            raise type(self.why)(str(self.why))


_PLAIN = "plain session"


async def plain_session(iut: Iut) -> PlainSession:
    """What a plain session shows, which is found out once in a run."""
    return await iut.once(_PLAIN, lambda: _observe(iut))


async def _observe(iut: Iut) -> PlainSession:
    async with iut.session() as session:
        await begun(session)
        # Far apart, so that the way they arrive is plain, too.
        await session.send(answer())
        await session.until_closed("quiet")
        await session.send(READY)
        # A start that is only late is for start.sent to judge.
        start = await _started(session) or await session.watch(
            START, within=session.left("response", "response")
        )
        await session.send(EXITED)
        asked = session.instance.upper.offers("outcome")
        leaves = await session.until_closed("quiet" if asked else "response")
        await session.finish()
        closed = await session.until_closed()
        ended = closed or bool(await ends(session))
        _end_process(session)
        tells = asked and await outcome(session) == "exited"
        why = None if start else await _why_not_started(session)
        return PlainSession(why, leaves, ended, ended and not closed, tells)


async def _why_not_started(session: Session) -> NotExercised | Inconclusive:
    if not session.instance.upper.offers("start"):
        try:
            await session.instance.upper("start")
        except NotExercised as needed:
            return NotExercised(f"the frontend does not start by itself; it {needed}")
    return Inconclusive(
        "no StartExecution comes in a plain session either (start.sent), so that its absence here "
        "would show nothing"
    )
