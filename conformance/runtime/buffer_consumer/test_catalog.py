"""Tests of a consumer's use of the catalog: bounds and access rights."""

import time
from typing import Any

from conformance.cases import check, requirement
from conformance.harness.upper_tester import Answer
from conformance.iut import Iut
from conformance.runtime.buffer_consumer.tester import check_reads, set_value
from conformance.runtime.memory.answers import is_same_answer
from conformance.runtime.memory.log_lines import LogLines
from conformance.runtime.memory.samples import around_bounds, sample
from conformance.runtime.memory.tester import memory_tester
from conformance.verdicts import Violation

# Parameter, value, and the stored value.
BEYOND: list[tuple[str, Any, Any]] = [
    ("angle", 1.75, 1.5),
    ("angle", -9.0, -1.5),
    ("angle", 1e30, 1.5),
    ("speed", 101, 100),
    ("speed", -101, -100),
    ("speed", 70000, 100),
    ("power", 201, 200),
    ("power", 300, 200),
    ("floor", -6, -5),
    ("floor", -(2**31), -5),
    ("target", -0.5, 0.0),
    ("target", 10.5, 10.0),
]
WITHIN: list[tuple[str, Any]] = [
    *(("angle", 1.5), ("angle", -1.5), ("angle", 0.0), ("speed", 100), ("speed", -100)),
    *(("power", 200), ("power", 0), ("floor", -5), ("target", 0.0), ("target", 10.0)),
]
UNBOUNDED: list[tuple[str, Any]] = [
    *(("floor", 2**31 - 1), ("floor", 70000), ("ratio", -1e300), ("ratio", 1e300)),
    *(("big", -(2**63)), ("big", 2**62), ("huge", 2**63), ("trim", [-128, 127, 0, -1])),
    *(("track", [-1e6, 1e6, 0.5]), ("mode", 65535), ("mode", 0)),
]


@requirement("catalog.clamped")
async def test_clamped(iut: Iut) -> None:
    """A number beyond either bound is stored as the bound, for any type."""
    async with memory_tester(iut) as tester:
        for name, value, bound in BEYOND:
            buffer = await tester.make("arm")
            answer = await tester.check_operation(
                "set_value", **buffer.arguments, param=name, value=value
            )
            image = await buffer.look()
            image.check_fields({f"write.params.{name}": bound})
            check(answer.ok, f"{name} = {value} to be clamped", f"it was refused: {answer.why}")
            bits = image["control.write"] | buffer.bits([name])
            image.check_fields({"control.write": bits}, "set-value.bit")


@requirement("set-value.timestamp")
async def test_clamped_is_stamped(iut: Iut) -> None:
    """A clamped value updates the timestamp of the write block too."""
    async with memory_tester(iut) as tester:
        buffer = await tester.make("arm")
        since = time.time()
        await set_value(buffer, "angle", 9.5, "catalog.clamped")
        (await buffer.look()).check_stamped("write", since)


@requirement("catalog.clamped")
async def test_clamped_without_control_block(iut: Iut) -> None:
    """Numbers beyond a bound are clamped, also without a device_id."""
    async with memory_tester(iut) as tester:
        buffer = await tester.make("panel")
        for value, bound in ((101, 100), (-1, 0), (2**31 - 1, 100)):
            await set_value(buffer, "level", value, None)
            (await buffer.look()).check_fields({"write.params.level": bound})


@requirement("catalog.clamped")
async def test_clamped_wherever_the_bounds_are(iut: Iut) -> None:
    """Values of every type are clamped, for bounds far from zero, one-sided and equal bounds."""
    await _check_clamped(iut, "bounds.yaml")


@requirement("catalog.yaml")
async def test_bounds_in_other_forms(iut: Iut) -> None:
    """Bounds can have signs, exponents and zero fractions; an infinite bound is no bound."""
    await _check_clamped(iut, "bounds.yaml", "catalog.clamped")
    await _check_clamped(iut, "forms.yaml")


async def _check_clamped(iut: Iut, catalog: str, about: str | None = None) -> None:
    async with memory_tester(iut, catalog) as tester:
        for type_ in tester.catalog:
            buffer = await tester.make(type_)
            for param in buffer.peripheral.params:
                for value, stored in around_bounds(param):
                    await set_value(buffer, param.name, value, about)
                    (await buffer.look()).check_fields(
                        {f"write.params.{param.name}": stored}, about
                    )


@requirement("catalog.clamp-warning")
async def test_clamp_warning(iut: Iut) -> None:
    """Each clamped value causes a warning, at every repetition."""
    async with memory_tester(iut) as tester:
        buffer, log = await tester.make("arm"), LogLines(tester)
        for name, _, bound in BEYOND:
            await set_value(buffer, name, bound)
        await log.learn()
        for name, value, bound in [*BEYOND, *BEYOND[:3]]:
            before = log.unusual()
            answer = await set_value(buffer, name, value, "catalog.clamped")
            warned = bool(answer.warnings) or await log.has_more_than(before)
            if not warned:
                (await buffer.look()).check_fields(
                    {f"write.params.{name}": bound}, "catalog.clamped"
                )
            expected = f"a warning after {name} = {value} was clamped to {bound}"
            check(warned, expected, "received none in its answer or on stderr")


