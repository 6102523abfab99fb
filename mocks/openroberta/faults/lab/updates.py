"""Faults of the lab in updates and sensor data."""

from collections.abc import Mapping
from typing import Any

from conformance.codec import Frame
from conformance.openroberta.codec import response
from mocks.deviations import fault
from mocks.openroberta.http import Served
from mocks.openroberta.known_robot import KnownRobot, Program, Step
from mocks.openroberta.lab import BINARY, Lab
from mocks.openroberta.user import version


@fault("update-unheard", violates="update.command")
class UpdateUnheard(Lab):
    """Never sends update to a robot."""

    def update(self, token: str) -> None:
        self.linked(token)


@fault("update-as-download", violates="update.command", subtle=True)
class UpdateAsDownload(Lab):
    """Sends download instead of update to a robot that has run a program."""

    def update(self, token: str) -> None:
        robot = self.linked(token)
        self.want(robot, "download" if robot.program else "update")


@fault("no-files", violates="update.files")
class NoFiles(Lab):
    """Serves none of its declared files."""

    def update_file(self, value: Any) -> Any:
        return self.refusal(404)


@fault("files-for-the-registered", violates="update.files", subtle=True)
class FilesForTheRegistered(Lab):
    """Serves files only while a robot is linked."""

    def update_file(self, value: Any) -> Any:
        return super().update_file(value) if self.robots else self.refusal(403)


@fault("files-once", violates="update.files", subtle=True)
class FilesOnce(Lab):
    """Serves each file only once."""

    def update_file(self, value: Any) -> Any:
        self.served_files: set[str] = getattr(self, "served_files", set())
        if value["path"] in self.served_files:
            return self.refusal(410)
        self.served_files.add(value["path"])
        return super().update_file(value)


@fault("last-file-cut", violates="update.files", subtle=True)
class LastFileCut(Lab):
    """Leaves out the last byte of the last file."""

    def update_file(self, value: Any) -> Any:
        last = list(self.settings.updates)[-1]
        if not value["path"].endswith(last):
            return super().update_file(value)
        file = self.settings.updates[last]
        return self.file(Program(file.name, file.data[:-1]))


@fault("update-never-offered", violates="update.offered")
class UpdateNeverOffered(Lab):
    """Never offers an update."""

    def outdated(self, robot: KnownRobot) -> bool:
        return False


@fault("update-of-the-first-offered", violates="update.offered", subtle=True)
class UpdateOfferedOnce(Lab):
    """Checks the version of the first robot only, and offers other robots the same."""

    first: bool | None = None

    def outdated(self, robot: KnownRobot) -> bool:
        if self.first is None:
            self.first = super().outdated(robot)
        return self.first


@fault("versions-as-text", violates="update.offered", subtle=True)
class VersionsAsText(Lab):
    """Compares versions as text."""

    def outdated(self, robot: KnownRobot) -> bool:
        return str(robot.data["menuversion"]) < self.settings.menu_version


@fault("first-numbers-compared", violates="update.offered", subtle=True)
class FirstNumbersCompared(Lab):
    """Compares only the first number of a version."""

    def outdated(self, robot: KnownRobot) -> bool:
        return version(robot.data["menuversion"])[:1] < version(self.settings.menu_version)[:1]


@fault("names-of-another-file", violates="update.filename", subtle=True)
class NamesOfAnotherFile(Lab):
    """Sends every file with the name of the first file."""

    def update_file(self, value: Any) -> Any:
        answer = super().update_file(value)
        first = next(iter(self.settings.updates.values()))
        if "Filename" in answer["headers"]:
            answer["headers"]["Filename"] = first.name
        return answer


@fault("files-without-name", violates="update.filename")
class FilesWithoutName(Lab):
    """Serves files without a Filename."""

    def update_file(self, value: Any) -> Any:
        answer = super().update_file(value)
        return response(answer["status"], BINARY, b"PK")


