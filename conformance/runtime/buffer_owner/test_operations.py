"""Tests of every operation of an owner: the mutex, the valid bit, and unchanged fields."""

from functools import partial
from typing import Any

from conformance.cases import blaming, lasting, requirement
from conformance.iut import Iut
from conformance.runtime.buffer_owner.tester import (
    OPERATIONS,
    OPTIONAL,
    SET_VALID,
    change_connection,
    check_aborts,
)
from conformance.runtime.memory.hold_mutex import (
    LONG_HOLD,
    check_aborts_if_invalidated,
    check_keeps_new_values,
    check_releases_last,
    check_waits_for_mutex,
    check_writes_before_release,
)
from conformance.runtime.memory.operations import Operation, offered_operations, run, run_again
from conformance.runtime.memory.read_and_clear import check_answers_whole, check_loses_no_bit
from conformance.runtime.memory.samples import fill_values, other_sample
from conformance.runtime.memory.tester import memory_tester, new_uid
from conformance.runtime.memory.write import Writing, check_writes_whole, write


@requirement("operations.mutex")
async def test_waits_for_the_mutex(iut: Iut) -> None:
    """While the tester holds the mutex, no operation changes anything or ends."""
    async with memory_tester(iut) as tester:
        buffer = await tester.connect("arm")
        for operation in await offered_operations(
            tester, buffer, (*OPERATIONS, SET_VALID), OPTIONAL
        ):
            await buffer.fill()
            await check_waits_for_mutex(tester, buffer, operation.name, operation.on(buffer))


@requirement("operations.mutex")
async def test_connects_wait_for_the_mutex(iut: Iut) -> None:
    """Disconnect and connect, which change the valid bit, wait for the mutex too."""
    async with memory_tester(iut) as tester:
        uid = new_uid()
        buffer = await tester.connect("arm", uid)
        for whether in (False, True):
            await change_connection(tester, buffer, uid, whether)
        await buffer.fill()
        for name in ("disconnect", "connect"):
            await check_waits_for_mutex(
                tester, buffer, name, {"type": "arm", "uid": tester.uid(uid)}
            )


@requirement("operations.mutex")
@lasting
async def test_waits_long(iut: Iut) -> None:
    """An operation does not continue without the mutex after waiting for a second."""
    async with memory_tester(iut) as tester:
        buffer, operation = await tester.connect("arm"), OPERATIONS[0]
        await buffer.fill()
        await check_waits_for_mutex(tester, buffer, operation.name, operation.on(buffer), LONG_HOLD)


@requirement("operations.mutex")
async def test_frees_the_mutex_last(iut: Iut) -> None:
    """All changes of an operation are complete when it releases the mutex."""
    async with memory_tester(iut) as tester:
        buffer = await tester.connect("arm")
        filled = fill_values(buffer.peripheral, buffer.layout)
        for operation in await offered_operations(tester, buffer, OPERATIONS, OPTIONAL):
            values = {name: filled[name] for name in operation.changes}
            await check_releases_last(buffer, values, partial(run_again, tester, buffer, operation))


@requirement("operations.mutex-released")
async def test_mutex_is_free_afterwards(iut: Iut) -> None:
    """After each operation the mutex is free, also for an invalid buffer."""
    async with memory_tester(iut) as tester:
        buffer = await tester.connect("arm")
        known = await offered_operations(tester, buffer, (*OPERATIONS, SET_VALID), OPTIONAL)
        for valid in (1, 0):
            await buffer.fill()
            await buffer.put({"valid": valid})
            for operation in known:
                with blaming(None if valid else "operations.validity"):
                    await run(tester, buffer, operation)
                await buffer.put({"valid": valid})


WRONG: dict[str, dict[str, Any]] = {
    "set_data": {"values": {"angle": 0.5, "nowhere": 1}},
    "set_read": {"params": ["angle", "nowhere"]},
    "set_sub": {"uid": "5", "params": ["nowhere"], "delay": 1},
}


@requirement("operations.mutex-released")
async def test_mutex_is_free_after_failures(iut: Iut) -> None:
    """After an operation that fails the mutex is free."""
    async with memory_tester(iut) as tester:
        # A locked mutex has its own requirement in the violation.
        with blaming("robustness.odd-operations"):
            buffer = await tester.connect("arm")
            for name, arguments in WRONG.items():
                await tester.ask(name, **buffer.arguments, **arguments)
                await buffer.look()
            for values in ({"speed": "fast"}, {"track": [1, 2]}, {"trim": [1, 2, 3, 4, 5]}):
                await tester.ask("set_data", **buffer.arguments, values=values)
                await buffer.look()
            panel = await tester.connect("panel")
            for operation in OPERATIONS:
                # A panel has no control block, which most operations need.
                await tester.ask(operation.name, **operation.on(panel))
                await panel.look()


@requirement("operations.validity")
async def test_invalid_buffer(iut: Iut) -> None:
    """An operation on an invalid buffer changes nothing and has no result."""
    async with memory_tester(iut) as tester:
        buffer = await tester.connect("arm")
        await tester.check_operation("set_data", **buffer.arguments, values={"angle": 0.5})
        await buffer.fill()
        known = await offered_operations(tester, buffer, OPERATIONS, OPTIONAL)
        await buffer.fill()
        before = await buffer.put({"valid": 0})
        for operation in known:
            await check_aborts(tester, buffer, operation, before, "that is invalid")


@requirement("operations.validity")
async def test_invalid_without_control_block(iut: Iut) -> None:
    """Without a device_id, data for an invalid buffer are not stored either."""
    async with memory_tester(iut) as tester:
        buffer = await tester.connect("panel")
        set_level = Operation("set_data", {"values": {"level": 42}})
        await tester.check_operation(set_level.name, **set_level.on(buffer))
        await buffer.fill()
        before = await buffer.put({"valid": 0})
        await check_aborts(tester, buffer, set_level, before, "that is invalid")


