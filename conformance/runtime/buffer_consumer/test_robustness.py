"""Tests of a consumer's robustness: foreign objects, and invalid operations."""

import os
from typing import Any

from conformance.cases import check, requirement
from conformance.harness.memory import FOLDER
from conformance.iut import Iut
from conformance.runtime.buffer_consumer.tester import check_reads, list_names, set_value
from conformance.runtime.memory.operations import OTHER_LENGTHS, check_partly_stored
from conformance.runtime.memory.tester import memory_tester, new_uid

ODD: dict[str, tuple[str, dict[str, Any]]] = {
    "an unknown parameter": ("get_value", {"param": "nowhere"}),
    "an unknown parameter to write": ("set_value", {"param": "nowhere", "value": 1}),
    "text for a number": ("set_value", {"param": "speed", "value": "fast"}),
    "an array for a number": ("set_value", {"param": "speed", "value": [1, 2]}),
}


@requirement("robustness.odd-operations")
async def test_odd_operations(iut: Iut) -> None:
    """An invalid operation fails and changes nothing; the next operation succeeds."""
    async with memory_tester(iut) as tester:
        buffer = await tester.make("arm")
        for what, (name, arguments) in ODD.items():
            before = await buffer.look()
            answer = await tester.ask(name, **buffer.arguments, **arguments)
            refused = not answer.ok or bool(answer.warnings)
            check(refused, f"'{name}' with {what} to fail", "it succeeded")
            (await buffer.look()).check_only(before, ())
            await check_reads(buffer, "angle", before["read.params.angle"])
            await set_value(buffer, "mode", 7, None)
            image = await buffer.look()
            image.check_fields({"write.params.mode": 7})
            image.check_only(before, {"write.params.mode", "write.timestamp", "control.write"})


@requirement("robustness.odd-operations")
async def test_arrays_of_other_lengths(iut: Iut) -> None:
    """An array of wrong length is refused, or stored as far as it fits."""
    async with memory_tester(iut) as tester:
        buffer = await tester.make("arm")
        for name, given in OTHER_LENGTHS:
            before = await buffer.look()
            arguments = {**buffer.arguments, "param": name, "value": given}
            answer = await tester.ask("set_value", **arguments)
            check_partly_stored(answer, await buffer.look(), before, f"write.params.{name}", given)
            await check_reads(buffer, "angle", before["read.params.angle"])


@requirement("robustness.odd-operations")
async def test_unknown_buffers(iut: Iut) -> None:
    """An operation on a buffer that does not exist fails, and the next operation succeeds."""
    async with memory_tester(iut) as tester:
        buffer = await tester.make("arm")
        missing = f"rt-arm-{new_uid()}"
        tester.names.add(missing)
        for name in (missing, "", "../rt-arm-1", "x" * 300):
            answer = await tester.ask("get_value", buffer=name, type="arm", param="angle")
            failed = not answer.ok or bool(answer.warnings)
            check(failed, f"get_value of {name[:20]!r} to fail", "it succeeded")
        await check_reads(buffer, "angle", (await buffer.look())["read.params.angle"])


@requirement("robustness.foreign-objects")
async def test_foreign_objects(iut: Iut) -> None:
    """Other objects under /dev/shm do not prevent a consumer from finding its buffers."""
    async with memory_tester(iut) as tester, tester.exclude_other_lists():
        uid = new_uid()

        def others(number: str) -> None:
            for name, size in (
                *((f"rt-arm-{number}-xempty", 0), (f"rt-arm-{number}-xshort", 17)),
                *((f"rt-nothing-{number}-xother", 4096), (f"conformance-{number}", 4096)),
            ):
                tester.names.add(name)
                (FOLDER / name).write_bytes(bytes(size))

        # Foreign objects before and after the buffer, by name and by time.
        others(f"0{uid}")
        buffer = await tester.make("arm")
        others(f"99{uid}")
        directory = FOLDER / f"rt-arm-{uid}-xfolder"
        directory.mkdir()
        try:
            os.symlink(FOLDER / "nowhere", FOLDER / f"rt-arm-{uid}-xlink")
            tester.names.add(f"rt-arm-{uid}-xlink")
            names = await list_names(tester)
        finally:
            directory.rmdir()
        check(
            buffer.name in names, f"{buffer.name} in the list", f"received {', '.join(names)[:200]}"
        )
        await check_reads(buffer, "angle", (await buffer.look())["read.params.angle"])
