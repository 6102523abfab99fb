"""Layouts: that fields lie apart, whatever the catalog is."""

import tempfile
from pathlib import Path

from conformance import mutex
from conformance.cases import check, explore, requirement
from conformance.iut import Iut
from conformance.runtime.memory import drawn
from conformance.runtime.memory.bench import Bench, bench
from conformance.runtime.memory.both.catalogs import fitting, has
from conformance.runtime.memory.catalog import load


async def apart(on: Bench) -> None:
    """Raise Violation where two fields of any type of the catalog share a byte."""
    for type_ in on.catalog:
        layout = await on.layout(type_)
        found = layout.overlaps
        check(
            not found,
            f"the fields of {type_} to lie apart and within its {layout.size} bytes",
            f"there is {'; '.join(found[:3])}",
        )
        place = layout["mutex"]
        check(
            place.size >= mutex.SIZE,
            f"the mutex of {type_} to have the {mutex.SIZE} bytes of a pthread mutex",
            f"it has {place.size} at offset {place.offset}",
        )


@requirement("format.fields-apart")
async def test_fields_apart(iut: Iut) -> None:
    """No two fields of a buffer share a byte, and none lies beyond its end."""
    async with bench(iut) as on:
        await apart(on)


@requirement("format.fields-apart")
@explore(text=drawn.catalogs())
async def test_any_catalog(iut: Iut, text: str) -> None:
    """Nor with any other legal catalog; every parameter is in the blocks that it belongs to."""
    with tempfile.TemporaryDirectory(prefix="conformance-") as folder:
        path = Path(folder) / "catalog.yaml"
        path.write_text(text, encoding="utf-8")
        async with bench(iut, None) as on:
            on.catalog = load(text)
            on.session.note("catalog file", None, content=text)
            await on.tested("catalog", path=str(path))
            await apart(on)
            for type_, peripheral in on.catalog.items():
                layout = await on.layout(type_)
                fitting(layout, peripheral)
                readable = [param.name for param in peripheral.params if param.readable]
                writeable = [param.name for param in peripheral.params if param.writeable]
                has(layout, peripheral, "read", readable)
                has(layout, peripheral, "write", writeable)
