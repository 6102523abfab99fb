"""The tester of a frontend: plays the simulator and its user."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

from conformance.cases import check
from conformance.definitions.keywords import short_json as brief
from conformance.iut import Iut
from conformance.segmentation import Segmentation, whole
from conformance.session import Session, Timeout
from conformance.verdicts import Inconclusive, NotExercised
from conformance.vexide.commands import START
from conformance.vexide.events import EXITED, PROGRAM, READY, UNSETTLED, answer, log
from conformance.vexide.tester import messages_named
from conformance.wire import Message

_POLL = 0.02  # seconds between two polls of the user's view
_VIEWS = ("outcome", "screen")
_NO_LOGS = "nothing gives the logs during a session"
_MARKER = "conformance-that-follows"
_A_RESPONSE = 4  # lines that a slow frontend can read within the response timeout


# The steps of a session


@contextlib.asynccontextmanager
async def open_session(
    iut: Iut, *, starting: bool = True, segmentation: Segmentation | None = None
) -> AsyncIterator[Session]:
    """Open a session and wait for the frontend's Handshake; the answer is not sent yet.

    With ``starting``, the test uses StartExecution as the sign that the frontend accepted earlier
    messages. Raises NotExercised or Inconclusive if the frontend sends no StartExecution in a plain
    session.
    """
    known = await plain_session(iut)
    if starting:
        known.require_start()
    async with iut.session(segmentation=segmentation) as session:
        await expect_offer(session)
        yield session


@contextlib.asynccontextmanager
async def open_in_setup(
    iut: Iut, *, starting: bool = True, segmentation: Segmentation | None = None
) -> AsyncIterator[Session]:
    """Open a session and finish the handshake; Ready has not been sent.

    ``starting`` has the same meaning as in ``open_session``. A frontend that loses the lines behind
    the Handshake gets a pause there, because framing.segmentation has tests of its own.
    """
    reads_on = await _reads_on(iut)
    async with open_session(iut, starting=starting, segmentation=segmentation) as session:
        await session.send(answer())
        if not reads_on:
            await session.until_closed("quiet")
        yield session


async def _reads_on(iut: Iut) -> bool:
    """Return False if the frontend loses a Ready in the same write as the Handshake."""

    async def find() -> bool:
        if (await plain_session(iut)).why is not None:
            return True
        async with iut.session() as session:
            await expect_offer(session)
            await session.send(answer(), READY, segmentation=whole)
            return await _wait_for_start(session) is not None

    return await iut.cached("reads on behind the Handshake", find)


async def expect_offer(session: Session) -> Message:
    """Wait for the frontend's Handshake command."""
    return await session.expect(
        "Handshake",
        to="without a request, because a frontend begins the session",
        requirement="handshake.frontend-begins",
    )


def reading_time(session: Session, lines: int) -> float:
    """Return the seconds that a frontend can need to read so many lines.

    Slow reading is not an error.
    """
    response = session.instance.configuration.seconds("response")
    # If the test has already failed, add no time for single lines.
    reading = lines * response / _A_RESPONSE
    return max(response, min(reading, session.instance.configuration.max_wait / 2))


def _reading_timeout(session: Session, lines: int) -> Timeout:
    """Return the timeout of a single wait: "response", or longer for many lines."""
    return "response" if lines <= _A_RESPONSE else session.countdown(reading_time(session, lines))


async def require_ready_first(session: Session, within: Timeout | None = None) -> None:
    """Raise Inconclusive if StartExecution comes although no Ready was sent."""
    if await session.wait_for(START, within=within):
        raise Inconclusive("StartExecution came without a Ready (start.waits-for-ready)")


async def start_program(session: Session, to: str = "after Ready", lines: int = 1) -> Message:
    """Send Ready, and press start if necessary; return the StartExecution that follows.

    ``lines`` is the number of lines that the frontend possibly has to read before Ready.
    """
    await session.send(READY)
    return await expect_start(session, to, lines)


