"""Tests of a buffer's life: created at the first connect, kept until exit."""

from conformance.cases import check, requirement
from conformance.iut import Iut
from conformance.runtime.buffer_owner.tester import change_connection
from conformance.runtime.memory.contention import MANY_USES
from conformance.runtime.memory.tester import memory_tester, new_uid

RECONNECTS = 100


@requirement("lifecycle.created-valid")
async def test_first_connect(iut: Iut) -> None:
    """The first connect of a peripheral of any type creates a valid buffer."""
    async with memory_tester(iut) as tester:
        for type_ in tester.catalog:
            buffer = await tester.connect(type_)
            (await buffer.look()).check_valid()


@requirement("lifecycle.disconnect")
async def test_disconnect(iut: Iut) -> None:
    """The valid bit follows hundreds of connects and disconnects; other buffers stay valid."""
    most = RECONNECTS if "connect" in iut.configuration.hooks else MANY_USES
    async with memory_tester(iut) as tester:
        uid, number = new_uid(), 0
        buffer, other = await tester.connect("arm", uid), await tester.connect("arm")
        left = tester.session.countdown("response")
        while number < 2 * RECONNECTS or (number < 2 * most and left() > 0):
            wanted = number % 2 == 1
            await change_connection(tester, buffer, uid, wanted)
            # The first six changes are checked one by one, later ones rarely, to be fast.
            if number < 6 or number % RECONNECTS > RECONNECTS - 3:
                came = (await buffer.look())["valid"]
                check(
                    bool(came) == wanted,
                    f"{buffer.place('valid')} to be {'set' if wanted else 'clear'}",
                    f"it is {came:#04x} after {number + 1} changes",
                )
                (await other.look()).check_valid()
            number += 1


@requirement("lifecycle.kept")
async def test_kept(iut: Iut) -> None:
    """A hundred connects and disconnects keep the same object and the same name."""
    async with memory_tester(iut) as tester:
        uid = new_uid()
        buffer = await tester.connect("arm", uid)
        for number in range(RECONNECTS):
            await change_connection(tester, buffer, uid, False)
            if number in (0, 1, RECONNECTS - 1):
                buffer.peek()
            again = await tester.connect("arm", uid)
            check(
                again.object.inode == buffer.object.inode,
                f"{buffer.name} as the buffer of a reconnected peripheral",
                f"it is {again.name} (inode {again.object.inode})",
            )
            again.object.close()
            tester.buffers.remove(again)
        # The peripheral is connected: a second connect can fail, but makes no other buffer.
        await tester.with_uid("connect", uid, type="arm")
        buffer.check_kept()
        buffer.peek()


@requirement("lifecycle.kept")
async def test_kept_while_others_come(iut: Iut) -> None:
    """A reconnected peripheral has its old buffer, even if another one has connected."""
    async with memory_tester(iut) as tester:
        for type_ in ("arm", "panel"):
            uid = new_uid()
            buffer = await tester.connect(type_, uid)
            await change_connection(tester, buffer, uid, False)
            for other in ("arm", "panel"):
                await tester.connect(other)
            buffer.check_kept()
            await change_connection(tester, buffer, uid, True)


@requirement("lifecycle.views-stay")
async def test_views_stay(iut: Iut) -> None:
    """A view that was opened earlier shows new data after a reconnect."""
    async with memory_tester(iut) as tester:
        for type_, name, value in (("arm", "angle", 0.25), ("panel", "level", 17)):
            uid = new_uid()
            buffer = await tester.connect(type_, uid)
            await buffer.fill()
            await change_connection(tester, buffer, uid, False)
            await change_connection(tester, buffer, uid, True)
            await tester.check_operation("set_data", **buffer.arguments, values={name: value})
            image = await buffer.look()
            image.check_fields({f"read.params.{name}": value})
            image.check_valid()


@requirement("lifecycle.removed-at-exit")
async def test_removed_at_exit(iut: Iut) -> None:
    """After the owner has exited, no buffer is left, for connected and disconnected peripherals."""
    async with memory_tester(iut) as tester:
        uid = new_uid()
        buffers = [
            await tester.connect("arm"),
            await tester.connect("panel"),
            await tester.connect("arm", uid),
        ]
        await change_connection(tester, buffers[2], uid, False)
        await tester.check_unlinks(buffers)
