"""Tests of operations that read a bitmap and its values, and clear the bitmap."""

import asyncio
import itertools
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from conformance.cases import check
from conformance.harness.upper_tester import Answer
from conformance.iut import Iut
from conformance.runtime.memory.answers import check_values
from conformance.runtime.memory.buffer import Buffer
from conformance.runtime.memory.contention import ROUNDS, require_success, run_often
from conformance.runtime.memory.samples import extremes, sample
from conformance.runtime.memory.tester import Tester, memory_tester
from conformance.verdicts import Violation

_PLAINLY: list[dict[str, Any]] = [{}] * ROUNDS  # the operation has no further arguments
STEPS = 8192  # writes at most while the operation runs


async def check_answers_bits(iut: Iut, operation: str, block: str) -> None:
    """Check that an operation answers exactly the values of the set bits."""
    bitmap = f"control.{operation.removeprefix('get_')}"
    async with memory_tester(iut) as tester:
        buffer = await tester.valid_buffer("arm")
        own = ["temperature"] if block == "read" else ["target", "mode"]
        shared = [
            "angle",
            "speed",
            "power",
            "floor",
            "ratio",
            "big",
            "huge",
            "grip",
            "trim",
            "track",
        ]
        every = [*shared, *own, "light"]
        asked: tuple[list[str], ...] = (every, ["light"], [own[-1], "track"], ["angle"], [])
        given = [{n: sample(buffer.peripheral[n], 5 + i) for n in ns} for i, ns in enumerate(asked)]
        last = {
            name: extremes(buffer.peripheral[name], buffer.layout[f"{block}.params.{name}"])[0]
            for name in every
        }
        for values in (*given, last):
            fields = {f"{block}.params.{name}": value for name, value in values.items()}
            await buffer.put({**fields, bitmap: buffer.bits(values)})
            answer = await tester.require(operation, **buffer.arguments)
            check_values(
                buffer.peripheral, values, answer.result or {}, f"the operation '{operation}'"
            )


async def check_alone(
    tester: Tester, buffer: Buffer, operation: str, values: Mapping[str, Any]
) -> None:
    """Check that an operation answers these values (get_read: the names) while no other process
    writes.

    Raises Violation of the operation's own requirements.
    """
    of, own = operation.removeprefix("get_"), operation.replace("_", "-")
    block, what = "write" if of == "write" else "read", f"the operation '{operation}'"
    fields = {} if of == "read" else {f"{block}.params.{n}": v for n, v in values.items()}
    await buffer.put({**fields, f"control.{of}": buffer.bits(values)})
    answer = await tester.require(operation, **buffer.arguments)
    if of == "read":
        names = sorted(map(str, answer.result or ()))
        if names != sorted(values):
            expected = f"{what} to answer {', '.join(values)}"
            raise Violation(expected, f"it answered {', '.join(names)[:200]}", f"{own}.names")
    else:
        check_values(buffer.peripheral, values, answer.result, what, f"{own}.values")
    (await buffer.look()).check_fields({f"control.{of}": 0}, f"{own}.clears")


async def check_clears(iut: Iut, operation: str) -> None:
    """Check that an operation clears its bitmap, and that the next run finds nothing."""
    field = f"control.{operation.removeprefix('get_')}"
    async with memory_tester(iut) as tester:
        buffer = await tester.valid_buffer("arm")
        await buffer.fill()
        for names in (["angle", "light"], ["light"], ["angle", "speed", "trim", "track"]):
            await buffer.put({field: buffer.bits(names)})
            await tester.require(operation, **buffer.arguments)
            (await buffer.look()).check_fields({field: 0})
        again = await tester.require(operation, **buffer.arguments)
        check(
            not again.result,
            f"no result of the operation '{operation}' immediately after it was run",
            f"it answered {str(again.result)[:200]}",
        )


def _result(result: Any) -> Any:
    return result