async def expect_start(session: Session, to: str = "after Ready", lines: int = 1) -> Message:
    """Return the StartExecution that follows a Ready sent earlier."""
    return await _wait_for_start(session, lines, "quiet") or await session.expect(START, to=to)


async def _wait_for_start(
    session: Session, lines: int = 1, at_last: Timeout = "response"
) -> Message | None:
    """Return the StartExecution that follows a Ready sent earlier, or None.

    ``at_last`` is the timeout after the last action of the user.
    """
    return await _start(session, lines, at_last)


async def _start(session: Session, lines: int, at_last: Timeout) -> Message | None:
    upper, within = session.instance.upper, _reading_timeout(session, lines)
    if not upper.offers("start"):
        return await session.wait_for(START, within=within)
    message = await session.wait_for(START)
    if within == "response":
        within = session.countdown(session.seconds("quiet"))
    # If the frontend had not read Ready at the first press of start, the second press counts.
    for seconds in (within, at_last):
        if message is None and not session.ended:
            with contextlib.suppress(Inconclusive):
                await session.operate("start")
            message = await session.wait_for(START, within=seconds)
    return message


async def start_if_possible(iut: Iut, session: Session) -> None:
    """Start the program if the frontend starts in a plain session."""
    if (await plain_session(iut)).why is None:
        await start_program(session)


def commands_before(session: Session, name: str, mark: Message) -> list[Message]:
    """Return all messages of a name that came before another message."""
    return [message for message in messages_named(session, name) if message.event < mark.event]


# The user's side


async def operate(session: Session, operation: str, **arguments: Any) -> Any:
    """Perform an operation of the user and return its result.

    Raises NotExercised if the operation is not available, and Inconclusive if it fails.
    """
    # The tester polls the user's view, so the transcript only keeps actions.
    run = session.instance.upper if operation in _VIEWS else session.operate
    return (await run(operation, **arguments)).require_result(operation)


async def user_outcome(session: Session, lines: int = 1) -> str | None:
    """Return how the session ended for the user: "exited", "error", or None if unknown.

    Polls the operation until the response timeout. Raises NotExercised if the operation still
    answers in an unknown form. Before the end of a session, a result can consist of the log alone.
    """
    left = session.countdown(reading_time(session, lines))
    while True:
        result = await operate(session, "outcome")
        outcome = result.get("outcome") if isinstance(result, dict) else None
        if outcome in ("exited", "error"):
            return str(outcome)
        if left() < 0:
            if result and not (isinstance(result, dict) and "outcome" in result):
                form = '{"outcome": "exited"} or {"outcome": "error"}'
                raise NotExercised(
                    f"expected {form} from the operation 'outcome'; received {brief(result)}"
                )
            return None
        await asyncio.sleep(_POLL)


async def is_readable(session: Session, marker: str) -> bool:
    """Return True if the user can read a text in the output or logs.

    Raises NotExercised if the output does not contain the text and no hook provides the logs.
    """
    # If no hook provided logs during one session, expect none during another session.
    vain = session.facts.get(_NO_LOGS) and not session.closed_by_suite
    left = session.countdown("quiet" if vain else "response")
    upper, process = session.instance.upper, session.instance.process
    while True:
        if process and marker in process.stderr.text + process.stdout.text:
            return True
        logs = None
        if upper.offers("outcome"):
            result = await operate(session, "outcome")
            logs = result.get("log") if isinstance(result, dict) else None
            if logs is not None and marker in str(logs):
                return True
        if left() < 0:
            break
        await asyncio.sleep(_POLL)
    if session.closed_by_iut:
        raise Inconclusive("the frontend closed the session and possibly did not read the text")
    if logs is None:
        session.facts[_NO_LOGS] = True
        raise NotExercised(
            "the frontend's own output does not contain the text; give --hook outcome=COMMAND "
            'that prints {"outcome": …, "log": TEXT} with all logs that the user can read'
        )
    return False


