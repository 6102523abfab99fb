"""Faults of the robot in updates and sensor data."""

import asyncio
from typing import Any

from conformance.openroberta import message_names
from conformance.openroberta.codec import request
from mocks.deviations import Fault, Subtle, Table, fault
from mocks.openroberta.faults.robot.bases import push
from mocks.openroberta.robot import UPDATES, Robot
from mocks.openroberta.sensors import Sensors
from mocks.steps import after, instead, returning


def _post_for_update(robot: Robot, path: str) -> Any:
    return request("POST", message_names.UPDATE + path, robot.headers(), robot.data("push"))


FAULTS = Table(Robot)

FAULTS["update.gets"] = {
    "no-updates": Fault("Fetches nothing after update.", instead("updates", lambda _: ())),
    "posts-for-updates": Subtle(
        "Requests its second file with POST.",
        instead("get", _post_for_update, lambda _, path: path == UPDATES[-1]),
    ),
}

FAULTS["update.all-files"] = {
    "first-update-only": Fault(
        "Fetches only the first of its files.", returning("updates", lambda paths: paths[:1])
    ),
    "second-update-in-part": Subtle(
        "Fetches all files in the first update, and only the first file in later updates.",
        returning("updates", lambda paths: paths[:1], after(1)),
    ),
}

FAULTS["sensors.token"] = {
    "sensors-without-token": Fault(
        "Sends sensor data without its token.",
        returning("measured", lambda told: {n: text for n, text in told.items() if n != "token"}),
    ),
    "sensors-of-another": Subtle(
        "Sends sensor data with a token of another robot.",
        returning("measured", lambda told: {**told, "token": told["token"].lower() + "0"}),
    ),
}

FAULTS["sensors.members"] = {
    "sensors-without-port": Fault(
        "Names sensors without their port.",
        returning("measured", lambda told: {"touch": "0", "token": told["token"]}),
    ),
    "motor-without-name": Subtle(
        "Names a motor by its port only.", returning("measured", lambda told: {**told, "B": "0"})
    ),
}

FAULTS["sensors.values"] = {
    "nothing-measured-null": Subtle(
        "Sends null for a motor without a value.",
        returning("measured", lambda told: {**told, "A-MOTOR": None}),
    ),
}


@fault("pushes-after-update", violates="update.stops-pushing")
class PushesAfterUpdate(Robot):
    """Goes on pushing after an update."""

    updated = False

    async def update(self) -> None:
        await super().update()
        self.updated = True

    async def register(self) -> str:
        if self.updated:
            self.updated = False
            return "repeat"
        return await super().register()

    async def before_next(self) -> None:
        await self.pause()


@fault("pushes-with-new-version", violates="update.stops-pushing", subtle=True)
class PushesWithNewVersion(PushesAfterUpdate):
    """Goes on pushing after an update, with its new version."""

    version = ""

    async def update(self) -> None:
        await super().update()
        self.version = "1.11.0"

    def data(self, cmd: str) -> dict[str, Any]:
        data = super().data(cmd)
        return data | {"menuversion": self.version or data["menuversion"]}


@fault("pushes-before-updates", violates="update.stops-pushing", subtle=True)
class PushesBeforeUpdates(Robot):
    """Confirms the update with a push before the end of the update."""

    async def update(self) -> None:
        asked = push(self)
        heard = asyncio.create_task(self.make_caller().ask(asked, 0.1))
        await super().update()
        await heard


@fault("pushes-between-updates", violates="update.stops-pushing", subtle=True)
class PushesBetweenUpdates(Robot):
    """Pushes after each file of an update."""

    async def update(self) -> None:
        for path in self.updates():
            for asked in (self.get(path), push(self)):
                await self.ask(asked, self.settings.push_patience)


@fault("websocket-only", violates="sensors.fallback")
class WebsocketOnly(Robot):
    """Sends no sensor data if the lab refuses the websocket."""

    def start_sensors(self) -> None:
        class Only(Sensors):
            async def post(self, headers: dict[str, str]) -> bool:
                return False

        if self.settings.sensors is not None:
            sensors = Only(self.make_caller(), self.measured, self.settings.sensors)
            self.sensing = asyncio.create_task(sensors.play(self.headers()))
