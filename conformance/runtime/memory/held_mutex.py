"""Runs operations while the tester holds the mutex that they have to wait for."""

import asyncio
import math
import time
from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Any

from conformance.harness.deadlines import counting, in_time
from conformance.harness.upper import Answer
from conformance.running.patience import LATE
from conformance.runtime.memory.buffer import Buffer, Image
from conformance.runtime.memory.operations import Operation
from conformance.runtime.memory.tester import Tester
from conformance.verdicts import Violation

LONG = 1.25  # seconds: longer than many programs wait for a mutex
_BEGUN = 0.01  # seconds of a new second that have passed, surely less than a tenth of it
_TIMES = 100  # attempts to see what is done in a few millionths of a second
_TRIED = 0.5  # seconds for all of them
_WAITS = 0.001  # seconds in which a program has begun an operation
_GLIMPSE = 0.02  # seconds in which it goes on once the mutex is free
_AWAKE = 0.5  # seconds in which who waits for a mutex has noticed that it is free


def early_in_a_second() -> float:
    """Seconds, at least LONG, after which a second has just begun: its fraction begins with 0."""
    free = time.time() + LONG
    return LONG + math.ceil(free) - free + _BEGUN


async def waits_for_mutex(
    tester: Tester,
    buffer: Buffer,
    name: str,
    arguments: Mapping[str, Any],
    hold: float | None = None,
) -> float:
    """Run an operation while the tester holds the mutex, which it has to wait for.

    Returns the time at which that was free again, behind which the operation has been done.

    Raises Violation of operations.mutex where it does not, unless the buffer is not the same any
    more, and of format.mutex where it never goes on. An operation that gives up instead is tried
    again once the mutex is free; one that gives up only long after that has not seen it released.
    ``hold``: the seconds for which the mutex is held, if not the quiet time.
    """
    for _ in range(2):
        async with buffer.held():
            before = buffer.peek()
            asked = asyncio.create_task(tester.ask(name, **arguments))
            await asyncio.wait({asked}, timeout=hold or tester.session.seconds("quiet"))
            during = buffer.peek()
            try:
                during.only(before, (), "operations.mutex")
                if asked.done() and asked.result().ok:
                    raise Violation(
                        f"the operation '{name}' to wait for the mutex of {buffer.name}",
                        "it ended while the tester held the mutex",
                        "operations.mutex",
                    )
            except Violation:
                asked.cancel()
                buffer.kept()
                raise
        free, left = time.time(), tester.session.left(_AWAKE)
        answer = await _goes_on(tester, buffer, name, asked)
        if answer.ok:
            return free
        if left() > 0:
            await tester.tested(name, **arguments)
            return free
    raise Violation(
        f"the operation '{name}' to go on once the mutex of {buffer.name} was free again",
        f"it waited for more than {_AWAKE:g} s, and failed: {answer.why}",
        _about(tester),
    )


async def frees_it_last(
    buffer: Buffer, values: Mapping[str, Any], begin: Callable[[int], Awaitable[object]]
) -> None:
    """Begin an operation again and again that waits for the mutex, and take that as it is freed.

    Raises Violation of operations.mutex where a field changes then. ``values`` are put into the
    buffer before each time, so that each changes them; ``begin`` has the number of the time.
    """
    left, number = counting(_TRIED), 0
    while left() > 0 and number < _TIMES:
        number += 1
        async with buffer.held():
            buffer.poke(values)
            before = buffer.object.read()
            going = asyncio.ensure_future(begin(number))
            # Until it waits for the mutex, which nothing tells.
            await asyncio.sleep(_WAITS)
        try:
            if looks := buffer.object.glimpse(before, _GLIMPSE):
                earlier, later = (Image(buffer, data, 0, time.time()) for data in looks)
                later.only(earlier, ())
            await going
        except Violation as found:
            going.cancel()
            expected = f"{found.expected} as long as the tester holds the mutex"
            about = found.requirement or "operations.mutex"
            raise Violation(expected, found.came, about, found.event) from found


async def invalidated(
    tester: Tester, buffer: Buffer, name: str, arguments: Mapping[str, Any]
) -> None:
    """Run an operation on a buffer that becomes invalid while it waits for the mutex.

    Raises Violation of operations.validity where it then changes anything or has a result. One
    that does not wait says nothing about this.
    """
    asked: asyncio.Task[Answer] | None = None
    try:
        async with buffer.held():
            asked = asyncio.create_task(tester.ask(name, **arguments))
            await asyncio.wait({asked}, timeout=tester.session.seconds("quiet"))
            if asked.done():
                return
            buffer.poke({"valid": 0})
            before = buffer.peek()
        answer = await _goes_on(tester, buffer, name, asked)
        (await buffer.look()).only(before, (), "operations.validity")
        if answer.ok and answer.result:
            raise Violation(
                f"the operation '{name}' to have no result: {buffer.name} became invalid while it"
                " waited for the mutex",
                f"it answered {str(answer.result)[:200]}",
                "operations.validity",
            )
    finally:
        if asked:
            asked.cancel()


async def spares_the_new(
    tester: Tester, buffer: Buffer, operation: Operation, new: Mapping[str, Any], bit: str
) -> None:
    """Run an operation that waits for the mutex while another process writes what is new.

    Raises Violation of operations.atomic where that is not there afterwards: it was read before the
    mutex was held. One that does not wait says nothing about this. Where bits are lost that were
    set before the operation was asked for, it is one of ``bit``.
    """
    old = await buffer.look()
    before = await buffer.put(new)
    await tester.tested(operation.name, **operation.on(buffer))
    _bits_stay(await buffer.look(), before, operation, new, bit)
    await buffer.put({name: old[name] for name in new})
    asked: asyncio.Task[Answer] | None = None
    try:
        async with buffer.held():
            asked = asyncio.create_task(tester.ask(operation.name, **operation.on(buffer)))
            await asyncio.wait({asked}, timeout=tester.session.seconds("quiet"))
            if asked.done():
                return
            buffer.poke(new)
            before = buffer.peek()
        await _goes_on(tester, buffer, operation.name, asked)
        image = await buffer.look()
        image.only(before, operation.changes, "operations.atomic")
        _bits_stay(image, before, operation, new, "operations.atomic")
    finally:
        if asked:
            asked.cancel()


def _bits_stay(
    image: Image, before: Image, operation: Operation, new: Collection[str], requirement: str
) -> None:
    """Raise Violation where an operation that sets bits has cleared any."""
    for name in [name for name in operation.changes if name in new]:
        image.holds({name: image[name] | before[name]}, requirement)


async def _goes_on(
    tester: Tester, buffer: Buffer, name: str, asked: asyncio.Task[Answer]
) -> Answer:
    """What an operation answers that may have waited for the mutex, once that is free again.

    Raises Violation where it never does, before the tester has lost all patience with it.
    """
    response = tester.session.instance.configuration.seconds("response")
    about = _about(tester)
    try:
        with tester.session.awaiting("going on behind a mutex", LATE * response, about) as left:
            return await in_time(asked, left)
    except TimeoutError:
        raise Violation(
            f"the operation '{name}' to go on once the mutex of {buffer.name} was free again",
            "it was not answered any more",
            about,
        ) from None


def _about(tester: Tester) -> str:
    """What is violated where an operation does not go on behind a mutex."""
    return "format.mutex" if tester.owns else "operations.mutex"
