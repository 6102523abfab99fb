"""What holds for every operation of an owner: the mutex, the valid bit, and what stays as it is."""

import asyncio
from typing import Any

import pytest

from conformance.cases import check, requirement
from conformance.iut import Iut
from conformance.runtime.buffer_owner.tester import OPERATIONS, offered, run
from conformance.runtime.memory.held_mutex import invalidated, waits_for_mutex
from conformance.runtime.memory.tester import memory_tester, new_uid
from conformance.verdicts import Violation

ALWAYS = "set_valid"
"""The operation that does not ask whether the buffer is valid."""
ROUNDS = 1000
STEPS = 8192  # times that is written meanwhile, at most


@requirement("operations.mutex")
async def test_waits_for_the_mutex(iut: Iut) -> None:
    """While the tester holds the mutex, no operation changes anything or ends."""
    async with memory_tester(iut) as tester:
        buffer = await tester.connect("arm")
        for name, operation in (await offered(tester, buffer)).items():
            await buffer.fill()
            await waits_for_mutex(tester, buffer, name, {**buffer.arguments, **operation.arguments})


@requirement("operations.mutex")
async def test_connects_wait_for_the_mutex(iut: Iut) -> None:
    """A disconnect and a connect, which set the valid bit, wait for the mutex as well."""
    async with memory_tester(iut) as tester:
        uid = new_uid()
        buffer = await tester.connect("arm", uid)
        for name in ("disconnect", "connect"):
            await waits_for_mutex(tester, buffer, name, {"type": "arm", "uid": tester.uid(uid)})


@requirement("operations.mutex-released")
async def test_mutex_is_free_afterwards(iut: Iut) -> None:
    """After each operation the mutex is free, also on a buffer that is invalid."""
    async with memory_tester(iut) as tester:
        buffer = await tester.connect("arm")
        known = await offered(tester, buffer)
        for valid in (1, 0):
            await buffer.fill()
            await buffer.put({"valid": valid})
            for name in known:
                await run(tester, buffer, name)
                await buffer.put({"valid": valid})


WRONG: dict[str, dict[str, Any]] = {
    "set_data": {"values": {"angle": 0.5, "nowhere": 1}},
    "set_read": {"params": ["angle", "nowhere"]},
    "set_sub": {"uid": "5", "params": ["nowhere"], "delay": 1},
}


@requirement("operations.mutex-released")
async def test_mutex_is_free_after_failures(iut: Iut) -> None:
    """The mutex is free after an operation that fails."""
    async with memory_tester(iut) as tester:
        buffer = await tester.connect("arm")
        for name, arguments in WRONG.items():
            await tester.ask(name, **buffer.arguments, **arguments)
            await buffer.look()
        for values in ({"speed": "fast"}, {"track": [1, 2]}, {"trim": [1, 2, 3, 4, 5]}):
            await tester.ask("set_data", **buffer.arguments, values=values)
            await buffer.look()


@requirement("operations.validity")
async def test_invalid_buffer(iut: Iut) -> None:
    """An operation on a buffer that is not valid changes nothing and has no result."""
    async with memory_tester(iut) as tester:
        buffer = await tester.connect("arm")
        await tester.tested("set_data", **buffer.arguments, values={"angle": 0.5})
        await buffer.fill()
        known = [name for name in await offered(tester, buffer) if name != ALWAYS]
        await buffer.fill()
        before = await buffer.put({"valid": 0})
        for name in known:
            answer = await run(tester, buffer, name)
            (await buffer.look()).only(before, ())
            check(
                not (answer.ok and answer.result),
                f"the operation '{name}' on an invalid buffer to have no result",
                f"it answered {str(answer.result)[:200]}",
            )


@requirement("operations.validity")
async def test_valid_after_disconnect(iut: Iut) -> None:
    """No operation has a result while the peripheral is disconnected, and all have afterwards."""
    async with memory_tester(iut) as tester:
        uid = new_uid()
        buffer = await tester.connect("arm", uid)
        known = [name for name in await offered(tester, buffer) if name != ALWAYS]
        before = await buffer.fill()
        await tester.with_uid("disconnect", uid, type="arm")
        for name in known:
            await run(tester, buffer, name)
        (await buffer.look()).only(before, {"valid"})
        await tester.with_uid("connect", uid, type="arm")
        buffer.kept()
        await tester.tested("set_data", **buffer.arguments, values={"angle": 0.5})
        (await buffer.look()).holds({"read.params.angle": 0.5})