@requirement("operations.validity")
async def test_valid_after_disconnect(iut: Iut) -> None:
    """No operation has an effect while the peripheral is disconnected.

    After a reconnect they succeed.
    """
    async with memory_tester(iut) as tester:
        uid = new_uid()
        buffer = await tester.connect("arm", uid)
        known = await offered_operations(tester, buffer, OPERATIONS, OPTIONAL)
        await buffer.fill()
        await tester.with_uid("disconnect", uid, type="arm")
        before = await buffer.look()
        before.check_fields({"valid": 0}, "lifecycle.disconnect")
        for operation in known:
            await check_aborts(tester, buffer, operation, before, "of a disconnected peripheral")
        await change_connection(tester, buffer, uid, True)
        await tester.check_operation("set_data", **buffer.arguments, values={"angle": 0.5})
        (await buffer.look()).check_fields({"read.params.angle": 0.5})


@requirement("operations.validity")
async def test_invalid_meanwhile(iut: Iut) -> None:
    """An operation aborts if its buffer becomes invalid while it waits for the mutex."""
    async with memory_tester(iut) as tester:
        buffer = await tester.connect("arm")
        # The operation continues after the wait if the buffer stays valid.
        await check_waits_for_mutex(tester, buffer, OPERATIONS[0].name, OPERATIONS[0].on(buffer))
        for operation in await offered_operations(tester, buffer, OPERATIONS, OPTIONAL):
            await buffer.fill()
            await buffer.put({"valid": 1})
            await check_aborts_if_invalidated(tester, buffer, operation.name, operation.on(buffer))


@requirement("operations.atomic")
async def test_spares_the_new(iut: Iut) -> None:
    """Values that are written while an operation waits for the mutex are not lost."""
    async with memory_tester(iut) as tester:
        buffer, set_data = await tester.connect("arm"), OPERATIONS[0]
        await buffer.fill()
        await buffer.put({"control.update": 0, "control.read": 0})
        bits = buffer.bits(["trim", "angle"])
        new = {"control.update": bits, "control.read": bits, "write.params.mode": 9}
        await check_keeps_new_values(tester, buffer, set_data, new, WRITING.bit)


@requirement("operations.nothing-else")
async def test_nothing_else(iut: Iut) -> None:
    """An operation changes only its own fields, and no byte of another buffer."""
    async with memory_tester(iut) as tester:
        buffer, other = await tester.connect("arm"), await tester.connect("arm")
        before_other = await other.fill()
        for operation in await offered_operations(
            tester, buffer, (*OPERATIONS, SET_VALID), OPTIONAL
        ):
            before = await buffer.fill()
            await tester.check_operation(operation.name, **operation.on(buffer))
            (await buffer.look()).check_only(before, operation.changes)
        (await other.look()).check_only(before_other, ())


@requirement("operations.nothing-else")
async def test_nothing_else_for_each_parameter(iut: Iut) -> None:
    """set_data of one parameter changes no other parameter; a panel has no control block."""
    async with memory_tester(iut) as tester:
        for type_ in ("arm", "latch", "panel"):
            buffer = await tester.connect(type_)
            for param in buffer.peripheral.params:
                if param.readable:
                    before = await buffer.fill()
                    only = {param.name: other_sample(param, before[f"read.params.{param.name}"])}
                    await tester.check_operation("set_data", **buffer.arguments, values=only)
                    changed = {f"read.params.{param.name}", "read.timestamp", "control.update"}
                    (await buffer.look()).check_only(before, changed)


@requirement("operations.atomic")
async def test_contention(iut: Iut) -> None:
    """A thousand values are read while another process writes, and none is lost."""
    await check_answers_whole(iut, "get_write", "write")


@requirement("operations.atomic")
async def test_cycles_under_contention(iut: Iut) -> None:
    """A thousand cycles run while another process writes, and no value is lost."""
    await check_answers_whole(iut, "cycle", "write", "cycle.dev-write", _written_by_cycle)


def _written_by_cycle(messages: Any) -> dict[str, Any]:
    """Return the values in the DEV_WRITE messages of a cycle."""
    sent: dict[str, Any] = {}
    for message in messages if isinstance(messages, list) else ():
        if isinstance(message, dict) and message.get("message") == "DEV_WRITE":
            sent |= message.get("values") or {}
    return sent


@requirement("operations.atomic")
async def test_bits_under_contention(iut: Iut) -> None:
    """A thousand Read bitmaps are read while another process sets bits, and none is lost."""
    await check_loses_no_bit(iut, "get_read")


WRITING = Writing(
    "set_data",
    ("read.params.ticks", "read.timestamp", "control.update"),
    "set-data.bits",
    lambda value: {"values": {"ticks": value, "big": value}},
    second="big",
)


@requirement("operations.atomic")
async def test_data_under_contention(iut: Iut) -> None:
    """A thousand values are written while another process reads them, each with its bit.

    A new value always has its bit, its timestamp and the second value.
    """
    await check_writes_whole(iut, WRITING)


@requirement("operations.atomic")
async def test_complete_at_release(iut: Iut) -> None:
    """Data have their bits and their timestamp when the operation releases the mutex."""
    async with memory_tester(iut) as tester:
        buffer = await tester.connect("arm")
        names = [WRITING.fields[0].rpartition(".")[2], WRITING.second]
        begin = partial(write, tester, buffer, WRITING)
        bits = buffer.bits(names)
        await check_writes_before_release(buffer, WRITING.fields, bits, begin, WRITING.bit)
