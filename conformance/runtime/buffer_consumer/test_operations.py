"""Tests of every operation of a consumer: the mutex, the valid bit, and unchanged fields."""

import asyncio
from functools import partial
from typing import Any

from conformance.cases import blaming, check, lasting, requirement
from conformance.harness.upper_tester import Answer
from conformance.iut import Iut
from conformance.runtime.buffer_consumer.tester import (
    GET_VALUE,
    OPERATIONS,
    SET_VALUE,
    check_reads,
    set_value,
)
from conformance.runtime.memory.buffer import Buffer
from conformance.runtime.memory.contention import ROUNDS, require_success, run_often
from conformance.runtime.memory.hold_mutex import (
    LONG_HOLD,
    check_aborts_if_invalidated,
    check_keeps_new_values,
    check_reads_valid_only,
    check_releases_last,
    check_waits_for_mutex,
    check_writes_before_release,
)
from conformance.runtime.memory.operations import Operation, offered_operations, run, run_again
from conformance.runtime.memory.samples import fill_values, sample
from conformance.runtime.memory.tester import Tester, memory_tester
from conformance.runtime.memory.write import Writing, check_writes_whole, write

WRITING = Writing(
    "set_value",
    ("write.params.mode", "write.timestamp", "control.write"),
    "set-value.bit",
    lambda value: {"param": "mode", "value": value},
)
NO_RESULTS: tuple[Any, ...] = (None, {}, [])
OTHER_PARAMETERS = ("mode", "grip", "target")  # parameters that another process writes


@requirement("operations.mutex")
async def test_waits_for_the_mutex(iut: Iut) -> None:
    """While the tester holds the mutex, no operation changes anything or ends."""
    async with memory_tester(iut) as tester:
        buffer = await tester.make("arm")
        for operation in await offered_operations(tester, buffer, OPERATIONS):
            await buffer.put({"control.write": 0})
            secret = ("read.params.angle", -0.375) if operation is GET_VALUE else None
            await check_waits_for_mutex(
                tester, buffer, operation.name, operation.on(buffer), secret=secret
            )
        await check_reads(buffer, "angle", (await buffer.look())["read.params.angle"])


@requirement("operations.mutex")
@lasting
async def test_waits_long(iut: Iut) -> None:
    """An operation does not continue without the mutex after waiting for a second."""
    async with memory_tester(iut) as tester:
        buffer = await tester.make("arm")
        await buffer.put({"control.write": 0})
        await check_waits_for_mutex(tester, buffer, SET_VALUE.name, SET_VALUE.on(buffer), LONG_HOLD)


@requirement("operations.mutex")
async def test_frees_the_mutex_last(iut: Iut) -> None:
    """All changes of an operation are complete when it releases the mutex."""
    async with memory_tester(iut) as tester:
        buffer = await tester.make("arm")
        filled = fill_values(buffer.peripheral, buffer.layout)
        for operation in await offered_operations(tester, buffer, (SET_VALUE,)):
            values = {name: filled[name] for name in operation.changes}
            await check_releases_last(buffer, values, partial(run_again, tester, buffer, operation))


@requirement("operations.mutex-released")
async def test_mutex_is_free_afterwards(iut: Iut) -> None:
    """After each operation the mutex is free, also if the operation fails."""
    async with memory_tester(iut) as tester:
        buffer = await tester.make("arm")
        wrong: list[dict[str, Any]] = [
            {"param": "nowhere"},
            {"param": "target"},
            {"param": "temperature"},
        ]
        values: list[dict[str, Any]] = [
            *({"param": "speed", "value": "fast"}, {"param": "track", "value": [1.0]}),
            {"param": "angle", "value": 99.0},
        ]
        known = await offered_operations(tester, buffer, OPERATIONS)
        for valid in (1, 0):
            await buffer.put({"valid": valid})
            for operation in known:
                with blaming(None if valid else "operations.validity"):
                    await run(tester, buffer, operation)
                await buffer.look()
            odd = [("get_value", arguments) for arguments in wrong]
            odd += [("set_value", {"value": 1, **arguments}) for arguments in (*values, *wrong)]
            for name, arguments in odd:
                with blaming("robustness.odd-operations"):
                    await tester.ask(name, **buffer.arguments, **arguments)
                await buffer.look()
            await tester.ask("list")
            await buffer.look()


