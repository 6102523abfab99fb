"""Test cases for an RPC server: the suite plays its clients."""

from conformance.iut import Iut
from conformance.runtime.rpc_server.tester import ABSENT, call, disturbed, misanswered

SMOKE = "rpc.response-form"


async def smoke(iut: Iut) -> None:
    """Check that the server answers a request with any response."""
    async with iut.session() as session:
        await call(session, 1, ABSENT)


async def basis(iut: Iut) -> str:
    """Return the requirement that plain requests violate, or an empty string.

    Plain requests are sent one after another, each with its own id, and then while another client
    is connected.
    """
    return await misanswered(iut) or await disturbed(iut)