@requirement("catalog.within-bounds")
async def test_within_bounds(iut: Iut) -> None:
    """A value at or between the bounds is stored unchanged, without a warning."""
    async with memory_tester(iut) as tester:
        buffer = await tester.make("arm")
        for clamped in (False, True):
            if clamped:
                # The warning about this value must not appear again in later answers.
                await set_value(buffer, "angle", 9.5, "catalog.clamped")
            for name, value in WITHIN:
                answer = await set_value(buffer, name, value, None)
                (await buffer.look()).check_fields({f"write.params.{name}": value})
                came = f"received: {'; '.join(answer.warnings)[:200]}"
                check(not answer.warnings, f"no warning about {name} = {value}", came)


@requirement("catalog.one-bound")
async def test_no_other_bound(iut: Iut) -> None:
    """Without a bound in the catalog, every value of the type is stored unchanged."""
    async with memory_tester(iut) as tester:
        buffer = await tester.make("arm")
        for name, value in UNBOUNDED:
            if name == "ratio" and buffer.layout["write.params.ratio"].size < 8:
                value = value / 1e280
            await set_value(buffer, name, value, None)
            (await buffer.look()).check_fields({f"write.params.{name}": value})


@requirement("catalog.ignored-keys")
async def test_bounds_of_a_boolean(iut: Iut) -> None:
    """Bounds of a boolean are ignored: true is stored, although both bounds are 0."""
    async with memory_tester(iut, "ignored.yaml") as tester:
        buffer = await tester.make("camera")
        for value in (True, False, True):
            answer = await set_value(buffer, "flash", value, None)
            (await buffer.look()).check_fields({"write.params.flash": value})
            if answer.warnings:
                came = f"received: {'; '.join(answer.warnings)[:200]}"
                anyway = (await set_value(buffer, "frames", 1)).warnings
                about = "catalog.within-bounds" if anyway else None
                raise Violation("no warning about a boolean", came, about)


async def is_warned(answer: Answer, plain: Answer, log: LogLines, before: list[str]) -> bool:
    """Return True if an answer or the log has a warning, unlike a plain operation's.

    ``before`` are the unusual lines before the operation.
    """
    warnings = [text for text in answer.warnings if text not in plain.warnings]
    failed = not answer.ok and bool(answer.error)
    return bool(warnings) or failed or await log.has_more_than(before)


@requirement("catalog.not-writeable")
async def test_not_writeable(iut: Iut) -> None:
    """A write to a parameter that is not writeable warns each time and changes nothing."""
    cases = {"arm": ["temperature", "touched"], "latch": ["secret"], "panel": ["shown"]}
    async with memory_tester(iut) as tester:
        plain, log = await set_value(await tester.make("arm"), "angle", 0.5), LogLines(tester)
        await log.learn()
        for type_, names in cases.items():
            buffer = await tester.make(type_)
            before = await buffer.look()
            for name in [*names, *names]:
                value = True if buffer.peripheral[name].type == "bool" else 5
                lines = log.unusual()
                answer = await tester.ask("set_value", **buffer.arguments, param=name, value=value)
                warned = await is_warned(answer, plain, log, lines)
                check(warned, f"a warning after {name} of {type_} was written", "received none")
                (await buffer.look()).check_only(before, ())


@requirement("catalog.not-readable")
async def test_not_readable(iut: Iut) -> None:
    """Reading a parameter that is not readable warns, returns nothing, and changes nothing."""
    cases = {"arm": ["target", "mode"], "latch": ["secret"], "panel": ["wanted"]}
    async with memory_tester(iut) as tester:
        arm = await tester.make("arm")
        plain = await tester.ask("get_value", **arm.arguments, param="angle")
        log = LogLines(tester)
        await log.learn()
        for type_, names in cases.items():
            buffer = await tester.make(type_)
            before = await buffer.look()
            for name in [*names, *names]:
                lines = log.unusual()
                answer = await tester.ask("get_value", **buffer.arguments, param=name)
                warned = await is_warned(answer, plain, log, lines)
                check(warned, f"a warning after {name} of {type_} was read", "received none")
                field = f"write.params.{name}"
                kept = field in buffer.layout.fields and before[field] is not False
                leaked = kept and is_same_answer(
                    before[field], answer.result, buffer.peripheral[name].kind
                )
                came = f"it answered {str(answer.result)[:100]}"
                check(
                    not (answer.ok and leaked), f"no value of {name}, which is not readable", came
                )
                (await buffer.look()).check_only(before, ())


@requirement("catalog.no-limit")
async def test_values_of_more_than_16(iut: Iut) -> None:
    """Without a device_id, the seventeenth and the last parameter can be read and written."""
    async with memory_tester(iut, "many.yaml") as tester:
        for type_, peripheral in tester.catalog.items():
            buffer = await tester.make(type_)
            # A wrong value of the first parameter has another cause than the number of parameters.
            # A refusal can have this cause.
            first = peripheral.params[0].name
            answer = await tester.ask("get_value", **buffer.arguments, param=first)
            about = "get-value.value" if answer.ok else None
            await check_reads(buffer, first, (await buffer.look())[f"read.params.{first}"], about)
            for param in (peripheral.params[16], peripheral.params[-1]):
                await check_reads(
                    buffer, param.name, (await buffer.look())[f"read.params.{param.name}"], None
                )
                value = sample(param, 5)
                await set_value(buffer, param.name, value, None)
                (await buffer.look()).check_fields({f"write.params.{param.name}": value})
