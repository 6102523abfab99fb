"""Runs operations while the tester holds the mutex."""

import asyncio
import itertools
import math
import time
from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Any

from conformance.harness.deadlines import countdown_from, in_time
from conformance.harness.upper_tester import Answer
from conformance.running.timeouts import GRACE
from conformance.runtime.memory.buffer import Buffer, Image
from conformance.runtime.memory.operations import Operation
from conformance.runtime.memory.tester import Tester
from conformance.verdicts import Violation

LONG_HOLD = 1.25  # seconds: longer than the timeout of many programs for a mutex
_START_OFFSET = 0.01  # seconds after the beginning of a second, clearly less than a tenth
_CHANGE_TIME = 0.5  # seconds of attempts to see a change after the release
_PARTIAL_WRITE_TIME = 2.5  # seconds of attempts to see a write that is incomplete for 1 µs
_START_TIME = 0.001  # seconds in which a program starts an operation
_INTERRUPTING = 2.0  # seconds of such attempts
_AT_ONCE = 20  # operations that wait for the mutex at the same time
_INTERRUPTED = 0.02  # seconds in which they continue, and are interrupted repeatedly
_CONTINUE_TIME = 0.02  # seconds in which a program continues after the mutex is released
_NOTICE_TIME = 0.5  # seconds in which a waiting program notices that the mutex is free


def seconds_until_early() -> float:
    """Return the seconds, at least LONG_HOLD, until shortly after the beginning of a second."""
    free = time.time() + LONG_HOLD
    return LONG_HOLD + math.ceil(free) - free + _START_OFFSET


async def check_waits_for_mutex(
    tester: Tester,
    buffer: Buffer,
    name: str,
    arguments: Mapping[str, Any],
    hold: float | None = None,
    secret: tuple[str, Any] | None = None,
) -> float:
    """Run an operation while the tester holds the mutex; return the time of the release.

    Raises Violation of operations.mutex if the operation does not wait, and of format.mutex or
    operations.mutex if it never continues. An operation that fails instead of waiting runs again
    after the release. An operation that fails long after the release has not noticed the release.
    ``hold`` is the time in seconds for which the mutex is held (default: the quiet time).
    ``secret`` is a field and its new value, which is written while the mutex is held. An operation
    that ends with an older value has not looked at the buffer: the IUT polls.
    """
    for _ in range(2):
        async with buffer.hold():
            if secret:
                buffer.poke(dict([secret]))
            before = buffer.peek()
            asked = asyncio.create_task(tester.ask(name, **arguments))
            await asyncio.wait({asked}, timeout=hold or tester.session.seconds("quiet"))
            during = buffer.peek()
            try:
                during.check_only(before, (), "operations.mutex")
                ended = asked.done() and asked.result().ok
                if ended and (secret is None or asked.result().result == secret[1]):
                    raise Violation(
                        f"the operation '{name}' to wait for the mutex of {buffer.name}",
                        "it ended while the tester held the mutex",
                        "operations.mutex",
                    )
            except Violation:
                asked.cancel()
                buffer.check_kept()
                raise
        free, left = time.time(), tester.session.countdown(_NOTICE_TIME)
        answer = await _wait_for_answer(tester, buffer, name, asked)
        if answer.ok:
            return free
        if left() > 0:
            await tester.check_operation(name, **arguments)
            return free
    raise Violation(
        f"the operation '{name}' to continue after the mutex of {buffer.name} was released",
        f"it waited for more than {_NOTICE_TIME:g} s and failed: {answer.why}",
        _requirement_if_stuck(tester),
    )


async def check_releases_last(
    buffer: Buffer, values: Mapping[str, Any], begin: Callable[[int], Awaitable[object]]
) -> None:
    """Run an operation repeatedly, and lock the mutex immediately after each release.

    Raises Violation of operations.mutex if a field changes after the release. ``values`` are
    written before each run, so that the operation changes them. ``begin`` starts the run with a
    given number.
    """

    def unchanged(earlier: Image, later: Image) -> None:
        try:
            later.check_only(earlier, ())
        except Violation as found:
            expected = f"{found.expected} while the tester holds the mutex"
            about = found.requirement or "operations.mutex"
            raise Violation(expected, found.came, about, found.event) from found

    await _look_at_each_release(buffer, values, begin, unchanged, _CHANGE_TIME)


async def check_writes_before_release(
    buffer: Buffer,
    fields: tuple[str, str, str],
    bits: int,
    begin: Callable[[int], Awaitable[object]],
    about_bits: str,
) -> None:
    """Run an operation repeatedly, and lock the mutex immediately after each release.

    Raises Violation of operations.atomic if a new value is there without its bits or its timestamp.
    If the value is there with other bits, the violated requirement is ``about_bits``.
    ``fields`` are the value, the timestamp and the bitmap that one run writes. A part that follows
    within less than a microsecond cannot be seen.
    """
    value, timestamp, bitmap = fields

    def complete(earlier: Image, _: Image) -> None:
        if earlier[value]:
            about = "operations.atomic"
            others = earlier[bitmap] & ~bits
            earlier.check_fields({bitmap: bits}, about_bits if others else about)
            if earlier[timestamp] == 1.0:
                place = f"{buffer.place(timestamp)} to be set together with {value}"
                raise Violation(place, "it is as before", about)

    await _look_at_each_release(
        buffer, {value: 0, timestamp: 1.0, bitmap: 0}, begin, complete, _PARTIAL_WRITE_TIME
    )


