"""Tests of a receiver's buffers: creation, mutex, lifetime and removal."""

import asyncio
from typing import Any

from conformance.cases import check, requirement
from conformance.iut import Iut
from conformance.runtime.gamepad_receiver.tester import AXES, TYPE, gamepad_tester, pad
from conformance.runtime.memory.buffer import RELEASED
from conformance.runtime.memory.hold_mutex import check_releases_last
from conformance.verdicts import Violation


@requirement("lifecycle.created-valid")
async def test_first_message(iut: Iut) -> None:
    """The first message of a gamepad, even at rest, creates a valid buffer."""
    async with gamepad_tester(iut) as tester:
        for index, first in (("0", pad(1, lx=0.5)), ("2", pad(1, lx=0.5)), ("1", pad())):
            await tester.play({index: first})
            buffer = await tester.expect_buffer(index)
            left = tester.session.countdown("response")
            while not (await buffer.look())["valid"]:
                place = buffer.place("valid")
                check(left() > 0, f"{place} to be set", "it is clear")


@requirement("lifecycle.created-valid")
async def test_back_again(iut: Iut) -> None:
    """A gamepad that reappears is valid, even if its absence made it invalid."""
    async with gamepad_tester(iut) as tester:
        for number in range(1, 4):
            for index in "01":
                lx = number / 8
                try:
                    image = await tester.play_and_expect({index: pad(1, lx=lx)}, index, {"lx": lx})
                except Violation as missing:
                    buffer = await tester.buffer(index)
                    if buffer and not (await buffer.look())["valid"]:
                        # The buffer is still invalid, so the receiver does not write to it.
                        missing.requirement = None
                    raise
                image.check_valid()
            await tester.play({})


@requirement("buffers.shared-memory")
async def test_object(iut: Iut) -> None:
    """The buffer is under /dev/shm, and at least as large as its layout."""
    async with gamepad_tester(iut) as tester:
        await tester.play({"0": pad(1, lx=0.5)})
        buffer = await tester.expect_buffer("0")
        size = buffer.layout.size
        came = f"it has {buffer.object.size}"
        check(buffer.object.size >= size, f"{buffer.name} to have {size} bytes", came)


@requirement("buffers.one-each")
async def test_one_buffer_each(iut: Iut) -> None:
    """New values of one gamepad do not change another."""
    same = {"1": pad(3, ly=0.5)}
    async with gamepad_tester(iut) as tester:
        before = await tester.play_and_expect(same, "1", {"ly": 0.5})
        for number in range(5):
            pads = {"0": pad(number, lx=number / 8), **same}
            await tester.play_and_expect(pads, "0", {"lx": number / 8}, None)
        after = await before.buffer.look()
        after.check_only(before, {"valid", "read.timestamp"})
        await tester.play_and_expect({"0": pad(lx=-0.5)}, "0", {"lx": -0.5}, None)
        alone = await before.buffer.look()
        # The receiver can put a gamepad to rest that is not in a message.
        if alone["read.params.ly"] == 0.5:
            alone.check_only(after, {"valid"})


@requirement("operations.nothing-else")
async def test_nothing_else(iut: Iut) -> None:
    """A message changes only the parameters and the timestamp of the read block."""
    async with gamepad_tester(iut) as tester:
        await tester.play_and_expect({"0": pad(1, lx=0.5)}, "0", {"lx": 0.5})
        buffer = await tester.expect_buffer("0")
        names = [f"read.params.{param.name}" for param in tester.catalog[TYPE].params]
        fields = {} if "write.timestamp" not in buffer.layout.fields else {"write.timestamp": 5.0}
        before = await buffer.put(fields)
        image = await tester.play_and_expect({"0": pad(6, ly=-0.5)}, "0", {"ly": -0.5})
        image.check_only(before, {*names, "read.timestamp"})


@requirement("operations.mutex")
async def test_waits_for_the_mutex(iut: Iut) -> None:
    """A message changes nothing while the tester holds the mutex; later messages do."""
    async with gamepad_tester(iut) as tester:
        await tester.play_and_expect({"0": pad(1, lx=0.5)}, "0", {"lx": 0.5})
        buffer = await tester.expect_buffer("0")
        async with buffer.hold():
            before = buffer.peek()
            await tester.play({"0": pad(2, lx=-0.5)})
            # The receiver may answer nothing while it waits for the mutex, so no event can end this
            # wait.
            await asyncio.sleep(tester.session.seconds("quiet"))
            buffer.peek().check_only(before, ())
        try:
            await tester.play_and_expect({"0": pad(2, lx=-0.25)}, "0", {"lx": -0.25})
        except Violation as stuck:
            # The receiver has waited, but does not continue.
            stuck.requirement = "format.mutex"
            raise


