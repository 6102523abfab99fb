"""Tests of sensor data, for robots that send some."""

from conformance.cases import check, requirement
from conformance.iut import Iut
from conformance.openroberta.robot.tester import LabTester, playing
from conformance.openroberta.robot.tester.exchange import Exchange
from conformance.verdicts import NotExercised

DATA = ("SensorPost", "SensorFrame")


async def wait_for_sensor_data(tester: LabTester, *names: str) -> Exchange:
    """Return the first sensor data of these kinds while a push is unanswered.

    Raises NotExercised if the robot sends none.
    """
    memory = tester.iut.facts
    push = await tester.link()
    await tester.repeats(push, 1)
    found = None
    if not memory.get("no sensor data"):
        found = await tester.other(*names, within=tester.seconds("response"))
    if found is None:
        memory["no sensor data"] = True
        raise NotExercised("the robot sends no sensor data by itself")
    return found


@requirement("sensors.token")
async def test_token(iut: Iut) -> None:
    """Sensor data contains the token of the robot that sends it."""
    async with playing(iut) as tester:
        found = await wait_for_sensor_data(tester, *DATA)
        token, came = tester.asked[0].data.get("token"), found.data.get("token")
        check(came == token, f"the token {token!r}", f"received {came!r}", found.message.event)


@requirement("sensors.members")
async def test_members(iut: Iut) -> None:
    """All other members of sensor data are sensors or motors."""
    async with playing(iut) as tester:
        await wait_for_sensor_data(tester, *DATA)


@requirement("sensors.values")
async def test_values(iut: Iut) -> None:
    """All values of sensors and motors are strings."""
    async with playing(iut) as tester:
        await wait_for_sensor_data(tester, *DATA)


@requirement("sensors.fallback")
async def test_fallback(iut: Iut) -> None:
    """A robot whose websocket is refused posts its sensor data."""
    async with playing(iut) as tester:
        tester.websocket = False
        first = await wait_for_sensor_data(tester, "SensorUpgrade", *DATA)
        if first.name == "SensorPost":
            raise NotExercised("the robot does not try a websocket")
        found = await tester.other("SensorPost", within=tester.seconds("response"))
        if found is None and not iut.has_finding:
            # The robot may retry the websocket for some time.
            found = await tester.other("SensorPost", within=tester.seconds("startup"))
        if found is None:
            raise first.violation("sensor data at a REST address", "received none")
