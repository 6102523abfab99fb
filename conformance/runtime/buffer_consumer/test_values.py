"""Tests of get_value and set_value: the values that a consumer reads and writes."""

import time
from itertools import repeat, takewhile
from typing import Any

from conformance.cases import lasting, requirement
from conformance.harness.upper_tester import Answer
from conformance.iut import Iut
from conformance.runtime.buffer_consumer.tester import check_reads, set_value
from conformance.runtime.memory.catalog import REAL
from conformance.runtime.memory.contention import MANY_USES, run_often
from conformance.runtime.memory.hold_mutex import check_waits_for_mutex, seconds_until_early
from conformance.runtime.memory.samples import extremes, sample
from conformance.runtime.memory.tester import memory_tester
from conformance.verdicts import NotExercised, Violation

EXTREMES: dict[str, list[Any]] = {
    "angle": [0.0, -1.25],
    "speed": [-100, 100],
    "power": [0, 200],
    "floor": [-5, 2**31 - 1],
    "ratio": [-0.5, 1024.0],
    "big": [-(2**63), 2**53],
    "huge": [0, 2**63],
    "trim": [[-128, -1, 0, 127]],
    "ticks": [2**32 - 1, 0],
    "touched": [True, False],
    "grip": [False, True],
}


@requirement("get-value.value")
async def test_get_value(iut: Iut) -> None:
    """get_value answers the value in the read block, including the extremes of its type."""
    async with memory_tester(iut) as tester:
        buffer = await tester.make("arm")
        for name, values in EXTREMES.items():
            for value in values:
                await buffer.put({f"read.params.{name}": value})
                await check_reads(buffer, name, value)
        # The name of this type has a dash, which also separates the parts of a buffer's name.
        switch = await tester.make("limit-switch")
        for value in (True, False):
            await switch.put({"read.params.switch1": value})
            await check_reads(switch, "switch1", value)


@requirement("get-value.value")
async def test_get_value_of_every_type(iut: Iut) -> None:
    """get_value answers values of every type, including extremes, single or in an array."""
    async with memory_tester(iut, "types.yaml") as tester:
        for type_ in tester.catalog:
            buffer = await tester.make(type_)
            image = await buffer.look()
            for param in buffer.peripheral.params:
                await check_reads(buffer, param.name, image[f"read.params.{param.name}"])
                for value in extremes(param, buffer.layout[f"read.params.{param.name}"]):
                    await buffer.put({f"read.params.{param.name}": value})
                    await check_reads(buffer, param.name, value)


@requirement("get-value.value")
async def test_many_reads(iut: Iut) -> None:
    """Hundreds of reads succeed like the first: none leaves a file open, or a view."""
    if "get_value" in iut.configuration.hooks:
        raise NotExercised("a hook is a process for each read: use the standard streams")
    async with memory_tester(iut) as tester:
        buffer, answered = await tester.make("arm"), list[Answer]()
        left = tester.session.countdown("startup", "response")
        reads = takewhile(lambda _: left() > 0, repeat({"param": "angle"}, MANY_USES))
        await run_often(tester, buffer, "get_value", reads, answered)
        failed = [number for number, answer in enumerate(answered, 1) if not answer.ok]
        if failed:
            why = answered[failed[0] - 1].why
            expected = f"each of {len(answered)} reads to succeed"
            raise Violation(expected, f"{len(failed)} failed, first number {failed[0]}: {why}")
        await check_reads(buffer, "angle", buffer.peek_at("read.params.angle"))


@requirement("get-value.value")
async def test_get_value_after_set_value(iut: Iut) -> None:
    """get_value answers the sensed value, not the written value."""
    async with memory_tester(iut) as tester:
        for type_, names in {"arm": ["angle", "trim", "grip"], "panel": ["level"]}.items():
            buffer = await tester.make(type_)
            for name in names:
                sensed = (await buffer.look())[f"read.params.{name}"]
                wanted = sample(buffer.peripheral[name], 10)
                await set_value(buffer, name, not sensed if name == "grip" else wanted)
                now = await buffer.look()
                now.check_fields({f"read.params.{name}": sensed}, "operations.nothing-else")
                await check_reads(buffer, name, sensed)


