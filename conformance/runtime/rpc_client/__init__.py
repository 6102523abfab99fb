"""Test cases for an RPC client: the suite plays its server."""

from conformance.iut import Iut
from conformance.runtime.rpc_client.tester import open_caller

SMOKE = "rpc.request-form"


async def smoke(iut: Iut) -> None:
    """Check that the client connects. The tests check whether it can be operated."""
    async with open_caller(iut):
        pass
