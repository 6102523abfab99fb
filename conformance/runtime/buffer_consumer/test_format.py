"""How a consumer takes buffers to be formed."""

from conformance.cases import in_one_loop, requirement
from conformance.iut import Iut
from conformance.runtime.buffer_consumer.tester import reads, set_value
from conformance.runtime.memory.samples import sample
from conformance.runtime.memory.tester import memory_tester
from conformance.verdicts import Violation

pytestmark = in_one_loop


@requirement("format.bitmaps")
async def test_every_bit(iut: Iut) -> None:
    """Each parameter that is written has the bit of its place in the catalog, up to the last."""
    async with memory_tester(iut) as tester:
        for type_ in ("arm", "latch"):
            buffer = await tester.make(type_)
            for index, param in enumerate(buffer.peripheral.params):
                if param.writeable:
                    await buffer.put({"control.write": 0})
                    await set_value(buffer, param.name, sample(param, index))
                    came = (await buffer.look())["control.write"]
                    if came != 1 << index:
                        place = buffer.place("control.write")
                        raise Violation(
                            f"{place} to be {1 << index:#06x} for {param.name}",
                            f"it is {came:#06x}",
                        )


@requirement("buffers.on-demand")
async def test_sees_what_is_there(iut: Iut) -> None:
    """Whatever another process puts into a buffer, the next look at it shows."""
    async with memory_tester(iut) as tester:
        buffer, other = await tester.make("arm"), await tester.make("arm")
        for number in range(1, 6):
            for name in ("angle", "ticks", "track", "touched"):
                value = sample(buffer.peripheral[name], number)
                await buffer.put({f"read.params.{name}": value})
                # What it cannot read at all it does not read too late.
                await reads(buffer, name, value, None if number > 1 else "get-value.value")
        await reads(other, "angle", (await other.look())["read.params.angle"])
