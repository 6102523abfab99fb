"""Helpers for the testers of several roles: connect to an IUT and operate it."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

from conformance.connections import cancel_all
from conformance.harness.deadlines import Countdown, in_time
from conformance.harness.instance import Instance
from conformance.iut import Iut
from conformance.running.timeouts import GRACE
from conformance.session import Session, Timeout
from conformance.verdicts import Conclusion, Inconclusive, NotExercised, Unreachable, Violation
from conformance.wire import Side

LONG_CALL = 3.3
"""Seconds of a pause that is longer than 3 s, a common timer period."""
_MAX_UNASKED = 8  # messages that are judged of an IUT that sends without an operation
_EAGER = 0.5  # seconds in which an IUT that connects by itself usually has connected


@contextlib.asynccontextmanager
async def connect_or_prompt(iut: Iut, operation: str, **arguments: Any) -> AsyncIterator[Session]:
    """Open a session with an IUT that connects, now or for its first message.

    If the IUT does not connect within a short time, the tester runs this operation. Messages that
    the IUT then sends belong to the session.
    """
    prompts: list[asyncio.Task[None]] = []
    async with iut.instance() as instance:
        prompt = asyncio.get_running_loop().call_later(
            _EAGER,
            lambda: prompts.append(asyncio.create_task(_prompt(instance, operation, arguments))),
        )
        try:
            async with iut.connect(instance) as session:
                prompt.cancel()
                yield session
        finally:
            prompt.cancel()
            await cancel_all(prompts)


async def _prompt(instance: Instance, operation: str, arguments: dict[str, Any]) -> None:
    with contextlib.suppress(Conclusion):
        await instance.upper(operation, **arguments)


async def wait_until_started(session: Session, operation: str, **arguments: Any) -> None:
    """Wait until the IUT sends a message, which it must do after this operation succeeds.

    Over datagrams, no other event shows that the IUT has started. Raises Unreachable if the IUT
    exits, or if it neither sends a message nor answers the operation.
    """
    instance, process = session.instance, session.instance.process
    if process is None:
        return
    operated = instance.upper.offers(operation)
    seconds = session.reaction_time if operated else session.seconds("quiet")
    does = asyncio.ensure_future(_wait_for_success(instance, operation, arguments))
    sends = asyncio.ensure_future(session.wait_for(within=seconds))
    ends = asyncio.ensure_future(process.wait(seconds))
    try:
        await asyncio.wait({does, sends, ends}, return_when=asyncio.FIRST_COMPLETED)
        answered = does.done()
        succeeded = answered and does.result()
    finally:
        await cancel_all([does, sends, ends])
    if process.exit:
        raise Unreachable(f"it exited before it sent a message{instance.describe_end()}")
    if session.received or not operated:
        return
    if not answered:
        raise Unreachable(
            f"it sent nothing within {seconds:g} s, and "
            f"{_unanswered_text(instance, operation)}{instance.describe_end()}{instance.slow_hint}"
        )
    if succeeded:
        await session.expect(to=f"after the operation '{operation}'")


async def _wait_for_success(instance: Instance, operation: str, arguments: dict[str, Any]) -> bool:
    """Return True once the operation has succeeded; wait forever if it is not answered."""
    try:
        return (await instance.upper(operation, **arguments)).ok
    except (Inconclusive, Violation):
        # The IUT has closed its standard output. It can still send messages or exit.
        pass
    except NotExercised:
        if instance.upper.offers(operation):
            return False
    await asyncio.get_running_loop().create_future()
    return False


def _unanswered_text(instance: Instance, operation: str) -> str:
    """Describe a missing answer and its remedy, as the end of a sentence."""
    return (
        f"does not answer the operation '{operation}' on its standard "
        f"streams{instance.upper.output_hint}: see the section on operations in the README, "
        f"or give --hook {operation}=COMMAND"
    )


class Unoperated(NotExercised):
    """The IUT and its hooks do not provide the operations that a test needs."""


@contextlib.asynccontextmanager
async def open_operated(
    iut: Iut, opened: contextlib.AbstractAsyncContextManager[Session] | None = None
) -> AsyncIterator[Session]:
    """Open a session with an IUT that is operated; by default over datagrams.

    If the operations are not provided, the messages that the IUT sends by itself are judged, once
    in a run.
    """
    known: list[str] = iut.facts.setdefault("unoperated", [])
    if known:
        raise Unoperated(known[0])
    async with opened or iut.session() as session:
        left = session.countdown(session.reaction_time)
        try:
            yield session
        except Unoperated as missing:
            known.append(str(missing))
            await _judge_unasked(session, left)
            process = session.instance.process
            if process and process.exit and not session.received:
                end = session.instance.describe_end()
                raise Unreachable(f"it exited without sending a message{end}") from missing
            raise


async def _judge_unasked(session: Session, left: Countdown) -> None:
    """Wait for messages that an IUT sends by itself; ``left`` limits the first wait."""
    process = session.instance.process
    if process and process.exit:
        await session.wait_for()
        return
    # The IUT had time to start while the tester waited for the operation.
    within: Timeout = left if left() > session.seconds("quiet") else "quiet"
    while len(session.received) < _MAX_UNASKED and await session.wait_for(within=within):
        within = "response"


async def run_operation(session: Session, operation: str, **arguments: Any) -> Any:
    """Return the result of an operation that must succeed, or None without an answer.

    An operation that was answered earlier in the run can remain unanswered: the messages of the
    IUT then show whether the operation had its effect.

    Raises Inconclusive if the operation fails, Violation if the IUT exits instead of an answer, and
    Unoperated if the operation is not provided.
    """
    answered = session.instance.upper.operated.answered
    try:
        asked = session.operate(operation, **arguments)
        answer = await in_time(asked, session.countdown(operation_timeout(session)))
    except TimeoutError:
        if operation in answered:
            return None
        why = _unanswered_text(session.instance, operation)
        raise Unoperated(f"needs an operation: the IUT {why}") from None
    except NotExercised as missing:
        raise Unoperated(str(missing)) from missing
    except Inconclusive:
        if answered:
            await check_running(session.instance, operation)
        if operation in answered:
            return None
        # The IUT has closed its standard output. It can still send messages.
        raise Unoperated(f"needs the operation '{operation}', which is not answered") from None
    return answer.require_result(operation)


async def check_running(instance: Instance, operation: str) -> None:
    """Raise Violation if the process exits within the time `quiet` instead of an answer."""
    process = instance.process
    if process and await process.wait(instance.configuration.seconds("quiet")):
        expected = f"the operation '{operation}' to be answered"
        raise Violation(expected, f"it was not answered{instance.describe_end()}") from None


def has_answered(session: Session) -> bool:
    """Return True if the IUT has answered any operation."""
    return any((event.event or "").endswith(" answered") for event in session.events)


def operation_timeout(session: Session) -> float:
    """Seconds allowed for an operation; more while the IUT can still be starting."""
    response = session.instance.configuration.seconds("response")
    return (1 + GRACE) * response if has_answered(session) else session.reaction_time


async def shut_down(session: Session) -> None:
    """Close the IUT's input to make it exit. Raises Inconclusive if it does not exit."""
    process = session.instance.process
    if process is None:
        raise NotExercised(
            "needs an IUT that is started by a command, because its exit is observed"
        )
    # The tester requested this exit, so no exit status is a failure.
    session.state = session.state.after(Side.SUITE)
    process.standard.finish()
    within = session.seconds("startup") + session.seconds("response")
    if not await process.wait(within):
        raise Inconclusive(f"it did not exit within {within:g} s after the end of its input")
