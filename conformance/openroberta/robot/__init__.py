"""Test cases for a robot: the suite plays its lab."""

import contextlib

from conformance.iut import Iut
from conformance.openroberta.codec import response
from conformance.openroberta.robot.tester import playing
from conformance.openroberta.robot.tester.exchange import POLLING
from conformance.verdicts import Conclusion, Violation

SMOKE = "register.first"
_SPACED = b'{"cmd": "repeat"}'


async def smoke(iut: Iut) -> None:
    """Check the first steps of a robot: a registration, then a push after its answer."""
    try:
        async with playing(iut) as tester:
            await tester.link()
    except Violation as wrong:
        if wrong.requirement == "register.then-push" and await _can_read_spaces(iut):
            expected = f"{wrong.expected} for every spelling of the JSON"
            came = f'{wrong.came} after {{"cmd":"repeat"}}, and a push after {_SPACED.decode()}'
            raise Violation(expected, came, "http.json") from wrong
        raise


async def _can_read_spaces(iut: Iut) -> bool:
    """True if the robot sends a push next after an answer with a space in its JSON."""
    with contextlib.suppress(Conclusion):
        async with playing(Iut(iut.testbed, iut.requirement_id)) as tester:
            asked = await tester.next("Register")
            await asked.answer(response(200, {"Content-Type": "application/json"}, _SPACED))
            found = await tester.wait_for(*POLLING, within=tester.seconds("response"))
            return found is not None and found.name == "Push"
    return False
