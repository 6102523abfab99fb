"""Sensor data, where a robot sends some."""

from conformance.cases import check, in_one_loop, requirement
from conformance.iut import Iut
from conformance.openroberta.robot.lab import Exchange, Lab, serving
from conformance.verdicts import NotExercised

pytestmark = in_one_loop

DATA = ("SensorPost", "SensorFrame")


async def sensed(lab: Lab, *names: str) -> Exchange:
    """The first sensor data of these kinds, with a push held. Raises NotExercised without any."""
    memory = lab.iut.memory
    push = await lab.link()
    await lab.repeats(push, 1)
    found = None
    if not memory.get("no sensor data"):
        found = await lab.other(*names, within=lab.seconds("response"))
    if found is None:
        memory["no sensor data"] = True
        raise NotExercised("the robot sends no sensor data by itself")
    return found


@requirement("sensors.token")
async def test_token(iut: Iut) -> None:
    """Sensor data has the token of the robot that sends it."""
    async with serving(iut) as lab:
        found = await sensed(lab, *DATA)
        token, came = lab.asked[0].data.get("token"), found.data.get("token")
        check(came == token, f"the token {token!r}", f"{came!r} came", found.message.event)


@requirement("sensors.members")
async def test_members(iut: Iut) -> None:
    """All of its other members are sensors or motors."""
    async with serving(iut) as lab:
        await sensed(lab, *DATA)


@requirement("sensors.values")
async def test_values(iut: Iut) -> None:
    """All their values are strings."""
    async with serving(iut) as lab:
        await sensed(lab, *DATA)


@requirement("sensors.fallback")
async def test_fallback(iut: Iut) -> None:
    """A robot whose websocket is refused posts its sensor data."""
    async with serving(iut) as lab:
        lab.websocket = False
        first = await sensed(lab, "SensorUpgrade", *DATA)
        if first.name == "SensorPost":
            raise NotExercised("the robot does not try a websocket")
        found = await lab.other("SensorPost", within=lab.seconds("startup"))
        if found is None:
            raise first.violation("sensor data at a REST address", "none came")
