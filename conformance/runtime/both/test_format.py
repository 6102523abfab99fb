"""Tests of layouts: fields do not overlap, with any catalog."""

from conformance.cases import explore, requirement
from conformance.iut import Iut
from conformance.runtime.both.drawn_catalog import open_with_drawn
from conformance.runtime.memory import strategies
from conformance.runtime.memory.tester import OWN_REQUIREMENTS, memory_tester
from conformance.verdicts import Violation


@requirement("format.fields-apart")
async def test_fields_apart(iut: Iut) -> None:
    """No two fields of a buffer share a byte, and no field exceeds its end."""
    async with memory_tester(iut) as tester:
        for type_ in tester.catalog:
            await tester.layout(type_)


@requirement("format.valid-bit")
async def test_all_bits_of_the_valid_field(iut: Iut) -> None:
    """A buffer is valid if all bits of its valid field are set."""
    async with memory_tester(iut) as tester:
        buffer = await tester.valid_buffer("arm")
        operation, more = (
            ("set_data", {"values": {"angle": 0.25}})
            if tester.owns
            else ("get_value", {"param": "angle"})
        )
        for valid in (1, 256 ** buffer.layout["valid"].size - 1):
            await buffer.put({"valid": valid})
            answer = await tester.ask(operation, **buffer.arguments, **more)
            expected = f"'{operation}' to succeed while {buffer.place('valid')} is {valid:#x}"
            about = OWN_REQUIREMENTS[operation] if valid == 1 else None
            if not answer.ok:
                raise Violation(expected, f"it failed: {answer.why}", about)


@requirement("format.fields-apart")
@explore(text=strategies.catalogs())
async def test_any_catalog(iut: Iut, text: str) -> None:
    """With any valid catalog, fields do not overlap and every parameter has its fields."""
    async with open_with_drawn(iut, text) as tester:
        for type_ in tester.catalog:
            await tester.layout(type_)
