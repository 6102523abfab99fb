"""The tester of an owner of buffers: each of its operations, and what it may change."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from conformance.runtime.memory.buffer import Buffer
from conformance.runtime.memory.tester import Tester, new_uid


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
