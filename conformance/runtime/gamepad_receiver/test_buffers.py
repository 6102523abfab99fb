"""The buffers of a receiver: how they are made, guarded, kept and removed."""

import asyncio
from typing import Any

from conformance.cases import check, requirement
from conformance.iut import Iut
from conformance.runtime.gamepad_receiver.tester import AXES, TYPE, gamepad_tester, pad
from conformance.runtime.memory.buffer import RELEASED
from conformance.runtime.memory.held_mutex import frees_it_last
from conformance.verdicts import Violation


@requirement("lifecycle.created-valid")
async def test_first_message(iut: Iut) -> None:
    """The first message of a gamepad makes a buffer, which is valid, also where it is at rest."""
    async with gamepad_tester(iut) as tester:
        for index, first in (("0", pad(1, lx=0.5)), ("2", pad(1, lx=0.5)), ("1", pad())):
            await tester.play({index: first})
            buffer = await tester.made(index)
            left = tester.session.left("response")
            while not (await buffer.look())["valid"]:
                place = buffer.place("valid")
                check(left() > 0, f"{place} to be set", "it is not")


@requirement("lifecycle.created-valid")
async def test_back_again(iut: Iut) -> None:
    """A gamepad that is back is valid, whatever was made of its absence."""
    async with gamepad_tester(iut) as tester:
        for number in range(1, 4):
            values, back = {"lx": number / 8}, "lifecycle.created-valid" if number > 1 else None
            about = back or "receiver.axes"
            image = await tester.plays({"0": pad(1, lx=number / 8)}, "0", values, about)
            image.is_valid()
            await tester.plays({"1": pad(1, lx=number / 8)}, "1", values, about)
            await tester.play({})


@requirement("buffers.shared-memory")
async def test_object(iut: Iut) -> None:
    """The buffer is an object under /dev/shm that is as long as its layout says."""
    async with gamepad_tester(iut) as tester:
        await tester.play({"0": pad(1, lx=0.5)})
        buffer = await tester.made("0")
        size = buffer.layout.size
        came = f"it has {buffer.object.size}"
        check(buffer.object.size >= size, f"{buffer.name} to have {size} bytes", came)


@requirement("buffers.one-each")
async def test_one_buffer_each(iut: Iut) -> None:
    """A message about one gamepad changes no other, except that it may be taken for gone."""
    async with gamepad_tester(iut) as tester:
        before = await tester.plays({"1": pad(3, ly=0.5)}, "1", {"ly": 0.5})
        for number in range(5):
            await tester.plays({"0": pad(number, lx=number / 8)}, "0", {"lx": number / 8})
        (await before.buffer.look()).only(before, {"valid"})


@requirement("operations.nothing-else")
async def test_nothing_else(iut: Iut) -> None:
    """A message changes the parameters and the timestamp of the read block, and nothing else."""
    async with gamepad_tester(iut) as tester:
        await tester.plays({"0": pad(1, lx=0.5)}, "0", {"lx": 0.5})
        buffer = await tester.made("0")
        names = [f"read.params.{param.name}" for param in tester.catalog[TYPE].params]
        fields = {} if "write.timestamp" not in buffer.layout.fields else {"write.timestamp": 5.0}
        before = await buffer.put(fields)
        image = await tester.plays({"0": pad(6, ly=-0.5)}, "0", {"ly": -0.5})
        image.only(before, {*names, "read.timestamp"})


@requirement("operations.mutex")
async def test_waits_for_the_mutex(iut: Iut) -> None:
    """While the tester holds the mutex, a message changes nothing; afterwards one does."""
    async with gamepad_tester(iut) as tester:
        await tester.plays({"0": pad(1, lx=0.5)}, "0", {"lx": 0.5})
        buffer = await tester.made("0")
        async with buffer.held():
            before = buffer.peek()
            await tester.play({"0": pad(2, lx=-0.5)})
            # While it waits for the mutex it may answer nothing, so that no event ends this.
            await asyncio.sleep(tester.session.seconds("quiet"))
            buffer.peek().only(before, ())
        try:
            await tester.plays({"0": pad(2, lx=-0.25)}, "0", {"lx": -0.25})
        except Violation as stuck:
            # It has waited, and does not go on.
            raise Violation(stuck.expected, stuck.came, "format.mutex", stuck.event) from stuck