@requirement("operations.validity")
async def test_invalid_meanwhile(iut: Iut) -> None:
    """An operation on a buffer that became invalid while it waited for the mutex is aborted."""
    async with memory_tester(iut) as tester:
        buffer = await tester.connect("arm")
        for name in await offered(tester, buffer):
            if name == ALWAYS:
                continue
            await buffer.fill()
            await buffer.put({"valid": 1})
            arguments = {**buffer.arguments, **OPERATIONS[name].arguments}
            await invalidated(tester, buffer, name, arguments)


@requirement("operations.nothing-else")
async def test_nothing_else(iut: Iut) -> None:
    """An operation changes no field but its own, nor any byte of another buffer."""
    async with memory_tester(iut) as tester:
        buffer, other = await tester.connect("arm"), await tester.connect("arm")
        beside = await other.fill()
        for name, operation in (await offered(tester, buffer)).items():
            before = await buffer.fill()
            answer = await run(tester, buffer, name)
            check(answer.ok, f"the operation '{name}' to succeed", f"it failed: {answer.why}")
            (await buffer.look()).only(before, operation.changes)
        (await other.look()).only(beside, ())


@requirement("operations.nothing-else")
async def test_nothing_else_without_control_block(iut: Iut) -> None:
    """Without a device_id, data change the read block and nothing else."""
    async with memory_tester(iut) as tester:
        buffer = await tester.connect("panel")
        before = await buffer.fill()
        await tester.tested("set_data", **buffer.arguments, values={"level": 42})
        (await buffer.look()).only(before, {"read.params.level", "read.timestamp"})


@requirement("operations.atomic")
@pytest.mark.parametrize(("name", "block"), [("get_write", "write"), ("get_update", "read")])
async def test_contention(iut: Iut, name: str, block: str) -> None:
    """A thousand times values are taken while another process writes: never half of what it wrote.

    Nor are they lost: a process that clears the bits of what was written has its values.
    """
    names = ["angle", "track", "grip", "light"]
    async with memory_tester(iut) as tester:
        buffer = await tester.connect("arm")
        bits, bitmap = buffer.bits(names), f"control.{name.removeprefix('get_')}"
        await buffer.put({bitmap: 0})
        taken: list[Any] = []
        cleared: list[int] = []

        async def take() -> None:
            for _ in range(ROUNDS // 50):
                asked = (tester.session.instance.upper(name, **buffer.arguments) for _ in range(50))
                for answer in await asyncio.gather(*asked):
                    check(answer.ok, f"the operation '{name}' to succeed", f"{answer.why}")
                    if answer.result:
                        taken.append(answer.result)

        taking = asyncio.create_task(take())
        number = 0
        while not taking.done() and number < STEPS:
            async with buffer.held():
                if number and not buffer.peek_at(bitmap):
                    cleared.append(number)
                number += 1
                values = _written(number)
                # In two steps, so that an IUT that does not wait sees the one without the other.
                for chosen in (names[:2], names[2:]):
                    buffer.poke({f"{block}.params.{n}": values[n] for n in chosen})
                    await asyncio.sleep(0)
                buffer.poke({bitmap: bits})
            await asyncio.sleep(0)
        await taking
        tester.session.note(
            "contention", None, written=number, cleared=len(cleared), taken=len(taken)
        )
        for result in taken:
            _whole(name, names, result)
        # Not all digits of a float need be written.
        came = {round(result["angle"] * STEPS) for result in taken}
        lost = [n for n in cleared if n not in came]
        check(
            not lost,
            f"the operation '{name}' to answer all whose bits it clears",
            f"{len(lost)} of {len(cleared)} were cleared and never answered, as number {lost[:1]}",
        )


def _written(number: int) -> dict[str, Any]:
    """What is written in the step of a number; no two steps write the same."""
    step, odd = number / STEPS, number % 2 == 1
    return {"angle": step, "track": [step, step, step], "grip": odd, "light": odd}


def _whole(name: str, names: list[str], result: Any) -> None:
    """Raise Violation where an answer mixes what was written at different times."""
    missing = [n for n in names if not isinstance(result, dict) or n not in result]
    if missing:
        raise Violation(
            f"the operation '{name}' to answer {', '.join(names)} together",
            f"it answered {str(result)[:200]}",
            f"{name.replace('_', '-')}.values",
        )
    torn = any(value != result["angle"] for value in result["track"])
    if torn or result["grip"] != result["light"]:
        raise Violation(
            f"the operation '{name}' to answer values that were written together",
            f"it answered {str(result)[:300]}",
        )
