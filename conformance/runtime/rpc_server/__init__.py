"""Test cases for an RPC server: the suite plays its clients."""

from conformance.iut import Iut
from conformance.runtime.rpc_server.tester import ABSENT, call, usual_procedure
from conformance.verdicts import Violation

SMOKE = "rpc.response-form"


async def smoke(iut: Iut) -> None:
    """Check that the server answers a request with any response.

    A server that ignores unknown procedures can still answer a known one.
    """
    async with iut.session() as session:
        try:
            await call(session, 1, ABSENT)
        except Violation:
            if session.ended or session.received:
                raise
            await call(session, 2, usual_procedure(iut))
