"""Tests of an owner's use of the catalog."""

from conformance.cases import check, requirement
from conformance.iut import Iut
from conformance.runtime.memory.log_lines import LogLines
from conformance.runtime.memory.samples import around_bounds, sample
from conformance.runtime.memory.tester import memory_tester


@requirement("catalog.clamped-data")
async def test_clamped_data(iut: Iut) -> None:
    """Sensed values beyond their bounds are clamped with a warning, including integers."""
    async with memory_tester(iut) as tester:
        arm, panel = await tester.connect("arm"), await tester.connect("panel")
        cases = [
            *((arm, "angle", 9.5, 1.5), (arm, "speed", -101, -100), (arm, "power", 201, 200)),
            *((arm, "floor", -6, -5), (panel, "level", -1, 0)),
        ]
        # A warning that every operation has is not about the value.
        plain, log = dict[str, tuple[str, ...]](), LogLines(tester)
        for buffer, name, _, bound in cases:
            answer = await tester.check_operation(
                "set_data", **buffer.arguments, values={name: bound}
            )
            plain[name] = answer.warnings
        await log.learn()
        for buffer, name, value, bound in cases:
            await buffer.put({f"read.params.{name}": 0})
            before = log.unusual()
            answer = await tester.check_operation(
                "set_data", **buffer.arguments, values={name: value}
            )
            (await buffer.look()).check_fields({f"read.params.{name}": bound})
            warnings = [text for text in answer.warnings if text not in plain[name]]
            warned = bool(warnings) or await log.has_more_than(before)
            came = "received none in its answer or on stderr"
            check(warned, f"a warning about {name}, {value}", came)


@requirement("catalog.clamped-data")
async def test_clamped_wherever_the_bounds_are(iut: Iut) -> None:
    """Values of every type are clamped, for bounds far from zero, one-sided and equal bounds."""
    async with memory_tester(iut, "bounds.yaml") as tester:
        for type_ in tester.catalog:
            buffer = await tester.connect(type_)
            for param in buffer.peripheral.params:
                for value, stored in around_bounds(param):
                    only = {param.name: value}
                    await tester.check_operation("set_data", **buffer.arguments, values=only)
                    (await buffer.look()).check_fields({f"read.params.{param.name}": stored})


@requirement("catalog.ignored-keys")
async def test_bounds_of_a_boolean(iut: Iut) -> None:
    """Bounds of a sensed boolean are ignored: true is stored, although both bounds are 0."""
    async with memory_tester(iut, "ignored.yaml") as tester:
        buffer = await tester.connect("camera")
        for value in (True, False, True):
            only = {"flash": value}
            await tester.check_operation("set_data", **buffer.arguments, values=only)
            (await buffer.look()).check_fields({"read.params.flash": value})


@requirement("catalog.no-limit")
async def test_data_of_more_than_16(iut: Iut) -> None:
    """Without a device_id, the seventeenth and the last parameter can be set."""
    async with memory_tester(iut, "many.yaml") as tester:
        for type_, peripheral in tester.catalog.items():
            buffer = await tester.connect(type_)
            for param in (peripheral.params[16], peripheral.params[-1]):
                value = sample(param, 5)
                await tester.check_operation(
                    "set_data", **buffer.arguments, values={param.name: value}
                )
                (await buffer.look()).check_fields({f"read.params.{param.name}": value})
