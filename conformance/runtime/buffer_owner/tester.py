"""The tester of an owner of buffers: each of its operations, and what it may change."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from conformance.runtime.memory.buffer import Buffer
from conformance.runtime.memory.tester import Tester, new_uid
from conformance.verdicts import NotExercised


@dataclass(frozen=True)
class Operation:
    """An operation on a buffer of an arm: its arguments, and the fields that it may change."""

    name: str
    arguments: Mapping[str, Any]
    changes: tuple[str, ...]


OPERATIONS: Mapping[str, Operation] = {
    operation.name: operation
    for operation in (
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
            {"uid": str(new_uid()), "params": ["angle", "light"], "delay": 123},
            ("control.uid", "control.subscription", "control.delay"),
        ),
        Operation("set_read", {"params": ["speed", "light"]}, ("control.read",)),
        Operation("get_read", {}, ("control.read",)),
        Operation("get_write", {}, ("control.write",)),
        Operation("get_update", {}, ("control.update",)),
        Operation("set_valid", {"valid": False}, ("valid",)),
    )
}


async def run(tester: Tester, buffer: Buffer, name: str) -> Any:
    """Run one of the operations on an arm; its answer."""
    arguments = {**buffer.arguments, **OPERATIONS[name].arguments}
    return await tester.ask(name, **arguments)


async def offered(tester: Tester, buffer: Buffer) -> Mapping[str, Operation]:
    """The operations that the owner has: get_update is the server's, and need not be its."""
    found: dict[str, bool] = tester.iut.memory.setdefault("offered", {})
    if "get_update" not in found:
        try:
            found["get_update"] = (await run(tester, buffer, "get_update")).ok
        except NotExercised:
            found["get_update"] = False
    return {name: o for name, o in OPERATIONS.items() if found.get(name, True)}
