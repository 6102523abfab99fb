"""Faults of the robot in updates and sensor data."""

import asyncio
from typing import Any

from conformance.openroberta import message_names
from conformance.openroberta.codec import request
from mocks.deviations import fault
from mocks.openroberta.robot import UPDATES, Robot
from mocks.openroberta.sensors import Sensors


@fault("no-updates", violates="update.gets")
class NoUpdates(Robot):
    """Fetches nothing after update."""

    def updates(self) -> tuple[str, ...]:
        return ()


@fault("first-update-only", violates="update.all-files")
class FirstUpdateOnly(Robot):
    """Fetches only the first of its files."""

    def updates(self) -> tuple[str, ...]:
        return UPDATES[:1]


@fault("second-update-in-part", violates="update.all-files", subtle=True)
class SecondUpdateInPart(Robot):
    """Fetches all files in the first update, and only the first file in later updates."""

    count = 0

    def updates(self) -> tuple[str, ...]:
        self.count += 1
        return UPDATES if self.count == 1 else UPDATES[:1]


@fault("posts-for-updates", violates="update.gets", subtle=True)
class PostsForUpdates(Robot):
    """Requests its second file with POST."""

    def get(self, path: str) -> Any:
        if path == UPDATES[-1]:
            return request("POST", message_names.UPDATE + path, self.headers(), self.data("push"))
        return super().get(path)


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


@fault("pushes-before-updates", violates="update.stops-pushing", subtle=True)
class PushesBeforeUpdates(Robot):
    """Confirms the update with a push before the end of the update."""

    async def update(self) -> None:
        asked = self.post(message_names.PUSHCMD, self.data("push"))
        heard = asyncio.create_task(self.make_caller().ask(asked, 0.1))
        await super().update()
        await heard


@fault("pushes-between-updates", violates="update.stops-pushing", subtle=True)
class PushesBetweenUpdates(Robot):
    """Pushes after each file of an update."""

    async def update(self) -> None:
        for path in self.updates():
            for asked in (self.get(path), self.post(message_names.PUSHCMD, self.data("push"))):
                await self.ask(asked, self.settings.push_patience)


class _Measuring(Robot):
    def measured(self) -> dict[str, Any]:
        return self.altered(super().measured())

    def altered(self, told: dict[str, Any]) -> dict[str, Any]:
        raise NotImplementedError


@fault("sensors-without-token", violates="sensors.token")
class SensorsWithoutToken(_Measuring):
    """Sends sensor data without its token."""

    def altered(self, told: dict[str, Any]) -> dict[str, Any]:
        return {name: text for name, text in told.items() if name != "token"}


@fault("sensors-of-another", violates="sensors.token", subtle=True)
class SensorsOfAnother(_Measuring):
    """Sends sensor data with a token of another robot."""

    def altered(self, told: dict[str, Any]) -> dict[str, Any]:
        return {**told, "token": told["token"].lower() + "0"}


@fault("sensors-without-port", violates="sensors.members")
class SensorsWithoutPort(_Measuring):
    """Names sensors without their port."""

    def altered(self, told: dict[str, Any]) -> dict[str, Any]:
        return {"touch": "0", "token": told["token"]}


@fault("motor-without-name", violates="sensors.members", subtle=True)
class MotorWithoutName(_Measuring):
    """Names a motor by its port only."""

    def altered(self, told: dict[str, Any]) -> dict[str, Any]:
        return {**told, "B": "0"}


@fault("nothing-measured-null", violates="sensors.values", subtle=True)
class NothingMeasuredNull(_Measuring):
    """Sends null for a motor without a value."""

    def altered(self, told: dict[str, Any]) -> dict[str, Any]:
        return {**told, "A-MOTOR": None}


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
