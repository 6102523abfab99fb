"""Test cases for a robot: the suite plays its lab."""

import contextlib

from conformance.iut import Iut
from conformance.openroberta.codec import response
from conformance.openroberta.oracle import MOST_HELD
from conformance.openroberta.robot.tester import playing
from conformance.openroberta.robot.tester.programs import run_in_silence
from conformance.verdicts import Conclusion, Violation

SMOKE = "register.first"
_SPACED = b'{"cmd": "repeat"}'
_HASTY = "push.one-at-a-time"


async def smoke(iut: Iut) -> None:
    """Check the first steps of a robot: a registration, then a push after its answer."""
    try:
        async with playing(iut) as tester:
            await tester.link()
    except Violation as wrong:
        if wrong.requirement == "register.then-push" and await _reads_spaces(iut):
            expected = f"{wrong.expected} for every spelling of the JSON"
            came = f'{wrong.came} after {{"cmd":"repeat"}}, and a push after {_SPACED.decode()}'
            raise Violation(expected, came, "http.json") from wrong
        raise


async def _reads_spaces(iut: Iut) -> bool:
    """True if the robot pushes after an answer with a space in its JSON."""
    with contextlib.suppress(Conclusion):
        async with playing(Iut(iut.testbed, iut.deciding)) as tester:
            asked = await tester.next("Register")
            await asked.answer(response(200, {"Content-Type": "application/json"}, _SPACED))
            return await tester.watch("Push", within=tester.seconds("response")) is not None
    return False


async def basis(iut: Iut) -> str:
    """Return the requirement that a plain session violates, or an empty string.

    In a plain session the robot registers, pushes, and runs a program.
    """
    async with playing(iut) as tester:
        try:
            push = await tester.repeats(await tester.link(), MOST_HELD + 1)
            if slow := iut.configuration.value("slow_program"):
                await run_in_silence(tester, push, slow)
            else:
                await tester.run(push)
        except Violation as violation:
            return violation.requirement or ""
        # A robot that does not wait for answers is late in all later steps.
        found = [each for session in iut.sessions for each in session.judge.findings]
        return _HASTY if any(each.requirement == _HASTY for each in found) else ""
