"""Tests of the form of buffers that a consumer uses."""

from conformance.cases import requirement
from conformance.iut import Iut
from conformance.runtime.buffer_consumer.tester import check_reads, check_reads_now, set_value
from conformance.runtime.memory.answers import check_own_bit
from conformance.runtime.memory.bits import check_bitmap
from conformance.runtime.memory.buffer import Buffer
from conformance.runtime.memory.samples import other_sample, sample
from conformance.runtime.memory.tester import memory_tester
from conformance.verdicts import Violation


async def bits_of(buffer: Buffer, name: str) -> int:
    """Return the bitmap that set_value sets for one parameter."""
    await buffer.put({"control.write": 0})
    present = (await buffer.look())[f"write.params.{name}"]
    await set_value(buffer, name, other_sample(buffer.peripheral[name], present))
    return int((await buffer.look())["control.write"])


@requirement("format.bit-order")
async def test_order_of_bits(iut: Iut) -> None:
    """Each parameter's bit is its index in the catalog, or declared by the layout."""
    async with memory_tester(iut) as tester:
        for type_ in ("arm", "latch"):
            declared = (await tester.layout(type_)).bits
            buffer = await tester.make(type_)
            for index, param in enumerate(buffer.peripheral.params):
                if param.writeable:
                    bits = 1 << declared.get(param.name, index)
                    came = await bits_of(buffer, param.name)
                    names = [param.name]
                    check_bitmap(buffer, "control.write", bits, came, names, "set-value.bit")


@requirement("format.bitmaps")
async def test_every_bit(iut: Iut) -> None:
    """Each written parameter has its own bit, up to the last."""
    async with memory_tester(iut) as tester:
        for type_ in ("arm", "latch"):
            buffer = await tester.make(type_)
            seen: dict[int, str] = {}
            for param in buffer.peripheral.params:
                if param.writeable:
                    bits = await bits_of(buffer, param.name)
                    check_own_bit(
                        buffer.place("control.write"), bits, param.name, seen, "set-value.bit"
                    )


@requirement("format.bitmaps")
async def test_other_bitmaps(iut: Iut) -> None:
    """A bit that set_value sets in Write means the same parameter to get_update in Update."""
    async with memory_tester(iut) as tester:
        buffer = await tester.make("arm")
        for name in ("angle", "speed", "light"):
            bits = await bits_of(buffer, name)
            await buffer.put({"control.update": bits})
            answer = await tester.check_operation("get_update", **buffer.arguments)
            names = [*answer.result] if isinstance(answer.result, dict) else []
            # The bit has another meaning only if it means another parameter.
            about = None if names and name not in names else "get-update.values"
            expected = f"the bit {bits:#06x} of update to mean {name}, as in write"
            if names != [name]:
                raise Violation(expected, f"it answered {str(names)[:200]}", about)


@requirement("buffers.on-demand")
async def test_sees_what_is_there(iut: Iut) -> None:
    """A value that another process writes to a buffer is seen by the next read.

    The specification also allows a consumer that polls, which sees the value at its next poll.
    """
    async with memory_tester(iut) as tester:
        buffer, other = await tester.make("arm"), await tester.make("arm")
        for number in range(1, 6):
            for name in ("angle", "ticks", "track", "touched"):
                value = sample(buffer.peripheral[name], number)
                await buffer.put({f"read.params.{name}": value})
                await check_reads_now(buffer, name, value)
        await check_reads(other, "angle", (await other.look())["read.params.angle"])


@requirement("buffers.on-demand")
async def test_created_later(iut: Iut) -> None:
    """A buffer is read after it was created, although an earlier read has found nothing."""
    async with memory_tester(iut) as tester:
        name = tester.new_name("arm")
        for _ in range(2):
            await tester.ask("get_value", buffer=name, type="arm", param="angle")
        buffer = await tester.make("arm", name=name)

        async def is_read() -> bool:
            return (await tester.ask("get_value", **buffer.arguments, param="angle")).ok

        # A consumer that polls finds the buffer at its next poll.
        await tester.session.poll_until(is_read, "the value of a new buffer", "response")
        await check_reads(buffer, "angle", buffer.peek_at("read.params.angle"), None)