@requirement("set-value.value")
async def test_set_value(iut: Iut) -> None:
    """set_value writes values of any type to the write block, including extremes."""
    async with memory_tester(iut, "types.yaml") as tester:
        for type_ in tester.catalog:
            buffer = await tester.make(type_)
            for param in buffer.peripheral.params:
                ends = extremes(param, buffer.layout[f"write.params.{param.name}"])
                for value in (sample(param, 3), sample(param, 4), *ends):
                    answer = await set_value(buffer, param.name, value)
                    # A warning means that the value was clamped.
                    about = "catalog.one-bound" if answer.warnings else None
                    (await buffer.look()).check_fields({f"write.params.{param.name}": value}, about)


@requirement("set-value.value")
async def test_negative_values(iut: Iut) -> None:
    """Negative numbers are stored correctly; a float parameter accepts a whole number."""
    cases: dict[str, Any] = {"angle": -1, "speed": -100, "floor": -5, "trim": [-1, -128, 127, 0]}
    async with memory_tester(iut) as tester:
        buffer = await tester.make("arm")
        for name, value in cases.items():
            await set_value(buffer, name, value)
            exact = float(value) if buffer.peripheral[name].kind == REAL else value
            (await buffer.look()).check_fields({f"write.params.{name}": exact})


@requirement("set-value.bit")
async def test_bits(iut: Iut) -> None:
    """A write adds its bit to the set bits, even for an equal value."""
    async with memory_tester(iut) as tester:
        buffer = await tester.make("arm")
        bits = buffer.bits
        for others, name in ((["light"], "angle"), ([], "light"), (["angle", "speed"], "light")):
            await buffer.put({"control.write": bits(others)})
            for _ in range(2):
                await set_value(buffer, name, sample(buffer.peripheral[name], 3))
                (await buffer.look()).check_fields({"control.write": bits([*others, name])})
        await buffer.put({"control.write": 0})
        await set_value(buffer, "light", sample(buffer.peripheral["light"], 3))
        (await buffer.look()).check_fields({"control.write": bits(["light"])})


@requirement("set-value.bit")
async def test_bit_of_a_clamped_value(iut: Iut) -> None:
    """A clamped value is written, and its bit is set."""
    async with memory_tester(iut) as tester:
        buffer = await tester.make("arm")
        await buffer.put({"control.write": 0})
        await set_value(buffer, "speed", 1000, "catalog.clamped")
        (await buffer.look()).check_fields({"control.write": buffer.bits(["speed"])})


@requirement("set-value.timestamp")
async def test_timestamp(iut: Iut) -> None:
    """Each set_value updates the timestamp of the write block, even for equal values."""
    async with memory_tester(iut) as tester:
        for type_, name in (("arm", "mode"), ("panel", "level")):
            buffer = await tester.make(type_)
            for value in (5, 5, 6):
                await buffer.put({"write.timestamp": 1.0})
                since = time.time()
                await set_value(buffer, name, value)
                (await buffer.look()).check_stamped("write", since)


@requirement("set-value.timestamp")
@lasting
async def test_time_behind_the_mutex(iut: Iut) -> None:
    """The timestamp is the exact time of the write, after waiting for the mutex."""
    async with memory_tester(iut) as tester:
        buffer = await tester.make("arm")
        arguments = {**buffer.arguments, "param": "angle", "value": 0.5}
        # An implementation that caches the time would use the time of this operation.
        await tester.check_operation("set_value", **arguments)
        hold = seconds_until_early()
        since = await check_waits_for_mutex(tester, buffer, "set_value", arguments, hold)
        (await buffer.look()).check_stamped("write", since)


@requirement("set-value.value")
async def test_each_element(iut: Iut) -> None:
    """Each array element is written with its own value; the others are unchanged."""
    async with memory_tester(iut) as tester:
        buffer = await tester.make("arm")
        for name in ("trim", "track"):
            values = sample(buffer.peripheral[name], 1)
            for index in range(len(values)):
                values = [*values]
                values[index] = -values[index]
                await set_value(buffer, name, values)
                (await buffer.look()).check_fields({f"write.params.{name}": values})


@requirement("get-value.value")
async def test_each_element_read(iut: Iut) -> None:
    """Each element of an array is read correctly."""
    async with memory_tester(iut) as tester:
        buffer = await tester.make("arm")
        for name in ("trim", "track"):
            values = sample(buffer.peripheral[name], 1)
            for index in range(len(values)):
                values = [*values]
                values[index] = -values[index]
                await buffer.put({f"read.params.{name}": values})
                await check_reads(buffer, name, values)