@requirement("operations.mutex")
async def test_frees_the_mutex_last(iut: Iut) -> None:
    """All that a message changes is there when the mutex is free again."""
    async with gamepad_tester(iut) as tester:
        await tester.plays({"0": pad(1, lx=0.5)}, "0", {"lx": 0.5})
        buffer = await tester.made("0")
        values = {f"read.params.{axis}": -0.5 for axis in AXES}
        values |= {name: 1.0 for name in buffer.layout.fields if name == "read.timestamp"}

        async def play(number: int) -> None:
            await tester.play({"0": pad(number, **dict.fromkeys(AXES, number / 256))})

        await frees_it_last(buffer, values, play)


@requirement("format.mutex")
async def test_mutex_between_processes(iut: Iut) -> None:
    """Who waits for a mutex goes on once another process has unlocked it, whichever buffer's."""

    def both(lx: float) -> dict[str, Any]:
        # A gamepad that a message does not have may be taken for one that is gone.
        return {index: pad(1, lx=lx) for index in ("0", "1")}

    async with gamepad_tester(iut) as tester:
        for index in ("0", "1"):
            await tester.plays(both(0.5), index, {"lx": 0.5})
            (await tester.made(index)).shared()
        for index, lx in (("0", 0.75), ("1", -0.75), ("0", -0.5)):
            async with (await tester.made(index)).held():
                await tester.play(both(lx))
                # Until it waits for the mutex, which nothing tells.
                await asyncio.sleep(tester.session.seconds("quiet"))
            # It may have given that one up; the next one counts.
            await tester.plays(both(lx / 2), index, {"lx": lx / 2}, None)


@requirement("operations.mutex-released")
async def test_mutex_is_free_afterwards(iut: Iut) -> None:
    """After a message the mutex is free, whether its values are proper, clamped or absent."""
    async with gamepad_tester(iut) as tester:
        await tester.plays({"0": pad(1, lx=0.5)}, "0", {"lx": 0.5})
        buffer = await tester.made("0")
        odd = [pad(1, lx=9.0), {**pad(), "ly": "up"}, {**pad(), "btn": None}, {"btn": 1}]
        for number, one in enumerate(odd, 1):
            await tester.play({"0": one})
            try:
                await tester.plays({"1": pad(1, lx=number / 8)}, "1", {"lx": number / 8})
                await buffer.look()
                await tester.plays({"0": pad(1, lx=number / 4)}, "0", {"lx": number / 4})
            except Violation as found:
                if found.requirement == RELEASED:
                    raise
                # What it makes of the odd one is another matter.
                about, came = "receiver.odd-messages", found.came
                raise Violation(found.expected, came, about, found.event) from found


@requirement("lifecycle.kept")
async def test_kept(iut: Iut) -> None:
    """Message after message the buffer is the same, also after some without the gamepad."""
    async with gamepad_tester(iut) as tester:
        await tester.plays({"0": pad(1, lx=0.5)}, "0", {"lx": 0.5})
        buffer = await tester.made("0")
        for number in range(30):
            lx = number / 32
            others = {"1": pad(number, lx=lx)} if number % 3 else {}
            await tester.play(others)
            await tester.plays({"0": pad(lx=lx), **others}, "0", {"lx": lx})
            again = await tester.made("0")
            check(
                again is buffer,
                f"{buffer.name} to stay the buffer of the gamepad 0",
                f"it is {again.name} (inode {again.object.inode}) now",
            )


@requirement("lifecycle.removed-at-exit")
async def test_removed_at_exit(iut: Iut) -> None:
    """Once the receiver has ended, no buffer is left."""
    async with gamepad_tester(iut) as tester:
        await tester.play({index: pad(**dict.fromkeys(AXES, 0.5)) for index in ("0", "5")})
        buffers = [await tester.made(index) for index in ("0", "5")]
        await tester.unlinks(buffers)