async def complain(session: Session, text: str | bytes) -> None:
    """Write to the standard error of the simulator that the frontend has started.

    Raises NotExercised if the frontend started no simulator of the suite.
    """
    if session.instance.errors is None:
        raise NotExercised(
            "the suite has no standard error that this frontend reads; put {simulator} into the "
            "command as the executable that the frontend starts as its simulator"
        )
    await session.instance.errors.write(text.encode() if isinstance(text, str) else text)


# The end of a session, and signs of life


async def hang_up(session: Session) -> None:
    """End like the process of a simulator: close all streams at once."""
    await session.finish()
    _end_process(session)


def _end_process(session: Session) -> None:
    # The bridge exits only after its standard error has been closed, too.
    if session.instance.errors:
        session.instance.errors.finish()


async def end_session(session: Session, lines: int = 1) -> bool | None:
    """Close our side; return True if the frontend ends the session, too.

    Returns None if the end cannot be observed.
    """
    await session.finish()
    known = session.facts.get(_PLAIN)
    awaits_process = known is not None and known.awaits_process
    if not awaits_process and await session.until_closed(_reading_timeout(session, lines)):
        return True
    # The frontend possibly waits until the simulator's process exits. The stream shows no more
    # then.
    _end_process(session)
    process = session.instance.process
    if process and await process.wait(session.seconds("response")):
        return True
    if session.instance.errors is None:
        return False
    if session.instance.upper.offers("outcome"):
        return await user_outcome(session) is not None
    return None


async def check_still_served(iut: Iut, session: Session, after: str, lines: int = 1) -> None:
    """Raise Violation unless the frontend closed the stream or still serves the session.

    The session must be in setup and come from ``open_session``, so that the signs of a served
    session are known. Raises NotExercised or Inconclusive if the frontend shows no such sign,
    because reading alone shows nothing.
    """
    known = await plain_session(iut)
    await session.send(READY)
    if known.why is None:
        served = await _wait_for_start(session, lines) is not None or session.ended
        ignored = "" if served else f"the frontend hangs{session.instance.describe_end()}"
    else:
        ignored = await _describe_ignored(iut, session, after, lines, may_leave=True)
    await session.assert_alive(after)
    served = not ignored or session.closed_by_iut
    check(served, f"the frontend to serve its session after {after}", ignored)


async def play_to_end(iut: Iut, session: Session) -> None:
    """Play from Ready to the program's end, as far as the frontend takes part."""
    await session.send(READY)
    if (await plain_session(iut)).why is None:
        await _wait_for_start(session)
    else:
        await session.wait_for(START)
    await session.send(*PROGRAM.values(), *UNSETTLED.values())
    await session.wait_for()
    await session.send(EXITED)
    await hang_up(session)
    await session.until_closed("quiet")


async def check_normal_end(iut: Iut, session: Session, after: str, lines: int = 1) -> None:
    """Raise Violation unless the frontend takes Exited as the normal end of a running session.

    Raises NotExercised or Inconclusive if a plain session does not show a normal end either.
    """
    if not (await plain_session(iut)).tells:
        await session.until_closed("quiet")
    check(
        not session.ended,
        f"the session to continue after {after}",
        "the frontend closed the session",
    )
    ignored = await _describe_ignored(iut, session, after, lines)
    check(not ignored, f"the frontend to process Exited after {after}", ignored)


async def _describe_ignored(
    iut: Iut, session: Session, after: str, lines: int, may_leave: bool = False
) -> str:
    """Send Exited, or a Log if a Log shows more.

    Returns a description of the evidence that the frontend ignored the event, or an empty string.
    Raises NotExercised or Inconclusive if a plain session shows no reaction to either event. Raises
    Violation if the frontend crashed, or does not end as in the plain session.
    """
    known = await plain_session(iut)
    if known.tells:
        await session.send(EXITED)
        if may_leave and await session.until_closed("quiet"):
            return ""
        await hang_up(session)
        try:
            outcome = await user_outcome(session, lines)
        except Inconclusive:
            # The process that reports the outcome has possibly crashed.
            await session.assert_alive(after)
            raise
        return "" if outcome == "exited" else f"the operation 'outcome' returned {outcome}"
    if not known.leaves and await iut.cached("its own output shows a Log", lambda: _logs(iut)):
        if await _is_showing_log(session):
            return ""
        await session.assert_alive(after)
        return "the frontend does not show a Log that was sent then"
    await session.send(EXITED)
    left = await session.until_closed(_reading_timeout(session, lines)) if known.leaves else None
    await session.assert_alive(after)
    if left is None:
        ended = await end_session(session, lines)
        await session.assert_alive(after)
        check(
            ended or not known.ends,
            f"the frontend to end its session after {after}",
            "the frontend hangs",
        )
        known.require_start()
        raise NotExercised("nothing shows how the session ended; give --hook outcome=COMMAND")
    return "" if left else "the frontend continues after Exited"


