"""Test cases for an RPC client: the suite plays its server."""

from conformance.iut import Iut
from conformance.runtime.rpc_client.tester import calling
from conformance.verdicts import Violation

SMOKE = "rpc.request-form"


async def smoke(iut: Iut) -> None:
    """It connects; whether it can be made to call is the business of the tests."""
    async with calling(iut):
        pass


async def basis(iut: Iut) -> str:
    """What it violates who does not give two calls that wait each its own result."""
    async with calling(iut) as caller:
        plan = (("rpc.success", 1, 1), ("rpc.matching", 2, -1), ("rpc.matching", 2, 1))
        for requirement, count, order in plan:
            # In the order in which they came, and in the reverse of it.
            calls = sorted(await caller.calls(count), key=lambda call: call.request.event)
            for call in calls[::order]:
                await call.respond(None, call.number)
            for call in calls:
                try:
                    await caller.succeeds(call, call.number)
                except Violation as found:
                    return found.requirement or requirement
    return ""