@fault("last-file-without-name", violates="update.filename", subtle=True)
class LastFileWithoutName(FilesWithoutName):
    """Serves the last file without a Filename."""

    def update_file(self, value: Any) -> Any:
        last = value["path"].endswith(list(self.settings.updates)[-1])
        return super().update_file(value) if last else Lab.update_file(self, value)


@fault("update-keeps", violates="update.disconnects")
class UpdateKeeps(Lab):
    """Keeps a robot linked after update."""

    def disconnect(self, robot: KnownRobot) -> None:
        pass


@fault("update-hides", violates="update.disconnects", subtle=True)
class UpdateHides(UpdateKeeps):
    """Shows a robot as unknown after update, but still sends it programs."""

    hidden: set[str]

    def disconnect(self, robot: KnownRobot) -> None:
        self.hidden = {*getattr(self, "hidden", ()), robot.token}

    def state(self, token: str) -> dict[str, Any]:
        if token in getattr(self, "hidden", ()):
            return {"state": "unknown"}
        return super().state(token)


@fault("updated-token-burnt", violates="update.registers-again")
class UpdatedTokenBurnt(Lab):
    """Refuses the token of a robot after update."""

    def disconnect(self, robot: KnownRobot) -> None:
        super().disconnect(robot)
        self.burnt = {*getattr(self, "burnt", ()), self.key(robot.data)}

    def key(self, data: Mapping[str, Any]) -> str:
        return str(data["token"])

    async def register(self, data: Mapping[str, Any], served: Served) -> Any:
        if self.key(data) in getattr(self, "burnt", ()):
            return self.refusal(403)
        return await super().register(data, served)


@fault("updated-robot-burnt", violates="update.registers-again", subtle=True)
class UpdatedRobotBurnt(UpdatedTokenBurnt):
    """Refuses the MAC address of a robot after update, with any token."""

    def key(self, data: Mapping[str, Any]) -> str:
        return str(data["macaddr"])


@fault("no-sensors", violates="sensors.accepted")
class NoSensors(Lab):
    """Refuses posted sensor data."""

    def sensor_post(self, value: Any) -> Any:
        return self.refusal(404)


@fault("sensors-once", violates="sensors.accepted", subtle=True)
class SensorsOnce(Lab):
    """Closes a websocket after the second message."""

    frames = 0

    def other(self, frame: Frame, served: Served) -> bool:
        self.frames += frame.name == "SensorFrame"
        return super().other(frame, served) and self.frames < 2


@fault("sensors-of-nine-ports", violates="sensors.accepted", subtle=True)
class SensorsOfNinePorts(Lab):
    """Refuses sensor data of a port with a number of two digits."""

    def sensor_post(self, value: Any) -> Any:
        beyond = any(name[:2].isdigit() for name in value.get("json") or {})
        return self.refusal(500) if beyond else super().sensor_post(value)


@fault("sensors-end-programs", violates="running.patient", subtle=True)
class SensorsEndPrograms(Lab):
    """Shows a robot as not running after sensor data."""

    def sensed(self, data: Any) -> None:
        super().sensed(data)
        robot = self.robots.get(str(data.get("token"))) if isinstance(data, dict) else None
        if robot and robot.step is Step.RUNNING:
            self.back(robot)


@fault("sensors-of-two-motors", violates="sensors.accepted", subtle=True)
class SensorsOfTwoMotors(Lab):
    """Refuses sensor data of the motors C and D."""

    def sensor_post(self, value: Any) -> Any:
        beyond = any(name[0] in "CD" for name in value.get("json") or {} if name)
        return self.refusal(500) if beyond else super().sensor_post(value)


@fault("websocket-without-proof", violates="sensors.accepted", subtle=True)
class WebsocketWithoutProof(Lab):
    """Opens a websocket without an answer to its key."""

    def upgrade(self, value: Any) -> Any:
        answer = super().upgrade(value)
        headers = {k: v for k, v in answer["headers"].items() if k != "sec-websocket-accept"}
        return {**answer, "headers": headers}
