"""Test cases for an RPC server: the suite plays its clients."""

from conformance.iut import Iut
from conformance.runtime.rpc_server.tester import ABSENT, call

SMOKE = "rpc.response-form"


async def smoke(iut: Iut) -> None:
    """Check that the server answers a request with any response."""
    async with iut.session() as session:
        await call(session, 1, ABSENT)