async def _logs(iut: Iut) -> bool:
    async with open_in_setup(iut, starting=False) as session:
        return await _is_showing_log(session)


async def _is_showing_log(session: Session) -> bool:
    await session.send(log(_MARKER, "Error"))
    try:
        return await is_readable(session, _MARKER)
    except (Inconclusive, NotExercised):
        return False


@dataclass(frozen=True)
class PlainSession:
    """Observations of how a frontend shows, in a plain session, that it serves the session.

    - ``why``: the reason why StartExecution cannot serve as a sign, or None
    - ``leaves``: the frontend closes its side after Exited
    - ``ends``: the frontend closes its side at the latest after the simulator has closed
    - ``awaits_process``: the frontend closes only after the simulator's process has exited
    - ``tells``: the operation outcome reports a normal end after Exited
    """

    why: NotExercised | Inconclusive | None
    leaves: bool
    ends: bool
    awaits_process: bool
    tells: bool

    def require_start(self) -> None:
        """Raise the reason why StartExecution cannot serve as a sign, if a reason exists."""
        if self.why is not None:
            raise type(self.why)(str(self.why))


_PLAIN = "plain session"
_OPERATIONS = "offered operations"


async def plain_session(iut: Iut) -> PlainSession:
    """Return the observations of a plain session, which is played once in a run."""
    return await iut.cached(_PLAIN, lambda: _observe(iut))


async def learn_operations(iut: Iut) -> None:
    """Ask the frontend once in a run for each operation.

    A frontend with an upper tester on its standard streams possibly offers only some operations.
    The answers make `offers` right in all later tests.
    """
    await iut.cached(_OPERATIONS, lambda: _ask(iut))


async def _ask(iut: Iut) -> None:
    async with iut.session() as session:
        await expect_offer(session)
        upper = session.instance.upper
        # The operations have no arguments here, so most of them only report an error.
        with contextlib.suppress(Inconclusive, TimeoutError):
            async with asyncio.timeout(session.seconds("response")):
                for name in iut.role.hooks:
                    await upper.is_offered(name)


async def _observe(iut: Iut) -> PlainSession:
    await learn_operations(iut)
    async with iut.session() as session:
        await expect_offer(session)
        # Pauses between these messages make their arrival plain, too.
        await session.send(answer())
        await session.until_closed("quiet")
        await session.send(READY)
        # A StartExecution that is only late is judged by start.sent.
        start = await _wait_for_start(session) or await session.wait_for(
            START, within=session.countdown("response", "response")
        )
        await session.send(EXITED)
        asked = session.instance.upper.offers("outcome")
        leaves = await session.until_closed("quiet" if asked else "response")
        await session.finish()
        closed = await session.until_closed()
        ended = closed or bool(await end_session(session))
        _end_process(session)
        tells = asked and await user_outcome(session) == "exited"
        why = None if start else await _why_not_started(session)
        return PlainSession(why, leaves, ended, ended and not closed, tells)


async def _why_not_started(session: Session) -> NotExercised | Inconclusive:
    if not session.instance.upper.offers("start"):
        try:
            await session.instance.upper("start")
        except NotExercised as needed:
            return NotExercised(f"the frontend does not start by itself; it {needed}")
    return Inconclusive(
        "no StartExecution comes in a plain session either (start.sent), so its absence in this "
        "session shows nothing"
    )
