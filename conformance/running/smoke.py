"""The smoke session: does the IUT start, and does it speak its side of the protocol at all?

If it does not, one message says what to do, and no test is run.
"""

import importlib
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from conformance.iut import Iut
from conformance.running.results import Result, conclude
from conformance.running.testbed import Testbed
from conformance.verdicts import Conclusion, Inconclusive, Unreachable, Verdict

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
        taken = await package.smoke(iut)
    except Conclusion as conclusion:
        error = await _never_started(iut) or conclusion
    error = _other_role(iut) or error
    spoilt = any(session.judge.spoiled for session in iut.sessions)
    came = (event.data for session in iut.sessions for event in session.theirs if event.data)
    first = repr(next(came, b"")[:FIRST])
    conclude(result, error, iut, decides, folder)
    if error is None and not spoilt:
        # Whatever else it did wrong is left to the tests.
        result.verdict = Verdict.PASS
    elif first != "b''" and first not in result.detail:
        result.detail = f"{result.detail}. The first bytes that came: {first}".lstrip(". ")
    return Smoke(result, not isinstance(error, Unreachable), frozenset(taken or ()))


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


def _other_role(iut: Iut) -> Inconclusive | None:
    """What to say to an IUT that plays the other role; the judge has found what that violates."""
    role = iut.role
    foreign = next((session.judge.foreign for session in iut.sessions if session.judge.foreign), "")
    messages = iut.configuration.protocol.messages
    # Where the other role sends nothing, what came does not show that the IUT plays it.
    if not foreign or not any(sender == role.peer for sender, _ in messages):
        return None
    own = {name for sender, name in messages if sender == role.name}
    own -= {name for sender, name in messages if sender != role.name}
    if any(message.name in own for session in iut.sessions for message in session.received):
        return None  # it plays its own role, whatever else it sends
    senders = [sender for sender, name in messages if name == foreign]
    other = role.peer if role.peer in senders else senders[0]
    return Inconclusive(
        f"{foreign} came, which only a {other} sends: if the IUT is a {other}, "
        f"test it as {role.protocol}/{other}"
    )
