"""Test cases for an RPC client: the suite plays its server."""

from conformance.iut import Iut
from conformance.runtime.rpc_client.tester import calling
from conformance.verdicts import Violation

SMOKE = "rpc.request-form"


async def smoke(iut: Iut) -> None:
    """Check that the client connects. The tests check whether it can be operated."""
    async with calling(iut):
        pass


async def basis(iut: Iut) -> str:
    """Return the requirement that plain calls violate, or an empty string.

    Two simultaneous calls must each get their own result.
    """
    async with calling(iut) as caller:
        plan = (("rpc.success", 1, 1), ("rpc.matching", 2, -1), ("rpc.matching", 2, 1))
        for requirement, count, order in plan:
            # in the order of the requests, and in reverse order
            calls = sorted(await caller.calls(count), key=lambda call: call.request.event)
            for call in calls[::order]:
                await call.respond(None, call.number)
            for call in calls:
                try:
                    await caller.succeeds(call, call.number)
                except Violation as found:
                    return found.requirement or requirement
    return ""
