"""The smoke session: checks that the IUT starts and speaks its side of the protocol.

If the smoke session fails, one message says what to do, and no test runs.
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

FIRST_BYTES = 60  # bytes of the first output that a message shows: a line of a terminal
_PURPOSE = "The IUT starts and speaks its role's side of the protocol"


@dataclass(frozen=True)
class Smoke:
    """How a smoke session ended.

    - ``reached``: the IUT could be started or reached.
    - ``exclusive_names``: the known names on this machine that two instances cannot share.
    - ``sent``: the labels of the messages that our side sent, in order.
    """

    result: Result
    reached: bool
    exclusive_names: frozenset[str] = frozenset()
    sent: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        return self.result.verdict is Verdict.PASS

    @property
    def violated_requirements(self) -> set[str]:
        """The requirements that the IUT's messages violate."""
        return {finding.requirement for finding in self.result.findings}


def out_of_time_result(configuration: Configuration) -> Result:
    """The result of a smoke session that the time limit of the run cancelled."""
    decides = configuration.protocol.schema_requirement
    detail = f"the run reached its --max-time of {configuration.max_time:g} s"
    return Result(SMOKE, _PURPOSE, decides, Verdict.INCONCLUSIVE, detail)


async def play(testbed: Testbed, folder: Path, reproduce: str = "") -> Smoke:
    """Play a smoke session; its transcript goes into the report's folder.

    Raises ConfigurationError if the configuration does not let the suite reach the IUT.
    """
    role = testbed.role
    package = importlib.import_module(role.package)
    decides = testbed.configuration.protocol.requirement(package.SMOKE)
    iut = Iut(testbed, decides.id)
    error: Conclusion | None = None
    names: Collection[str] | None = None
    try:
        names = await _play_until_other_role(iut, package.smoke(iut))
    except Conclusion as conclusion:
        error = await _unstarted_conclusion(iut) or conclusion
    if isinstance(error, Unreachable | NotExercised):
        error = await other_role.other_role_message(iut) or error
    error = other_role.foreign_role_message(iut) or error
    spoiled = any(session.judge.spoiled for session in iut.sessions)
    beginnings = (each.beginning for each in iut.sessions if each.beginning)
    first = repr(next(beginnings, b"")[:FIRST_BYTES])
    sent = next((tuple(session.sent) for session in iut.sessions), ())
    hint = other_role.silence_hint(iut)
    other = ""
    if error or spoiled:
        other = other_role.foreign_stream_hint(iut) or await other_role.other_protocol_hint(iut)
    result = conclude(SMOKE, _PURPOSE, decides, error, iut, folder, reproduce=reproduce)
    if isinstance(error, Unreachable):
        # An IUT that never took part violates nothing, although its stream began and ended.
        result = replace(result, evidence=tuple(e for e in result.evidence if not e.is_against))
    detail = result.detail
    if error is None and not spoiled:
        # The tests decide all other violations.
        result = replace(result, verdict=Verdict.PASS)
    elif hint:
        detail += hint
    elif other:
        detail = f"{other}. {detail}"
    elif first != "b''" and first not in detail:
        shown = f"the first bytes that came: {first}"
        detail = f"{detail}; {shown}" if detail else shown
    reached = not isinstance(error, Unreachable)
    return Smoke(replace(result, detail=detail), reached, frozenset(names or ()), sent)


async def _play_until_other_role(
    iut: Iut, smoke: Coroutine[Any, Any, Collection[str] | None]
) -> Collection[str] | None:
    """The result of a smoke session, which ends early if the IUT plays another role."""
    playing = asyncio.create_task(smoke)
    detecting = asyncio.create_task(other_role.wait_for_other_role(iut))
    try:
        await asyncio.wait({playing, detecting}, return_when=asyncio.FIRST_COMPLETED)
        if not playing.done():
            raise detecting.result()
    finally:
        for task in (playing, detecting):
            task.cancel()
        await asyncio.gather(playing, detecting, return_exceptions=True)
    return playing.result()


async def _unstarted_conclusion(iut: Iut) -> Unreachable | None:
    """Return the conclusion that the IUT exits before it takes part, or None.

    A fresh instance, which receives nothing, confirms this. An IUT that has connected has started,
    and is allowed to exit if it receives nothing.
    """
    has_sent = any(event.data for session in iut.sessions for event in session.iut_events)
    connected = not iut.role.serves and iut.testbed.transport in ("tcp", "unix")
    ended = bool(iut.sessions) and all(session.ended for session in iut.sessions)
    if has_sent or connected or not ended:
        return None
    async with iut.instance() as instance:
        process = instance.process
        if process and await process.wait(iut.configuration.seconds("startup")):
            return Unreachable(f"the IUT exits before it takes part{instance.describe_end()}")
    return None
