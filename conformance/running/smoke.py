"""The smoke session: does the IUT start, and does it speak its side of the protocol at all?

If it does not, one message says what to do, and no test runs.
"""

import asyncio
import importlib
from collections.abc import Collection, Coroutine
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from conformance.configuration import Configuration
from conformance.evidence import Result
from conformance.iut import Iut
from conformance.running import other_role
from conformance.running.results import conclude
from conformance.running.selection import SMOKE
from conformance.running.testbed import Testbed
from conformance.verdicts import Conclusion, NotExercised, Unreachable, Verdict

FIRST = 60  # bytes of the first output that a message shows: a line of a terminal
_PURPOSE = "The IUT starts and speaks its role's side of the protocol"


@dataclass(frozen=True)
class Smoke:
    """How a smoke session ended; ``reached``: the IUT could be started or reached at all.

    ``taken`` are names of the machine that only one instance can have at a time, as far as the
    session knows them. ``sent`` are the labels of the messages that our side sent, in order.
    """

    result: Result
    reached: bool
    taken: frozenset[str] = frozenset()
    sent: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        return self.result.verdict is Verdict.PASS

    @property
    def violated_requirements(self) -> set[str]:
        """The requirements that the IUT's messages violate."""
        return {finding.requirement for finding in self.result.findings}


def out_of_time_result(configuration: Configuration) -> Result:
    """The result of a smoke session that the end of the run's time cut off."""
    decides = configuration.protocol.schema_requirement
    detail = f"the run reached its --max-time of {configuration.max_time:g} s"
    return Result(SMOKE, _PURPOSE, decides, Verdict.INCONCLUSIVE, detail)


async def play(testbed: Testbed, folder: Path, reproduce: str = "") -> Smoke:
    """Play a smoke session; its transcript goes into the report's folder.

    Raises ConfigurationError if the IUT cannot be reached as it is configured.
    """
    role = testbed.role
    package = importlib.import_module(role.package)
    decides = testbed.configuration.protocol.requirement(package.SMOKE)
    iut = Iut(testbed, decides.id)
    error: Conclusion | None = None
    taken: Collection[str] | None = None
    try:
        taken = await _play_until_other_role(iut, package.smoke(iut))
    except Conclusion as conclusion:
        error = await _unstarted_conclusion(iut) or conclusion
    if isinstance(error, Unreachable | NotExercised):
        error = await other_role.other_role_message(iut) or error
    error = other_role.foreign_role_message(iut) or error
    spoilt = any(session.judge.spoiled for session in iut.sessions)
    first = repr(next((each.beginning for each in iut.sessions if each.beginning), b"")[:FIRST])
    sent = next((tuple(session.sent) for session in iut.sessions), ())
    hint = other_role.silence_hint(iut)
    other = ""
    if error or spoilt:
        other = other_role.foreign_stream_hint(iut) or await other_role.other_protocol_hint(iut)
    result = conclude(SMOKE, _PURPOSE, decides, error, iut, folder, reproduce=reproduce)
    if isinstance(error, Unreachable):
        # An IUT that never took part owes nothing, although its stream began and ended.
        result = replace(result, evidence=tuple(e for e in result.evidence if not e.is_against))
    detail = result.detail
    if error is None and not spoilt:
        # The tests decide whatever else the IUT did wrong.
        result = replace(result, verdict=Verdict.PASS)
    elif hint:
        detail += hint
    elif other:
        detail = f"{other}. {detail}"
    elif first != "b''" and first not in detail:
        shown = f"the first bytes that came: {first}"
        # These bytes can be all that is known of it.
        detail = f"{detail}; {shown}" if detail else shown
    reached = not isinstance(error, Unreachable)
    return Smoke(replace(result, detail=detail), reached, frozenset(taken or ()), sent)


async def _play_until_other_role(
    iut: Iut, smoke: Coroutine[Any, Any, Collection[str] | None]
) -> Collection[str] | None:
    """The result of a smoke session, which ends early if the IUT plays the other role."""
    playing = asyncio.create_task(smoke)
    noticing = asyncio.create_task(other_role.wait_for_other_role(iut))
    try:
        await asyncio.wait({playing, noticing}, return_when=asyncio.FIRST_COMPLETED)
        if not playing.done():
            raise noticing.result()
    finally:
        for task in (playing, noticing):
            task.cancel()
        await asyncio.gather(playing, noticing, return_exceptions=True)
    return playing.result()


async def _unstarted_conclusion(iut: Iut) -> Unreachable | None:
    """The conclusion that the IUT ends before it takes part, whatever it is sent.

    An IUT that has connected has started, and can lawfully end if it is sent nothing.
    """
    said = any(event.data for session in iut.sessions for event in session.iut_events)
    connected = not iut.role.serves and iut.testbed.transport in ("tcp", "unix")
    ended = bool(iut.sessions) and all(session.ended for session in iut.sessions)
    if said or connected or not ended:
        return None
    async with iut.instance() as instance:
        process = instance.process
        if process and await process.wait(iut.configuration.seconds("startup")):
            return Unreachable(f"it ends before it takes part{instance.describe_end()}")
    return None
