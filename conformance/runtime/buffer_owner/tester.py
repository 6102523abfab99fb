"""The operations of an owner of buffers, with arguments for an arm."""

from conformance.cases import check
from conformance.harness import memory
from conformance.runtime.memory.answers import check_own_bit
from conformance.runtime.memory.buffer import Buffer, Image
from conformance.runtime.memory.catalog import Parameter
from conformance.runtime.memory.operations import GET_UPDATE, Operation, run
from conformance.runtime.memory.samples import other_sample
from conformance.runtime.memory.tester import Tester
from conformance.verdicts import Violation

SET_VALID = Operation("set_valid", {"valid": False}, ("valid",))
"""The only operation that ignores the valid bit."""
CYCLE = Operation("cycle", {}, ("control.read", "control.write"))
"""A cycle of the device process, which an owner need not offer."""
OPTIONAL = (GET_UPDATE, CYCLE)
OPERATIONS = (
    Operation(
        "set_data",
        {"values": {"speed": -77, "track": [0.5, 1.5, -2.5], "light": False}},
        (
            *("read.params.speed", "read.params.track", "read.params.light"),
            *("read.timestamp", "control.update"),
        ),
    ),
    Operation(
        "set_sub",
        {"params": ["angle", "light"], "delay": 123},
        ("control.uid", "control.subscription", "control.delay"),
        of_device=True,
    ),
    Operation("set_read", {"params": ["speed", "light"]}, ("control.read",)),
    Operation("get_read", {}, ("control.read",)),
    Operation("get_write", {}, ("control.write",)),
)


async def change_connection(tester: Tester, buffer: Buffer, uid: int, whether: bool) -> None:
    """Connect a peripheral again, or disconnect it. Raises Violation unless its buffer stays."""
    operation = "connect" if whether else "disconnect"
    answer = await tester.with_uid(operation, uid, type=buffer.peripheral.name)
    check(answer.ok, f"the operation '{operation}' to succeed", f"it failed: {answer.why}")
    name = answer.result.get("buffer") if isinstance(answer.result, dict) else answer.result
    if whether and isinstance(name, str) and memory.inode(name) not in (None, buffer.object.inode):
        tester.names.add(name)
        expected = f"{buffer.name} as the buffer of a reconnected peripheral"
        came = "another object of that name" if name == buffer.name else name[:80]
        raise Violation(expected, f"it is {came}", "lifecycle.kept")
    buffer.check_kept()


async def check_aborts(
    tester: Tester, buffer: Buffer, operation: Operation, before: Image, which: str
) -> None:
    """Raise Violation if an operation on a buffer without valid bit does anything.

    An effect and a result are both violations.

    ``which`` completes "a buffer …".
    """
    answer = await run(tester, buffer, operation)
    (await buffer.look()).check_only(before, ())
    check(
        not (answer.ok and answer.result),
        f"no result of the operation '{operation.name}' on a buffer {which}",
        f"it answered {str(answer.result)[:200]}",
    )


async def set_alone(buffer: Buffer, param: Parameter) -> Image:
    """Set one parameter of a buffer whose bitmap is clear; return the image afterwards."""
    await buffer.put({"control.update": 0})
    present = (await buffer.look())[f"read.params.{param.name}"]
    values = {param.name: other_sample(param, present)}
    await buffer.tester.check_operation("set_data", **buffer.arguments, values=values)
    return await buffer.look()


async def check_own_bits(buffer: Buffer) -> None:
    """Raise Violation unless set_data gives each readable parameter its own bit."""
    seen: dict[int, str] = {}
    for param in buffer.peripheral.params:
        if param.readable:
            bits = int((await set_alone(buffer, param))["control.update"])
            check_own_bit(buffer.place("control.update"), bits, param.name, seen, "set-data.bits")
