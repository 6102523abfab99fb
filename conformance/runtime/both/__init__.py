"""Test cases that owners and consumers of buffers have in common."""

from conformance.iut import Iut
from conformance.runtime.memory.tester import memory_tester
from conformance.verdicts import Violation

PLAIN = "plain.yaml"


async def plain_basis(iut: Iut) -> None:
    """Raise Violation where a catalog without bounds is not understood.

    Most catalogs of the tests are such, so that each shows one thing.
    """
    async with memory_tester(iut, None) as tester:
        try:
            await tester.understands(PLAIN)
        except Violation as found:
            about = found.requirement or "catalog.optional-keys"
            raise Violation(found.expected, found.came, about, found.event) from found