@requirement("operations.mutex")
async def test_frees_the_mutex_last(iut: Iut) -> None:
    """All changes of a message are complete when the mutex is released."""
    async with gamepad_tester(iut) as tester:
        await tester.play_and_expect({"0": pad(1, lx=0.5)}, "0", {"lx": 0.5})
        buffer = await tester.expect_buffer("0")
        values = {f"read.params.{axis}": -0.5 for axis in AXES}
        values |= {name: 1.0 for name in buffer.layout.fields if name == "read.timestamp"}

        async def play(number: int) -> None:
            await tester.play({"0": pad(number, **dict.fromkeys(AXES, number / 256))})

        await check_releases_last(buffer, values, play)


@requirement("format.mutex")
async def test_mutex_between_processes(iut: Iut) -> None:
    """A receiver that waits for a mutex continues after another process unlocks it."""

    def both(lx: float) -> dict[str, Any]:
        # The receiver can treat a gamepad that is not in a message as disconnected.
        return {index: pad(1, lx=lx) for index in ("0", "1")}

    async with gamepad_tester(iut) as tester:
        for index in ("0", "1"):
            await tester.play_and_expect(both(0.5), index, {"lx": 0.5})
            (await tester.expect_buffer(index)).check_shared()
        for index, lx in (("0", 0.75), ("1", -0.75), ("0", -0.5)):
            async with (await tester.expect_buffer(index)).hold():
                await tester.play(both(lx))
                # Time for the receiver to wait for the mutex; no event shows this.
                await asyncio.sleep(tester.session.seconds("quiet"))
            # The receiver can have dropped the first message; the next message counts.
            await tester.play_and_expect(both(lx / 2), index, {"lx": lx / 2}, None)


@requirement("operations.mutex-released")
async def test_mutex_is_free_afterwards(iut: Iut) -> None:
    """After a message the mutex is free, for correct, clamped and missing values."""
    async with gamepad_tester(iut) as tester:
        await tester.play_and_expect({"0": pad(1, lx=0.5)}, "0", {"lx": 0.5})
        buffer = await tester.expect_buffer("0")
        odd = [pad(1, lx=9.0), {**pad(), "ly": "up"}, {**pad(), "btn": None}, {"btn": 1}]
        for number, one in enumerate(odd, 1):
            await tester.play({"0": one})
            try:
                await tester.play_and_expect({"1": pad(1, lx=number / 8)}, "1", {"lx": number / 8})
                await buffer.look()
                await tester.play_and_expect({"0": pad(1, lx=number / 4)}, "0", {"lx": number / 4})
            except Violation as found:
                if found.requirement != RELEASED:
                    # The handling of the odd message itself is another requirement.
                    found.requirement = "receiver.odd-messages"
                raise


@requirement("lifecycle.kept")
async def test_kept(iut: Iut) -> None:
    """The buffer stays the same after many messages, some without the gamepad."""
    async with gamepad_tester(iut) as tester:
        await tester.play_and_expect({"0": pad(1, lx=0.5)}, "0", {"lx": 0.5})
        buffer = await tester.expect_buffer("0")
        for number in range(30):
            lx = number / 32
            others = {"1": pad(number, lx=lx)} if number % 3 else {}
            await tester.play(others)
            await tester.play_and_expect({"0": pad(lx=lx), **others}, "0", {"lx": lx})
            again = await tester.expect_buffer("0")
            check(
                again is buffer,
                f"{buffer.name} to stay the buffer of the gamepad 0",
                f"it is {again.name} (inode {again.object.inode}) now",
            )


@requirement("lifecycle.removed-at-exit")
async def test_removed_at_exit(iut: Iut) -> None:
    """After the receiver has exited, no buffer is left."""
    async with gamepad_tester(iut) as tester:
        await tester.play({index: pad(**dict.fromkeys(AXES, 0.5)) for index in ("0", "5")})
        buffers = [await tester.expect_buffer(index) for index in ("0", "5")]
        await tester.check_unlinks(buffers)
