"""Tests of a consumer's use of shared memory: listing, opening and closing buffers."""

import asyncio
import contextlib

import pytest

from conformance.cases import check, lasting, requirement
from conformance.harness import memory
from conformance.iut import Iut
from conformance.runtime.buffer_consumer.tester import (
    check_reads,
    list_names,
    mapped_names,
    set_value,
)
from conformance.runtime.memory.buffer import Buffer
from conformance.runtime.memory.tester import memory_tester, new_uid
from conformance.runtime.tester import shut_down
from conformance.verdicts import Conclusion


@requirement("lifecycle.listed")
async def test_list(iut: Iut) -> None:
    """The list contains exactly the buffers that are valid now."""
    async with memory_tester(iut) as tester:
        arm, panel, idle = (
            await tester.make("arm"),
            await tester.make("panel"),
            await tester.make("arm", False),
        )
        for valid, invalid in (([arm, panel], [idle]), ([arm, panel, idle], []), ([panel], [arm])):
            for buffer in valid:
                await buffer.put({"valid": 1})
            for buffer in invalid:
                await buffer.put({"valid": 0})
            names = await list_names(tester)
            for buffer in valid:
                if buffer.name not in names and buffer is idle:
                    # If the buffer cannot be used again either, the list is not the violated
                    # requirement.
                    value = buffer.peek_at("read.params.angle")
                    await check_reads(buffer, "angle", value, "lifecycle.views-stay")
                check_listed(names, buffer, "valid")
            for buffer in invalid:
                check(
                    buffer.name not in names,
                    f"{buffer.name}, which is invalid, to be missing in the list",
                    "it is listed",
                )
        added = await tester.make("limit-switch")
        check_listed(await list_names(tester), added, "new")
        memory.remove(panel.name)
        gone = panel.name not in await list_names(tester)
        check(
            gone, f"{panel.name}, which no longer exists, to be missing in the list", "it is listed"
        )


@requirement("lifecycle.listed")
async def test_list_of_many(iut: Iut) -> None:
    """Each of twenty buffers is listed and can be read."""
    async with memory_tester(iut) as tester:
        buffers = [await tester.make("limit-switch") for _ in range(20)]
        names = await list_names(tester)
        for buffer in buffers:
            check_listed(names, buffer, "one of twenty")
        for buffer in buffers:
            await check_reads(buffer, "switch0", bool((await buffer.look())["read.params.switch0"]))


def check_listed(names: list[str], buffer: Buffer, how: str) -> None:
    """Raise Violation unless a buffer is in the list."""
    came = ", ".join(names)[:300] or "none"
    if buffer.name not in names:
        buffer.check_kept()
    check(buffer.name in names, f"{buffer.name}, which is {how}, in the list", f"received {came}")


@requirement("lifecycle.invalid-absent")
async def test_invalid_is_absent(iut: Iut) -> None:
    """Operations on an invalid and on a missing buffer have the same outcome.

    The consumer does not create a missing buffer, because only its owner can.
    """
    async with memory_tester(iut) as tester:
        buffer = await tester.make("arm", valid=False)
        missing = f"rt-arm-{new_uid()}-xabsent"
        tester.names.add(missing)
        absent = {**buffer.arguments, "buffer": missing}
        for name, more in (
            ("get_value", {"param": "angle"}),
            ("set_value", {"param": "angle", "value": 0.5}),
        ):
            invalid = await tester.ask(name, **buffer.arguments, **more)
            none = await tester.ask(name, **absent, **more)
            check(
                invalid.ok == none.ok,
                f"'{name}' on an invalid buffer to {'succeed' if none.ok else 'fail'} "
                "as on a missing one",
                "it succeeded" if invalid.ok else f"it failed: {invalid.why}",
            )
            expected = f"no object to be created by '{name}' on a missing buffer"
            check(memory.inode(missing) is None, expected, f"found an object named {missing}")


