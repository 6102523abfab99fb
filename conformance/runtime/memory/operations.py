"""Operations on the buffer of an arm: their arguments, and the fields they can change."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from conformance.harness.upper_tester import Answer
from conformance.runtime.memory.buffer import Buffer, Image
from conformance.runtime.memory.tester import Tester
from conformance.verdicts import NotExercised


@dataclass(frozen=True)
class Operation:
    """An operation: its arguments except the buffer, and the fields that it can change.

    With ``of_device``, the UID of the peripheral is an argument too.
    """

    name: str
    arguments: Mapping[str, Any]
    changes: tuple[str, ...] = ()
    of_device: bool = False

    def on(self, buffer: Buffer) -> dict[str, Any]:
        """Return all arguments, for one buffer."""
        uid = {"uid": buffer.tester.uid(buffer.uid)} if self.of_device else {}
        return {**buffer.arguments, **uid, **self.arguments}


GET_UPDATE = Operation("get_update", {}, ("control.update",))
"""An operation of the server; an owner or a consumer can offer it."""


async def run(tester: Tester, buffer: Buffer, operation: Operation) -> Answer:
    """Run an operation and return its answer."""
    return await tester.ask(operation.name, **operation.on(buffer))


OTHER_LENGTHS = (("track", [1.0, 2.0]), ("trim", [*range(1, 21)]))
"""By array parameter of an arm: too few elements, or more than fit before the next field."""


def check_partly_stored(
    answer: Answer, image: Image, before: Image, field: str, given: Sequence[Any]
) -> None:
    """Raise Violation unless an array of wrong length was refused or partly stored.

    The remaining elements keep their values or become zero. Apart from them, only the timestamp and
    the bitmap of the block can change.
    """
    if not answer.ok or (answer.warnings and image.raw(field) == before.raw(field)):
        image.check_only(before, ())
        return
    whole, block = before[field], field.partition(".")[0]
    kept, new = ([*given, *rest][: len(whole)] for rest in (whole[len(given) :], [0] * len(whole)))
    image.check_fields({field: new if image[field] == new else kept})
    bitmap = "control.update" if block == "read" else "control.write"
    image.check_only(before, {field, f"{block}.timestamp", bitmap})


async def run_again(tester: Tester, buffer: Buffer, operation: Operation, _: int) -> None:
    """Run an operation; the number of the run is ignored."""
    await run(tester, buffer, operation)


async def offered_operations(
    tester: Tester,
    buffer: Buffer,
    operations: tuple[Operation, ...],
    optional: tuple[Operation, ...] = (GET_UPDATE,),
) -> list[Operation]:
    """Return these operations, after the optional ones that the IUT offers."""
    found: dict[str, bool] = tester.iut.facts.setdefault("offered", {})
    for operation in optional:
        if operation.name not in found:
            try:
                found[operation.name] = (await run(tester, buffer, operation)).ok
            except NotExercised:
                found[operation.name] = False
    return [*(each for each in optional if found[each.name]), *operations]
