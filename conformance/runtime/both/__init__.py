"""Test cases that owners and consumers of buffers have in common."""

from conformance.iut import Iut
from conformance.runtime.memory.buffer import Buffer
from conformance.runtime.memory.held_mutex import waits_for_mutex
from conformance.runtime.memory.operations import Operation, offered
from conformance.runtime.memory.tester import memory_tester
from conformance.verdicts import Violation

PLAIN = "plain.yaml"


async def locks_basis(buffer: Buffer, operations: tuple[Operation, ...]) -> None:
    """Raise Violation if an operation does not wait for the mutex."""
    tester = buffer.tester
    for operation in await offered(tester, buffer, operations):
        await waits_for_mutex(tester, buffer, operation.name, operation.on(buffer))


async def plain_basis(iut: Iut) -> None:
    """Raise Violation if the IUT does not understand a catalog without bounds.

    Most catalogs of the tests have no bounds, so that each test shows one error.
    """
    async with memory_tester(iut, None) as tester:
        try:
            await tester.understands(PLAIN)
        except Violation as found:
            about = found.requirement or "catalog.optional-keys"
            raise Violation(found.expected, found.came, about, found.event) from found
