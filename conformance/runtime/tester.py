"""What the testers of several roles do: connect with an IUT, and have it do something."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

from conformance.connections import ended
from conformance.harness.deadlines import Left, in_time
from conformance.harness.instance import Instance
from conformance.iut import Iut
from conformance.running.patience import LATE
from conformance.session import Session
from conformance.verdicts import Conclusion, Inconclusive, NotExercised, Unreachable
from conformance.waiting import Within

A_WHILE = 3.3
"""Seconds that are longer than three, which many a timer has."""
_SOME = 8  # messages that are judged of an IUT that sends by itself
_EAGER = 0.5  # seconds in which an IUT that connects by itself usually has


@contextlib.asynccontextmanager
async def connected(iut: Iut, operation: str, **arguments: Any) -> AsyncIterator[Session]:
    """A session with an IUT that connects by itself, or else as soon as it has something to send.

    Where it does not connect soon, it is made to do this operation. What it then sends belongs to
    the session.
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
            await ended(prompts)


async def _prompt(instance: Instance, operation: str, arguments: dict[str, Any]) -> None:
    with contextlib.suppress(Conclusion):
        await instance.upper(operation, **arguments)


async def takes_part(session: Session, operation: str, **arguments: Any) -> None:
    """Wait until the IUT sends something, as it has to once this operation has succeeded.

    Over datagrams nothing else tells that it has started. Raises Unreachable where it ends, or
    neither sends nor answers the operation.
    """
    instance, process = session.instance, session.instance.process
    if process is None:
        return
    operated = instance.upper.offers(operation)
    seconds = session.due if operated else session.seconds("quiet")
    does = asyncio.ensure_future(_does(instance, operation, arguments))
    sends = asyncio.ensure_future(session.watch(within=seconds))
    ends = asyncio.ensure_future(process.wait(seconds))
    try:
        await asyncio.wait({does, sends, ends}, return_when=asyncio.FIRST_COMPLETED)
        answered = does.done()
        succeeded = answered and does.result()
    finally:
        await ended([does, sends, ends])
    if process.exit:
        raise Unreachable(f"it ends before it takes part{instance.describe_end()}")
    if session.received or not operated:
        return
    if not answered:
        raise Unreachable(
            f"it sent nothing within {seconds:g} s, and {_unanswered(instance, operation)}"
            f"{instance.describe_end()}{instance.slow}"
        )
    if succeeded:
        await session.expect(to=f"of the operation '{operation}'")


async def _does(instance: Instance, operation: str, arguments: dict[str, Any]) -> bool:
    """Whether an operation succeeds, once it is answered, if that comes."""
    try:
        return (await instance.upper(operation, **arguments)).ok
    except Inconclusive:
        # It has closed its standard output, and may go on to send, or be about to end.
        pass
    except NotExercised:
        if instance.upper.offers(operation):
            return False
    await asyncio.get_running_loop().create_future()
    return False


def _unanswered(instance: Instance, operation: str) -> str:
    """That an operation has no answer, and what gives it one, for the end of a sentence."""
    return (
        f"does not answer the operation '{operation}' on its standard streams"
        f"{instance.upper.instead}: see what the README says of operations, or give "
        f"--hook {operation}=COMMAND"
    )


class Unoperated(NotExercised):
    """Nothing does the operations that a test needs."""


@contextlib.asynccontextmanager
async def operated(
    iut: Iut, opened: contextlib.AbstractAsyncContextManager[Session] | None = None
) -> AsyncIterator[Session]:
    """A session with an IUT that is operated; by default over datagrams.

    Where nothing does its operations, what it sends unasked is judged, once in a run.
    """
    known: list[str] = iut.memory.setdefault("unoperated", [])
    if known:
        raise Unoperated(known[0])
    async with opened or iut.session() as session:
        left = session.left(session.due)
        try:
            yield session
        except Unoperated as missing:
            known.append(str(missing))
            await _unasked(session, left)
            process = session.instance.process
            if process and process.exit and not session.received:
                end = session.instance.describe_end()
                raise Unreachable(f"it ends without sending anything{end}") from missing
            raise


async def _unasked(session: Session, left: Left) -> None:
    """Wait for some of the messages that an IUT sends by itself: the first in what is left."""
    process = session.instance.process
    if process and process.exit:
        await session.watch()
        return
    # It has had time to start while it was asked to do something.
    within: Within = left if left() > session.seconds("quiet") else "quiet"
    while len(session.received) < _SOME and await session.watch(within=within):
        within = "response"


async def done(session: Session, operation: str, **arguments: Any) -> Any:
    """The result of an operation that has to succeed.

    Raises Inconclusive where it does not, and Unoperated where nothing does it.
    """
    try:
        asked = session.operate(operation, **arguments)
        answer = await in_time(asked, session.left(patience(session)))
    except TimeoutError:
        lacking = _unanswered(session.instance, operation)
        raise Unoperated(f"needs an operation: the IUT {lacking}") from None
    except NotExercised as missing:
        raise Unoperated(str(missing)) from missing
    except Inconclusive:
        if any(event.event == f"{operation} answered" for event in session.events):
            raise
        # It has closed its standard output, and may go on to send.
        raise Unoperated(f"needs the operation '{operation}', which nothing answers") from None
    return answer.required(operation)


def has_answered(session: Session) -> bool:
    """Whether the IUT has answered any operation."""
    return any((event.event or "").endswith(" answered") for event in session.events)


def patience(session: Session) -> float:
    """Seconds in which an operation is answered: longer while the IUT may still be starting."""
    response = session.instance.configuration.seconds("response")
    return (1 + LATE) * response if has_answered(session) else session.due