@requirement("lifecycle.views-stay")
async def test_valid_again(iut: Iut) -> None:
    """A buffer that was invalid for a while is used again, with its current values."""
    async with memory_tester(iut) as tester:
        buffer = await tester.make("arm")
        for angle in (0.125, 0.1875):
            await buffer.put({"read.params.angle": angle})
            await check_reads(buffer, "angle", angle)
        await set_value(buffer, "angle", 0.25)
        (await buffer.look()).check_fields({"write.params.angle": 0.25}, "set-value.value")
        for angle in (0.25, 0.5, 0.75):
            await buffer.put({"valid": 0})
            await tester.ask("get_value", **buffer.arguments, param="angle")
            await tester.ask("set_value", **buffer.arguments, param="angle", value=1.0)
            buffer.check_kept()
            await buffer.put({"valid": 1, "read.params.angle": angle, "control.write": 0})
            await check_reads(buffer, "angle", angle, None)
            await set_value(buffer, "angle", -angle, None)
            (await buffer.look()).check_fields({"write.params.angle": -angle})


@requirement("lifecycle.never-unlinks")
async def test_never_unlinks(iut: Iut) -> None:
    """Buffers still exist while a consumer runs, when one is invalid, and after it exits."""
    async with memory_tester(iut) as tester:
        buffers = [
            await tester.make("arm"),
            await tester.make("panel"),
            await tester.make("arm", valid=False),
        ]
        for buffer in buffers:
            param = "angle" if buffer.peripheral.name == "arm" else "level"
            await tester.ask("get_value", **buffer.arguments, param=param)
            await tester.ask("set_value", **buffer.arguments, param=param, value=1)
        await tester.ask("list")
        await buffers[0].put({"valid": 0})
        await tester.ask("get_value", **buffers[0].arguments, param="angle")
        await tester.ask("list")
        for buffer in buffers:
            buffer.check_kept()
        await shut_down(tester.session)
        # A helper process of the IUT can remove objects shortly after the IUT has exited.
        process = tester.session.instance.process
        await tester.until(lambda: process is None or not process.has_survivors, "response")
        await tester.until(
            lambda: not all(memory.inode(buffer.name) for buffer in buffers), "quiet"
        )
        for buffer in buffers:
            buffer.check_kept()


@requirement("lifecycle.dies-without-mutex")
async def test_ends_without_the_mutex(iut: Iut) -> None:
    """A consumer that is shut down during its operations leaves the mutex free."""
    async with memory_tester(iut) as tester:
        buffer = await tester.make("arm")
        upper = tester.session.instance.upper
        asked = [
            asyncio.create_task(upper("set_value", **buffer.arguments, param="mode", value=number))
            for number in range(300)
        ]
        done, _ = await asyncio.wait(asked, return_when=asyncio.FIRST_COMPLETED)
        done.pop().result()
        await shut_down(tester.session)
        for task in asked:
            task.cancel()
        with contextlib.suppress(Conclusion):
            await asyncio.gather(*asked, return_exceptions=True)
        check(buffer.is_free(), "the mutex to be free after the consumer exited", "it is locked")


@requirement("lifecycle.lazy")
@pytest.mark.parametrize("operations", ["before", "after"])
@lasting
async def test_lazy(iut: Iut, operations: str) -> None:
    """While no operation runs, a consumer opens and closes no view.

    During an operation it can open any buffer.
    """
    async with memory_tester(iut) as tester:
        buffers = [await tester.make("arm"), await tester.make("arm")]
        if operations == "after":
            angle = (await buffers[0].look())["read.params.angle"]
            await check_reads(buffers[0], "angle", angle)
        before = mapped_names(tester)
        buffers.append(await tester.make("arm"))
        await tester.session.wait_for(within="quiet")
        settled = mapped_names(tester)
        # The interval of a background task is unknown.
        await tester.session.wait_for(within="response")
        names = mapped_names(tester)
        for buffer in buffers:
            check(
                buffer.name in before or buffer.name not in names,
                f"no new view of {buffer.name} while no operation runs",
                "a process of the IUT has mapped it",
            )
            stays = buffer.name not in settled or buffer.name in names | mapped_names(tester)
            expected = f"the view of {buffer.name} to stay while no operation runs"
            check(stays, expected, "no process of the IUT has it mapped any more")