@requirement("operations.validity")
async def test_invalid_buffer(iut: Iut) -> None:
    """An operation on an invalid buffer changes nothing and has no result."""
    async with memory_tester(iut) as tester:
        for type_, name in (("arm", "angle"), ("panel", "level")):
            buffer = await tester.make(type_, valid=False)
            before = await buffer.put({"control.write": 0} if buffer.layout.control else {})
            value = sample(buffer.peripheral[name], 2)
            await tester.ask("set_value", **buffer.arguments, param=name, value=value)
            (await buffer.look()).check_only(before, ())
            answer = await tester.ask("get_value", **buffer.arguments, param=name)
            check(
                not (answer.ok and answer.result is not None),
                "no result of get_value on an invalid buffer",
                f"it answered {str(answer.result)[:100]}",
            )
            (await buffer.look()).check_only(before, ())


@requirement("operations.validity")
async def test_invalid_afterwards(iut: Iut) -> None:
    """An operation aborts if its buffer was valid before but is invalid now."""
    async with memory_tester(iut) as tester:
        buffer = await tester.make("arm")
        await set_value(buffer, "angle", 0.5)
        await check_reads(buffer, "angle", (await buffer.look())["read.params.angle"])
        known = await offered_operations(tester, buffer, OPERATIONS)
        await buffer.fill()
        before = await buffer.put({"valid": 0, "control.write": 0})
        for operation in known:
            came = await _result(tester, buffer, operation)
            (await buffer.look()).check_only(before, ())
            check(
                came in NO_RESULTS,
                f"no result of {operation.name} on a buffer that has become invalid",
                f"it answered {str(came)[:100]}",
            )


async def _result(tester: Tester, buffer: Buffer, operation: Operation) -> Any:
    """Return the result of an operation on a buffer that was valid before; None if it fails.

    A consumer that polls answers an old value until its next poll.
    """
    result: Any = None

    async def is_aborted() -> bool:
        nonlocal result
        answer = await run(tester, buffer, operation)
        result = answer.result if answer.ok else None
        return result in NO_RESULTS

    within = "response" if operation is GET_VALUE else 0.0
    await tester.session.poll_until(is_aborted, "an answer without a value", within)
    return result


@requirement("operations.validity")
async def test_invalid_meanwhile(iut: Iut) -> None:
    """An operation aborts if its buffer becomes invalid while it waits for the mutex."""
    async with memory_tester(iut) as tester:
        buffer = await tester.make("arm")
        # The operation continues after the wait if the buffer stays valid.
        await check_waits_for_mutex(tester, buffer, SET_VALUE.name, SET_VALUE.on(buffer))
        for operation in await offered_operations(tester, buffer, OPERATIONS):
            await buffer.put({"valid": 1})
            await check_aborts_if_invalidated(tester, buffer, operation.name, operation.on(buffer))


@requirement("operations.validity")
@lasting
async def test_valid_while_it_reads(iut: Iut) -> None:
    """get_value checks the valid bit and reads the value in one operation."""
    async with memory_tester(iut) as tester:
        buffer = await tester.make("arm")
        arguments = {**buffer.arguments, "param": "angle"}
        await check_reads(buffer, "angle", (await buffer.look())["read.params.angle"])
        await check_reads_valid_only(tester, buffer, "get_value", arguments, "read.params.angle")