async def check_answers_whole(
    iut: Iut,
    operation: str,
    block: str,
    about: str = "",
    values_of: Callable[[Any], Any] = _result,
) -> None:
    """Check a thousand reads while another process writes: no value is incomplete or lost.

    An operation that clears the bits of new values must have answered these values. ``about`` is
    the requirement about the values, by default that of the operation. ``values_of`` returns the
    values in a result.
    """
    of = operation.removeprefix("get_")
    bitmap = f"control.{block if of == operation else of}"
    names = ["angle", "track", "grip", "light"]
    async with memory_tester(iut) as tester:
        buffer = await tester.valid_buffer("arm")
        bits = buffer.bits(names)
        if of == operation:
            await tester.require_no_cycles(buffer)
            await tester.require(operation, **buffer.arguments)
        else:
            await check_alone(tester, buffer, operation, _values_of_step(STEPS))
        await buffer.put({bitmap: 0, "control.read": 0})
        cleared: list[int] = []
        answered: list[Answer] = []
        taking = asyncio.create_task(run_often(tester, buffer, operation, _PLAINLY, answered))
        number = 0
        while not taking.done() and number < STEPS:
            async with buffer.hold():
                if number and not buffer.peek_at(bitmap):
                    cleared.append(number)
                number += 1
                values = _values_of_step(number)
                # In two steps, so that an IUT that does not lock the mutex sees only the first.
                for chosen in (names[:2], names[2:]):
                    buffer.poke({f"{block}.params.{n}": values[n] for n in chosen})
                    await asyncio.sleep(0)
                buffer.poke({bitmap: bits})
            await asyncio.sleep(0)
        await taking
        taken = [values_of(a.result) for a in answered if a.ok and values_of(a.result)]
        tester.session.note(
            "contention", None, written=number, cleared=len(cleared), taken=len(taken)
        )
        require_success(operation, answered)
        for result in taken:
            _check_whole(operation, names, result, about or f"{operation.replace('_', '-')}.values")
        # A float need not be written with all digits.
        came = {round(result["angle"] * STEPS) for result in taken}
        lost = [n for n in cleared if n not in came]
        check(
            not lost,
            f"the operation '{operation}' to answer all values whose bits it clears",
            f"{len(lost)} of {len(cleared)} were cleared but not answered, for example "
            f"number {lost[:1]}",
        )


async def check_loses_no_bit(iut: Iut, operation: str) -> None:
    """Check a thousand reads while another process sets bits: each is answered once."""
    names = ["angle", "track", "grip", "light"]
    async with memory_tester(iut) as tester:
        buffer, bitmap = (
            await tester.valid_buffer("arm"),
            f"control.{operation.removeprefix('get_')}",
        )
        await check_alone(tester, buffer, operation, dict.fromkeys(names))
        answered: list[Answer] = []
        taking = asyncio.create_task(run_often(tester, buffer, operation, _PLAINLY, answered))
        given: Counter[str] = Counter()
        for name in itertools.islice(itertools.cycle(names), STEPS):
            if taking.done():
                break
            async with buffer.hold():
                before, bit = buffer.peek_at(bitmap), buffer.bits([name])
                given[name] += not before & bit
                buffer.poke({bitmap: before | bit})
            await asyncio.sleep(0)
        await taking
        tester.session.note("contention", None, written=given.total(), taken=len(answered))
        require_success(operation, answered)
        left = buffer.names_of((await buffer.look())[bitmap])
        results = [a.result for a in answered if a.ok and isinstance(a.result, list)]
        answers = Counter(str(name) for result in results for name in result)
        for name in names:
            times = given[name] - (name in left)
            check(
                answers[name] == times,
                f"the operation '{operation}' to answer {name} {times} times, as often "
                "as its bit was set and cleared",
                f"it was answered {answers[name]} times",
            )


def _values_of_step(number: int) -> dict[str, Any]:
    """Return the values that are written in a step; every step has other values."""
    step, odd = number / STEPS, number % 2 == 1
    return {"angle": step, "track": [step, step, step], "grip": odd, "light": odd}


def _check_whole(operation: str, names: list[str], result: Any, about: str) -> None:
    """Raise Violation if an answer mixes values that were written at different times.

    The violation is of ``about`` if a value is missing.
    """
    missing = [n for n in names if not isinstance(result, dict) or n not in result]
    if missing:
        raise Violation(
            f"the operation '{operation}' to answer {', '.join(names)} together",
            f"it answered {str(result)[:200]}",
            about,
        )
    torn = any(value != result["angle"] for value in result["track"])
    if torn or result["grip"] != result["light"]:
        raise Violation(
            f"the operation '{operation}' to answer values that were written together",
            f"it answered {str(result)[:300]}",
        )
