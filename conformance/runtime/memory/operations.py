"""Operations on the buffer of an arm: what each is given, and which fields it may change."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from conformance.harness.upper import Answer
from conformance.runtime.memory.buffer import Buffer
from conformance.runtime.memory.tester import Tester
from conformance.verdicts import NotExercised


@dataclass(frozen=True)
class Operation:
    """An operation: its arguments besides the buffer, and the fields that it may change."""

    name: str
    arguments: Mapping[str, Any]
    changes: tuple[str, ...] = ()

    def on(self, buffer: Buffer) -> dict[str, Any]:
        """All its arguments, on one buffer."""
        return {**buffer.arguments, **self.arguments}


GET_UPDATE = Operation("get_update", {}, ("control.update",))
"""It is the server's: an owner or a consumer may have it or not."""


async def run(tester: Tester, buffer: Buffer, operation: Operation) -> Answer:
    """Run an operation; its answer."""
    return await tester.ask(operation.name, **operation.on(buffer))


async def again(tester: Tester, buffer: Buffer, operation: Operation, _: int) -> None:
    """Run an operation, whichever time it is."""
    await run(tester, buffer, operation)


async def offered(
    tester: Tester, buffer: Buffer, operations: tuple[Operation, ...]
) -> list[Operation]:
    """Those of these operations that the IUT has, and get_update if it has that."""
    found: dict[str, bool] = tester.iut.memory.setdefault("offered", {})
    if GET_UPDATE.name not in found:
        try:
            found[GET_UPDATE.name] = (await run(tester, buffer, GET_UPDATE)).ok
        except NotExercised:
            found[GET_UPDATE.name] = False
    return [GET_UPDATE, *operations] if found[GET_UPDATE.name] else [*operations]
