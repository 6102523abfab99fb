"""What an owner survives: operations that ask for what there is not."""

from typing import Any

from conformance.cases import check, requirement
from conformance.harness import memory
from conformance.iut import Iut
from conformance.runtime.memory.operations import OTHER_LENGTHS, as_far_as_it_goes
from conformance.runtime.memory.tester import memory_tester, new_uid

ODD: dict[str, tuple[str, dict[str, Any]]] = {
    "an unknown parameter": ("set_data", {"values": {"angle": 0.5, "nowhere": 1}}),
    "text for a number": ("set_data", {"values": {"speed": "fast"}}),
}


@requirement("robustness.odd-operations")
async def test_odd_operations(iut: Iut) -> None:
    """An operation that cannot be done fails and changes nothing; the next one succeeds."""
    async with memory_tester(iut) as tester:
        buffer = await tester.connect("arm")
        for what, (name, arguments) in ODD.items():
            before = await buffer.fill()
            answer = await tester.ask(name, **buffer.arguments, **arguments)
            refused = not answer.ok or bool(answer.warnings)
            check(refused, f"'{name}' with {what} to fail", "it succeeded")
            (await buffer.look()).only(before, ())
            await tester.tested("set_data", **buffer.arguments, values={"angle": 0.5})


@requirement("robustness.odd-operations")
async def test_arrays_of_other_lengths(iut: Iut) -> None:
    """An array that is too short or too long is refused, or set as far as it goes."""
    async with memory_tester(iut) as tester:
        buffer = await tester.connect("arm")
        for name, given in OTHER_LENGTHS:
            before = await buffer.fill()
            answer = await tester.ask("set_data", **buffer.arguments, values={name: given})
            as_far_as_it_goes(answer, await buffer.look(), before, f"read.params.{name}", given)
            await tester.tested("set_data", **buffer.arguments, values={"angle": 0.5})


@requirement("robustness.odd-operations")
async def test_unknown_parameter_to_read(iut: Iut) -> None:
    """An unknown parameter to read is refused with the others, or passed over."""
    async with memory_tester(iut) as tester:
        buffer = await tester.connect("arm")
        before = await buffer.fill()
        await buffer.put({"control.read": 0})
        await tester.ask("set_read", **buffer.arguments, params=["angle", "nowhere"])
        image = await buffer.look()
        image.only(before, {"control.read"})
        bits = buffer.bits(["angle"])
        expected = f"{buffer.place('control.read')} to be 0 or {bits:#x}"
        check(image["control.read"] in (0, bits), expected, f"it is {image['control.read']:#x}")
        await tester.tested("set_data", **buffer.arguments, values={"angle": 0.5})


@requirement("robustness.left-behind")
async def test_left_behind(iut: Iut) -> None:
    """Where an owner that died has left a buffer, the next one makes one that works."""
    uid = new_uid()
    async with memory_tester(iut) as tester:
        buffer = await tester.connect("arm", uid)
        await buffer.fill()
        # Its mutex is free: whether that of an owner which dies with it is robust, is open.
        left = buffer.peek().data
    async with memory_tester(iut) as tester:
        tester.names.add(buffer.name)
        memory.leave(buffer.name, left)
        answer = await tester.with_uid("connect", uid, type="arm")
        expected = f"a peripheral to be connected whose buffer {buffer.name} was left behind"
        check(answer.ok, expected, f"it failed: {answer.why}")
        again = await tester.connect("arm", uid)
        await tester.tested("set_data", **again.arguments, values={"angle": 0.25})
        (await again.look()).holds({"read.params.angle": 0.25})


@requirement("robustness.odd-operations")
async def test_unknown_buffers(iut: Iut) -> None:
    """An operation on a buffer that does not exist fails, and the next one succeeds."""
    async with memory_tester(iut) as tester:
        buffer = await tester.connect("arm")
        for name in ("rt-arm-none", "", "../arm", "x" * 300):
            answer = await tester.ask("set_data", buffer=name, type="arm", values={"angle": 0.5})
            check(not answer.ok, f"set_data of {name[:20]!r} to fail", "it succeeded")
        answer = await tester.ask("connect", type="nothing", uid="1")
        check(not answer.ok, "to connect what is not in the catalog to fail", "it succeeded")
        await tester.tested("set_data", **buffer.arguments, values={"angle": 0.5})
