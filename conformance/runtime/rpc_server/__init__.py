"""Test cases for an RPC server: the suite plays its clients."""

from conformance.iut import Iut
from conformance.runtime.rpc_server.tester import ABSENT, call, disturbed, misanswered

SMOKE = "rpc.response-form"


async def smoke(iut: Iut) -> None:
    """A request is answered, whatever by."""
    async with iut.session() as session:
        await call(session, 1, ABSENT)


async def basis(iut: Iut) -> str:
    """What it violates who does not answer plain requests, one after another, each with its id.

    Nor does another client change that.
    """
    return await misanswered(iut) or await disturbed(iut)