@requirement("operations.atomic")
async def test_spares_the_new(iut: Iut) -> None:
    """Values that are written while an operation waits for the mutex are not lost."""
    async with memory_tester(iut) as tester:
        buffer = await tester.make("arm")
        await buffer.put({"control.write": 0})
        new = {
            f"write.params.{name}": sample(buffer.peripheral[name], 9) for name in OTHER_PARAMETERS
        }
        bits = {"control.write": buffer.bits(OTHER_PARAMETERS)}
        await check_keeps_new_values(tester, buffer, SET_VALUE, new | bits, WRITING.bit)


@requirement("operations.nothing-else")
async def test_nothing_else(iut: Iut) -> None:
    """get_value changes nothing; set_value and get_update change only their own fields."""
    async with memory_tester(iut) as tester:
        buffer, other = await tester.make("arm"), await tester.make("arm")
        before_other = await other.look()
        for param in buffer.peripheral.params:
            before = await buffer.look()
            if param.readable:
                await tester.check_operation("get_value", **buffer.arguments, param=param.name)
                (await buffer.look()).check_only(before, ())
            if param.writeable:
                await set_value(buffer, param.name, sample(param, 7))
                changed = {f"write.params.{param.name}", "write.timestamp", "control.write"}
                (await buffer.look()).check_only(before, changed)
        for operation in await offered_operations(tester, buffer, OPERATIONS):
            before = await buffer.fill()
            await run(tester, buffer, operation)
            (await buffer.look()).check_only(before, operation.changes)
        (await other.look()).check_only(before_other, ())


@requirement("operations.nothing-else")
async def test_nothing_else_without_control_block(iut: Iut) -> None:
    """Without a control block set_value changes only its value, and list changes nothing."""
    async with memory_tester(iut) as tester:
        buffer = await tester.make("panel")
        before = await buffer.look()
        await tester.ask("list")
        (await buffer.look()).check_only(before, ())
        await set_value(buffer, "label", [9, 8, 7, 6, 5, 4, 3, 2])
        (await buffer.look()).check_only(before, {"write.params.label", "write.timestamp"})


@requirement("operations.atomic")
async def test_reads_under_contention(iut: Iut) -> None:
    """A thousand reads while another process writes never return a partly written value."""
    async with memory_tester(iut) as tester:
        buffer = await tester.make("arm")
        await buffer.put({"read.params.track": [0.0, 0.0, 0.0]})
        came: list[Answer] = []
        given = [{"param": "track"}] * ROUNDS
        reading = asyncio.create_task(run_often(tester, buffer, "get_value", given, came))
        number = 0
        while not reading.done():
            number += 1
            value = float(number % 1024)
            async with buffer.hold():
                # In two steps, so that an IUT that does not lock the mutex sees only the first.
                for values in ([value, 0.0, 0.0], [value, value, value]):
                    buffer.poke({"read.params.track": values})
                    await asyncio.sleep(0)
            await asyncio.sleep(0)
        await reading
        tester.session.note("contention", None, written=number, read=len(came))
        require_success("get_value", came)
        for answer in (answer for answer in came if answer.ok):
            whole = isinstance(answer.result, list) and len({*map(float, answer.result)}) == 1
            check(
                whole,
                "get_value to answer three numbers that were written together",
                f"it answered {str(answer.result)[:200]}",
            )


@requirement("operations.atomic")
async def test_complete_at_release(iut: Iut) -> None:
    """A value has its bit and its timestamp when the operation releases the mutex."""
    async with memory_tester(iut) as tester:
        buffer = await tester.make("arm")
        begin = partial(write, tester, buffer, WRITING)
        bits = buffer.bits(["mode"])
        await check_writes_before_release(buffer, WRITING.fields, bits, begin, WRITING.bit)


@requirement("operations.atomic")
async def test_writes_under_contention(iut: Iut) -> None:
    """A thousand values are written while another process reads them, each with its bit.

    A new value always has its bit and its timestamp. A cleared bit is set again only with a new
    value.
    """
    await check_writes_whole(iut, WRITING)
