"""Test cases for an RPC client: the suite plays its server."""

from conformance.iut import Iut
from conformance.runtime.rpc_client.tester import calling

SMOKE = "rpc.request-form"


async def smoke(iut: Iut) -> None:
    """It connects; whether it can be made to call is the business of the tests."""
    async with calling(iut):
        pass
