"""The tester of operations that take what a bitmap says, and clear it."""

from conformance.cases import check
from conformance.iut import Iut
from conformance.runtime.memory.answers import answers
from conformance.runtime.memory.samples import extremes, sample
from conformance.runtime.memory.tester import memory_tester


async def takes(iut: Iut, operation: str, block: str) -> None:
    """An operation takes the values of the bits that are set, and of no others."""
    bitmap = f"control.{operation.removeprefix('get_')}"
    async with memory_tester(iut) as tester:
        buffer = await tester.ready("arm")
        own = ["temperature"] if block == "read" else ["target", "mode"]
        shared = [
            "angle",
            "speed",
            "power",
            "floor",
            "ratio",
            "big",
            "huge",
            "grip",
            "trim",
            "track",
        ]
        every = [*shared, *own, "light"]
        asked: tuple[list[str], ...] = (every, ["light"], [own[-1], "track"], ["angle"], [])
        given = [{n: sample(buffer.peripheral[n], 5 + i) for n in ns} for i, ns in enumerate(asked)]
        for values in (*given, {name: extremes(buffer.peripheral[name])[0] for name in every}):
            fields = {f"{block}.params.{name}": value for name, value in values.items()}
            await buffer.put({**fields, bitmap: buffer.bits(values)})
            answer = await tester.means(operation, **buffer.arguments)
            answers(buffer.peripheral, values, answer.result or {}, f"the operation '{operation}'")


async def clears(iut: Iut, operation: str) -> None:
    """An operation clears its bitmap, from the first bit to the last; the next finds nothing."""
    field = f"control.{operation.removeprefix('get_')}"
    async with memory_tester(iut) as tester:
        buffer = await tester.ready("arm")
        await buffer.fill()
        for names in (["angle", "light"], ["light"], ["angle", "speed", "trim", "track"]):
            await buffer.put({field: buffer.bits(names)})
            await tester.means(operation, **buffer.arguments)
            (await buffer.look()).holds({field: 0})
        again = await tester.means(operation, **buffer.arguments)
        check(
            not again.result,
            f"the operation '{operation}' to find nothing where it has just been run",
            f"it answered {str(again.result)[:200]}",
        )
