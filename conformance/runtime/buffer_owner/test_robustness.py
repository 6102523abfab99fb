"""Tests of an owner's robustness: operations with invalid arguments."""

from typing import Any

from conformance.cases import check, requirement
from conformance.harness import memory
from conformance.iut import Iut
from conformance.runtime.buffer_owner.tester import change_connection
from conformance.runtime.memory.operations import OTHER_LENGTHS, check_partly_stored
from conformance.runtime.memory.tester import memory_tester, new_uid

ODD: dict[str, tuple[str, dict[str, Any]]] = {
    "an unknown parameter": ("set_data", {"values": {"angle": 0.5, "nowhere": 1}}),
    "text for a number": ("set_data", {"values": {"speed": "fast"}}),
}
NOTHING: tuple[tuple[str, dict[str, Any], str], ...] = (
    ("set_data", {"values": {}}, "read.timestamp"),
    ("set_read", {"params": []}, "control.read"),
)
"""Operations on no parameters, each with the field that it can change all the same."""


@requirement("robustness.odd-operations")
async def test_odd_operations(iut: Iut) -> None:
    """An invalid operation fails and changes nothing; the next operation succeeds."""
    async with memory_tester(iut) as tester:
        buffer = await tester.connect("arm")
        for what, (name, arguments) in ODD.items():
            before = await buffer.fill()
            answer = await tester.ask(name, **buffer.arguments, **arguments)
            refused = not answer.ok or bool(answer.warnings)
            check(refused, f"'{name}' with {what} to fail", "it succeeded")
            (await buffer.look()).check_only(before, ())
            await tester.check_operation("set_data", **buffer.arguments, values={"light": True})
            image = await buffer.look()
            image.check_fields({"read.params.light": True})
            image.check_only(before, {"read.params.light", "read.timestamp", "control.update"})


@requirement("robustness.odd-operations")
async def test_arrays_of_other_lengths(iut: Iut) -> None:
    """An array of wrong length is refused, or stored as far as it fits."""
    async with memory_tester(iut) as tester:
        buffer = await tester.connect("arm")
        for name, given in OTHER_LENGTHS:
            before = await buffer.fill()
            answer = await tester.ask("set_data", **buffer.arguments, values={name: given})
            check_partly_stored(answer, await buffer.look(), before, f"read.params.{name}", given)
            await tester.check_operation("set_data", **buffer.arguments, values={"angle": 0.5})


@requirement("robustness.odd-operations")
async def test_unknown_parameter_to_read(iut: Iut) -> None:
    """An unknown parameter in set_read is refused with all others, or ignored."""
    async with memory_tester(iut) as tester:
        buffer = await tester.connect("arm")
        before = await buffer.fill()
        await buffer.put({"control.read": 0})
        await tester.ask("set_read", **buffer.arguments, params=["angle", "nowhere"])
        image = await buffer.look()
        image.check_only(before, {"control.read"})
        bits = buffer.bits(["angle"])
        expected = f"{buffer.place('control.read')} to be 0 or {bits:#x}"
        check(image["control.read"] in (0, bits), expected, f"it is {image['control.read']:#x}")
        await tester.check_operation("set_data", **buffer.arguments, values={"angle": 0.5})


@requirement("robustness.odd-operations")
async def test_data_that_are_not_read(iut: Iut) -> None:
    """Data for a parameter that is only in the write block are refused or ignored."""
    async with memory_tester(iut) as tester:
        buffer = await tester.connect("arm")
        before = await buffer.fill()
        await tester.ask("set_data", **buffer.arguments, values={"target": 9.5})
        (await buffer.look()).check_only(before, {"read.timestamp", "control.update"})
        await tester.check_operation("set_data", **buffer.arguments, values={"angle": 0.5})
        (await buffer.look()).check_fields({"read.params.angle": 0.5})


@requirement("robustness.odd-operations")
async def test_connected_twice(iut: Iut) -> None:
    """A second connect of a connected peripheral does not affect the next disconnect."""
    async with memory_tester(iut) as tester:
        for type_ in ("arm", "panel"):
            uid = new_uid()
            buffer = await tester.connect(type_, uid)
            await tester.with_uid("connect", uid, type=type_)
            await change_connection(tester, buffer, uid, False)
            (await buffer.look()).check_fields({"valid": 0})


@requirement("robustness.odd-operations")
async def test_no_parameters(iut: Iut) -> None:
    """An operation on no parameters changes none, and the next operation succeeds."""
    async with memory_tester(iut) as tester:
        buffer = await tester.connect("arm")
        for name, arguments, field in NOTHING:
            before = await buffer.fill()
            await tester.ask(name, **buffer.arguments, **arguments)
            (await buffer.look()).check_only(before, {field})
            await tester.check_operation("set_data", **buffer.arguments, values={"angle": 0.5})
            (await buffer.look()).check_fields({"read.params.angle": 0.5})


@requirement("robustness.left-behind")
async def test_left_behind(iut: Iut) -> None:
    """A new owner works with a buffer that was left by an owner that crashed."""
    uid = new_uid()
    async with memory_tester(iut) as tester:
        buffer = await tester.connect("arm", uid)
        await buffer.fill()
        # The mutex is free: the specification leaves open if mutexes are robust.
        left = buffer.peek().data
    async with memory_tester(iut) as tester:
        tester.names.add(buffer.name)
        memory.leave(buffer.name, left)
        answer = await tester.with_uid("connect", uid, type="arm")
        expected = (
            f"success of connect although the buffer {buffer.name} was left by a crashed owner"
        )
        check(answer.ok, expected, f"it failed: {answer.why}")
        again = await tester.connect("arm", uid)
        await tester.check_operation("set_data", **again.arguments, values={"angle": 0.25})
        (await again.look()).check_fields({"read.params.angle": 0.25})


@requirement("robustness.odd-operations")
async def test_unknown_buffers(iut: Iut) -> None:
    """An operation on an unknown buffer or peripheral fails, and the next operation succeeds."""
    async with memory_tester(iut) as tester:
        buffer = await tester.connect("arm")
        for name in ("rt-arm-none", "", "../arm", "x" * 300):
            answer = await tester.ask("set_data", buffer=name, type="arm", values={"angle": 0.5})
            check(not answer.ok, f"set_data of {name[:20]!r} to fail", "it succeeded")
        answer = await tester.ask("connect", type="nothing", uid="1")
        check(not answer.ok, "connect of a type that is not in the catalog to fail", "it succeeded")
        # A peripheral that was never connected is disconnected anyway, so this can succeed.
        await tester.with_uid("disconnect", new_uid(), type="arm")
        await tester.check_operation("set_data", **buffer.arguments, values={"angle": 0.5})
