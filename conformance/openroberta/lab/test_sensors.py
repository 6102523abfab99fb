"""Tests of sensor data that robots send, for labs that accept sensor data."""

import pytest

from conformance.cases import check, requirement
from conformance.iut import Iut
from conformance.openroberta.codec import UPGRADE
from conformance.openroberta.lab.tester import RobotsTester, playing
from conformance.session import Session
from conformance.verdicts import NotExercised, Violation

KEY = {"sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==", "sec-websocket-version": "13"}
ACCEPT = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="  # the answer to that key in RFC 6455, section 1.3


def sensors(token: str) -> dict[str, str]:
    motors = {"A-LARGE_MOTORDEGREE": "-360", "D-MEDIUM_MOTORDEGREE": "0"}
    return {"token": token, "1-TouchSensorMode-TOUCH": "1", "12-GYRO": "0.5", **motors}


def address(iut: Iut, name: str, example: str) -> str:
    declared = iut.configuration.value(name)
    if not declared:
        raise NotExercised(f"needs IXIT {name}: --set {name}={example}")
    return (
        "/" + declared.removeprefix("ws://").lstrip("/").partition("/")[2]
        if ("://" in declared)
        else declared
    )


async def token_of(tester: RobotsTester) -> str:
    """Return the token of a robot. The robot is linked if the suite can enter tokens."""
    if await tester.offers("pair"):
        return (await tester.open_linked()).token
    robot = tester.robot()
    await robot.register()
    return robot.token


@requirement("sensors.accepted")
@pytest.mark.parametrize("known", [True, False], ids=["known", "unknown"])
async def test_posted(iut: Iut, known: bool) -> None:
    """Posted sensor data is accepted; sensor data of an unknown robot affects no other robot."""
    path = address(iut, "sensor_path", "/rest/sensorlogging")
    async with playing(iut) as tester:
        robot = tester.robot()
        token = await token_of(tester) if known else robot.token
        for _ in range(2):
            exchange = await robot.ask(path, sensors(token))
            message = await exchange.session.expect(within="response")
            if known:
                taken = message.name != "Refusal"
                check(taken, "sensor data to be accepted", "it was refused", message.event)
        await (await robot.register()).assert_unanswered()


@requirement("running.patient")
async def test_running_meanwhile(iut: Iut) -> None:
    """Sensor data during a program is no push: the robot is still running."""
    path = address(iut, "sensor_path", "/rest/sensorlogging")
    async with playing(iut) as tester:
        robot = await tester.open_linked()
        await robot.fetch()
        seen = await tester.wait_for_state(robot, "state", "running", "response")
        check(seen == "running", "a robot with a program to be running", f"it is {seen}")
        exchange = await robot.ask(path, sensors(robot.token))
        await exchange.session.expect(within="response")
        seen = await tester.wait_for_state(robot, "state", "waiting", "quiet")
        check(
            seen == "running",
            "it to be still running, because sensor data is no push",
            f"it is {seen}",
        )


@requirement("sensors.accepted")
@pytest.mark.parametrize("known", [True, False], ids=["known", "unknown"])
async def test_over_websocket(iut: Iut, known: bool) -> None:
    """Sensor data is accepted over a websocket, which stays open."""
    path = address(iut, "sensor_url", "/ws/")
    async with playing(iut) as tester:
        robot = tester.robot()
        token = await token_of(tester) if known else robot.token
        session = await upgraded(tester, path)
        for _ in range(3):
            await session.send({"opcode": "text", "masked": True, "json": sensors(token)})
        closed = await session.until_closed(tester.seconds("quiet"))
        check(not (known and closed), "the websocket to stay open", "it was closed")
        await (await robot.register()).assert_unanswered()


async def upgraded(tester: RobotsTester, path: str) -> Session:
    session = await tester.connection()
    await session.send(tester.request("GET", path, {**UPGRADE, **KEY}))
    message = await session.expect(within="response")
    if message.name != "SensorUpgraded":
        raise Violation("a websocket to be opened", f"received {message.name}", event=message.event)
    came = message.value["headers"].get("sec-websocket-accept")
    check(came == ACCEPT, f"the Sec-WebSocket-Accept {ACCEPT}", f"received {came}", message.event)
    return session