async def _look_at_each_release(
    buffer: Buffer,
    values: Mapping[str, Any],
    begin: Callable[[int], Awaitable[object]],
    judge: Callable[[Image, Image], None],
    seconds: float,
) -> None:
    """Let an operation wait for the mutex many times, and look as soon as it releases the mutex.

    ``judge`` gets the image at that moment, and the image a moment later.
    """
    left, number = countdown_from(seconds), 0
    while left() > 0:
        number += 1
        async with buffer.hold():
            buffer.poke(values)
            before = buffer.object.read()
            going = asyncio.ensure_future(begin(number))
            # Time for the operation to wait for the mutex; no event shows this.
            await asyncio.sleep(_START_TIME)
        try:
            if looks := buffer.object.glimpse(before, _CONTINUE_TIME):
                judge(*(Image(buffer, data, 0, time.time()) for data in looks))
            await going
        except Violation:
            going.cancel()
            raise


async def check_aborts_if_invalidated(
    tester: Tester, buffer: Buffer, name: str, arguments: Mapping[str, Any]
) -> None:
    """Run an operation whose buffer becomes invalid while it waits for the mutex.

    Raises Violation of operations.validity if the operation then changes anything, has a result or
    does not end. An operation that does not wait is not judged here.
    """
    asked: asyncio.Task[Answer] | None = None
    try:
        async with buffer.hold():
            asked = asyncio.create_task(tester.ask(name, **arguments))
            await asyncio.wait({asked}, timeout=tester.session.seconds("quiet"))
            if asked.done():
                return
            buffer.poke({"valid": 0})
            before = buffer.peek()
        answer = await _wait_for_answer(tester, buffer, name, asked, "operations.validity")
        (await buffer.look()).check_only(before, (), "operations.validity")
        if answer.ok and answer.result:
            raise Violation(
                f"no result of the operation '{name}': {buffer.name} became invalid "
                "while it waited for the mutex",
                f"it answered {str(answer.result)[:200]}",
                "operations.validity",
            )
    finally:
        if asked:
            asked.cancel()


async def check_reads_valid_only(
    tester: Tester, buffer: Buffer, name: str, arguments: Mapping[str, Any], field: str
) -> None:
    """Run an operation that reads a field, while its buffer changes its validity.

    The field has another value while the buffer is invalid. Raises Violation of operations.validity
    if an operation answers that value.
    """
    valid, invalid = {"valid": 1, field: 0.25}, {"valid": 0, field: 0.75}
    states = itertools.cycle([invalid, valid])
    left = countdown_from(_INTERRUPTING)
    while left() > 0:
        async with buffer.hold():
            buffer.poke(valid)
            asked = [asyncio.create_task(tester.ask(name, **arguments)) for _ in range(_AT_ONCE)]
            # Time for the operations to wait for the mutex; no event shows this.
            await asyncio.sleep(_START_TIME)
        buffer.object.interrupt(lambda: buffer.poke(next(states)), _INTERRUPTED)
        for each in asked:
            answer = await _wait_for_answer(tester, buffer, name, each)
            if answer.ok and answer.result == invalid[field]:
                expected = f"no result of '{name}' while {buffer.name} is invalid"
                came = f"it answered {answer.result}, the value of {buffer.place(field)} then"
                raise Violation(expected, came, "operations.validity")
    await buffer.put(valid)


async def check_keeps_new_values(
    tester: Tester, buffer: Buffer, operation: Operation, new: Mapping[str, Any], bit: str
) -> None:
    """Run an operation that waits for the mutex while another process writes new values.

    Raises Violation of operations.atomic if a new value is lost: the operation had read the old
    value before it held the mutex. An operation that does not wait is not judged here. If the
    operation clears bits that were set before it started, the violated requirement is ``bit``.
    """
    old = await buffer.look()
    before = await buffer.put(new)
    await tester.check_operation(operation.name, **operation.on(buffer))
    _check_bits_stay(await buffer.look(), before, operation, new, bit)
    await buffer.put({name: old[name] for name in new})
    asked: asyncio.Task[Answer] | None = None
    try:
        async with buffer.hold():
            asked = asyncio.create_task(tester.ask(operation.name, **operation.on(buffer)))
            await asyncio.wait({asked}, timeout=tester.session.seconds("quiet"))
            if asked.done():
                return
            buffer.poke(new)
            before = buffer.peek()
        await _wait_for_answer(tester, buffer, operation.name, asked)
        image = await buffer.look()
        image.check_only(before, operation.changes, "operations.atomic")
        _check_bits_stay(image, before, operation, new, "operations.atomic")
    finally:
        if asked:
            asked.cancel()


def _check_bits_stay(
    image: Image, before: Image, operation: Operation, new: Collection[str], requirement: str
) -> None:
    """Raise Violation if an operation that sets bits has cleared a bit."""
    for name in [name for name in operation.changes if name in new]:
        image.check_fields({name: image[name] | before[name]}, requirement)


async def _wait_for_answer(
    tester: Tester,
    buffer: Buffer,
    name: str,
    asked: asyncio.Task[Answer],
    requirement: str | None = None,
) -> Answer:
    """Return the answer of an operation after the mutex was released.

    Raises Violation of ``requirement`` if no answer arrives. The default is the requirement about
    waiting for the mutex.
    """
    response = tester.session.instance.configuration.seconds("response")
    about = requirement or _requirement_if_stuck(tester)
    try:
        with tester.session.deadline(
            "an answer after a release", (1 + GRACE) * response, about
        ) as left:
            return await in_time(asked, left)
    except TimeoutError:
        await tester.check_nothing_stuck(name)
        await tester.check_answered_alone(name, buffer.arguments)
        raise Violation(
            f"the operation '{name}' to continue after the mutex of {buffer.name} was released",
            "it was not answered",
            about,
        ) from None


def _requirement_if_stuck(tester: Tester) -> str:
    """Return the requirement that an operation violates if it does not continue after a mutex."""
    return "format.mutex" if tester.owns else "operations.mutex"
