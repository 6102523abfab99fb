"""Tests of layouts: fields do not overlap, with any catalog."""

from conformance.cases import explore, requirement
from conformance.iut import Iut
from conformance.runtime.both.drawn_catalog import open_with_drawn
from conformance.runtime.memory import strategies
from conformance.runtime.memory.tester import memory_tester


@requirement("format.fields-apart")
async def test_fields_apart(iut: Iut) -> None:
    """No two fields of a buffer share a byte, and no field exceeds its end."""
    async with memory_tester(iut) as tester:
        for type_ in tester.catalog:
            await tester.layout(type_)


@requirement("format.fields-apart")
@explore(text=strategies.catalogs())
async def test_any_catalog(iut: Iut, text: str) -> None:
    """With any valid catalog, fields do not overlap and every parameter has its fields."""
    async with open_with_drawn(iut, text) as tester:
        for type_ in tester.catalog:
            await tester.layout(type_)
