"""The smoke session: does the IUT start, and does it speak its side of the protocol at all?

If it does not, one message says what to do, and no test is run.
"""

import asyncio
import importlib
from collections.abc import Collection, Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conformance.iut import Iut
from conformance.running import other_role
from conformance.running.results import Result, conclude
from conformance.running.testbed import Testbed
from conformance.verdicts import Conclusion, NotExercised, Unreachable, Verdict

SMOKE = "smoke"
FIRST = 60  # bytes that are shown of what came


@dataclass(frozen=True)
class Smoke:
    """How a smoke session ended; ``reached``: the IUT could be started or reached at all.

    ``taken`` are names of the machine that this instance alone can have, where the session tells.
    """

    result: Result
    reached: bool
    taken: frozenset[str] = frozenset()

    @property
    def held(self) -> bool:
        return self.result.verdict == Verdict.PASS

    @property
    def violated(self) -> set[str]:
        """The requirements that what the IUT sent in it violates."""
        return {finding["requirement"] for finding in self.result.findings}


async def hold(testbed: Testbed, folder: Path) -> Smoke:
    """Hold a smoke session; its transcript goes into the report's folder.

    Raises ConfigurationError where the IUT cannot be reached as it is configured.
    """
    role = testbed.role
    package = importlib.import_module(role.package)
    decides = testbed.configuration.protocol.requirement(package.SMOKE)
    result = Result(SMOKE, "The IUT starts and speaks its role's side of the protocol", decides.id)
    iut = Iut(testbed, decides.id)
    error: Conclusion | None = None
    taken: Collection[str] | None = None
    try:
        taken = await _unless_other_role(iut, package.smoke(iut))
    except Conclusion as conclusion:
        error = await _never_started(iut) or conclusion
    if isinstance(error, Unreachable | NotExercised):
        error = await other_role.inverted(iut) or error
    error = other_role.spoken(iut) or error
    spoilt = any(session.judge.spoiled for session in iut.sessions)
    came = (event.data for session in iut.sessions for event in session.theirs if event.data)
    first = repr(next(came, b"")[:FIRST])
    hint, other = other_role.silent(iut), other_role.meant(iut) if error or spoilt else ""
    conclude(result, error, iut, decides, folder)
    if isinstance(error, Unreachable):
        # What has never taken part owes nothing, although its stream began and ended.
        result.findings.clear()
    if error is None and not spoilt:
        # Whatever else it did wrong is left to the tests.
        result.verdict = Verdict.PASS
    elif hint:
        result.detail += hint
    elif other:
        result.detail = f"{other}. {result.detail}"
    elif first != "b''" and first not in result.detail:
        shown = f"the first bytes that came: {first}"
        # What is wrong is read first, and these bytes may be all that is said of it.
        result.detail = f"{result.detail}; {shown}" if result.detail else shown
    return Smoke(result, not isinstance(error, Unreachable), frozenset(taken or ()))


async def _unless_other_role(
    iut: Iut, smoke: Coroutine[Any, Any, Collection[str] | None]
) -> Collection[str] | None:
    """What a smoke session returns; it ends early where the IUT plays the other role."""
    holding = asyncio.create_task(smoke)
    noticing = asyncio.create_task(other_role.noticed(iut))
    try:
        await asyncio.wait({holding, noticing}, return_when=asyncio.FIRST_COMPLETED)
        if not holding.done():
            raise noticing.result()
    finally:
        for task in (holding, noticing):
            task.cancel()
        await asyncio.gather(holding, noticing, return_exceptions=True)
    return holding.result()


async def _never_started(iut: Iut) -> Unreachable | None:
    """Where it ended without sending anything: does it also end when nothing is sent to it?

    Then it has never started; otherwise it has died of what it was sent. One that has connected has
    started, and may well end where nothing is sent to it.
    """
    said = any(event.data for session in iut.sessions for event in session.theirs)
    connected = not iut.role.serves and iut.testbed.transport in ("tcp", "unix")
    ended = bool(iut.sessions) and all(session.ended for session in iut.sessions)
    if said or connected or not ended:
        return None
    async with iut.instance() as instance:
        process = instance.process
        if process and await process.wait(iut.configuration.seconds("startup")):
            return Unreachable(f"it ends before it takes part{instance.describe_end()}")
    return None
