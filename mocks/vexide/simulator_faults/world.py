"""Faults of the simulator in the robot's world: battery, SD card, devices, controller."""

from typing import Any

from conformance.vexide.codec import name_of
from mocks.deviations import fault
from mocks.shapes import Unfit
from mocks.vexide.defects import Hanging
from mocks.vexide.robot import Robot
from mocks.vexide.simulator import Simulator
from mocks.vexide.simulator_faults.altering import Altering


@fault("battery-full-is-100", violates="battery.default")
class BatteryFullIs100(Simulator):
    """Begins with 100 in the battery, as if it were percent."""

    def build(self) -> Robot:
        robot = super().build()
        robot.capacity = 100.0
        return robot


@fault("battery-energy-is-voltage", violates="battery.default", subtle=True)
class BatteryEnergyIsVoltage(Simulator):
    """Begins with 12.8 Wh in the battery, which is its voltage."""

    def build(self) -> Robot:
        robot = super().build()
        robot.capacity = 12.8
        return robot


@fault("capacity-ignored", violates="battery.set-capacity")
class CapacityIgnored(Simulator):
    """Ignores SetBatteryCapacity."""

    def set_capacity(self, content: dict[str, Any]) -> None:
        pass


@fault("capacity-whole", violates="battery.set-capacity", subtle=True)
class CapacityWhole(Simulator):
    """Cuts the given capacity to whole watt-hours."""

    def set_capacity(self, content: dict[str, Any]) -> None:
        super().set_capacity({"capacity": float(int(content["capacity"]))})


@fault("capacity-before-start-only", violates="battery.set-capacity", subtle=True)
class CapacityBeforeStartOnly(Simulator):
    """Ignores SetBatteryCapacity while the program runs."""

    def set_capacity(self, content: dict[str, Any]) -> None:
        if not self.started:
            super().set_capacity(content)


@fault("never-mounts", violates="sdcard.mounted")
class NeverMounts(Simulator):
    """Never mounts an SD card."""

    def mount(self, content: dict[str, Any]) -> None:
        pass


@fault("mounts-once", violates="sdcard.mounted", subtle=True)
class MountsOnce(Simulator):
    """Mounts no SD card after one has been unmounted."""

    mounted = False

    def mount(self, content: dict[str, Any]) -> None:
        if content["root"] is None or not self.mounted:
            super().mount(content)
        self.mounted = self.mounted or content["root"] is not None


@fault("mounts-before-start-only", violates="sdcard.mounted", subtle=True)
class MountsBeforeStartOnly(Simulator):
    """Mounts no SD card while the program runs."""

    def mount(self, content: dict[str, Any]) -> None:
        if content["root"] is None or not self.started:
            super().mount(content)


@fault("never-unmounts", violates="sdcard.unmounted")
class NeverUnmounts(Simulator):
    """Never unmounts the SD card."""

    def mount(self, content: dict[str, Any]) -> None:
        if content["root"] is not None:
            super().mount(content)


@fault("devices-silent", violates="devices.update-on-change")
class DevicesSilent(Simulator):
    """Sends no DeviceUpdate."""

    def send(self, message: Any) -> None:
        if name_of(message) != "DeviceUpdate":
            super().send(message)


@fault("last-port-silent", violates="devices.update-on-change", subtle=True)
class LastPortSilent(Simulator):
    """Sends no DeviceUpdate for Smart port 20."""

    def send(self, message: Any) -> None:
        last = name_of(message) == "DeviceUpdate" and message["DeviceUpdate"]["port"]
        if last != {"Smart": 20}:
            super().send(message)


@fault("one-device-reported", violates="devices.update-on-change", subtle=True)
class OneDeviceReported(Simulator):
    """Sends DeviceUpdates for the device that was configured first, and no other."""

    def send(self, message: Any) -> None:
        if name_of(message) == "DeviceUpdate":
            kind, number = next(iter(self.robot.motors))
            if message["DeviceUpdate"]["port"] != {kind: number}:
                return
        super().send(message)


@fault("only-at-rest", violates="devices.update-on-change", subtle=True)
class OnlyAtRest(Simulator):
    """Sends DeviceUpdates that always tell the state with which a motor began."""

    def send(self, message: Any) -> None:
        if name_of(message) == "DeviceUpdate":
            told = message["DeviceUpdate"]
            motor = told["status"]["Motor"]
            state = {key: 0.0 if isinstance(motor[key], float) else motor[key] for key in motor}
            message = {"DeviceUpdate": {**told, "status": {"Motor": state}}}
        super().send(message)


class Phantom(Simulator):
    """Reports a motor on a port where nothing is."""

    def haunts(self) -> bool:
        raise NotImplementedError

    def send(self, message: Any) -> None:
        super().send(message)
        if name_of(message) == "DeviceUpdate" and self.haunts():
            free = next(n for n in range(21) if ("Smart", n) not in self.robot.motors)
            ghost = {**message["DeviceUpdate"], "port": {"Smart": free}}
            super().send({"DeviceUpdate": ghost})


@fault("phantom-device", violates="devices.only-configured")
class PhantomDevice(Phantom):
    """Reports a device on a port where none was configured."""

    def haunts(self) -> bool:
        return True


@fault("phantom-after-others", violates="devices.only-configured", subtle=True)
class PhantomAfterOthers(Phantom):
    """Reports a device that was not configured, once, after the tenth report of others."""

    reports = 0

    def haunts(self) -> bool:
        self.reports += 1
        return self.reports == 10


@fault("unknown-device-closes", violates="devices.config-open")
class UnknownDeviceCloses(Simulator):
    """Closes upon the configuration of a kind of device that it does not know."""

    def unusable(self, name: str, error: Unfit) -> None:
        if name == "ConfigureDevice" and "variant" in str(error):
            self.close()
        else:
            super().unusable(name, error)


@fault("unknown-device-stalls", violates="devices.config-open", subtle=True)
class UnknownDeviceStalls(Hanging, Simulator):
    """Stops serving after the configuration of a kind of device that it does not know."""

    def unusable(self, name: str, error: Unfit) -> None:
        super().unusable(name, error)
        self.stuck = name == "ConfigureDevice" and "variant" in str(error)


@fault("unknown-device-deafens", violates="devices.config-open", subtle=True)
class UnknownDeviceDeafens(Simulator):
    """Takes nothing more after a device of an unknown kind; what it does itself goes on."""

    deaf = False

    def unusable(self, name: str, error: Unfit) -> None:
        super().unusable(name, error)
        self.deaf |= name == "ConfigureDevice"

    def handle(self, name: str, content: Any) -> None:
        if not self.deaf:
            super().handle(name, content)


class Flagging(Altering):
    """Sets flags in the status of a motor, where `flags` says so."""

    def alter(self, name: str, content: Any) -> None:
        if name == "DeviceUpdate":
            content["status"]["Motor"]["flags"] = self.flags()

    def flags(self) -> int:
        raise NotImplementedError


@fault("motor-flags", violates="motor.flags-zero")
class MotorFlags(Flagging):
    """Sends flags with each state of a motor."""

    def flags(self) -> int:
        return 4


@fault("motor-flags-later", violates="motor.flags-zero", subtle=True)
class MotorFlagsLater(Flagging):
    """Sends flags with the state of a motor from the fifth report on."""

    reports = 0

    def flags(self) -> int:
        self.reports += 1
        return 1 if self.reports >= 5 else 0


@fault("controller-lost-disabled", violates="controller.stored-while-disabled")
class ControllerLostDisabled(Simulator):
    """Drops a ControllerUpdate that comes while the robot is disabled or autonomous."""

    def control(self, content: tuple[str, Any]) -> None:
        mode = self.robot.competition
        if mode["enabled"] and mode["mode"] == "Driver":
            super().control(content)


@fault(
    "controller-lost-autonomous",
    violates="controller.stored-while-disabled",
    subtle=True,
)
class ControllerLostAutonomous(Simulator):
    """Drops a ControllerUpdate that comes while the robot is autonomous."""

    def control(self, content: tuple[str, Any]) -> None:
        if self.robot.competition["mode"] == "Driver":
            super().control(content)


@fault("uuid-sticks", violates="controller.raw-replaces-uuid")
class UuidSticks(Simulator):
    """Takes no Raw state once a UUID has been given."""

    def control(self, content: tuple[str, Any]) -> None:
        if content[0] == "UUID" or self.robot.gamepad is None:
            super().control(content)


@fault("battery-percent", violates="controller.raw-replaces-uuid", subtle=True)
class BatteryPercent(Simulator):
    """Drops a Raw state whose battery level is above 100, as if it were a percentage."""

    def control(self, content: tuple[str, Any]) -> None:
        kind, state = content
        if kind == "UUID" or state["battery_level"] <= 100:
            super().control(content)


@fault("rest-unseen", violates="controller.raw-replaces-uuid", subtle=True)
class RestUnseen(Simulator):
    """Keeps the Raw state that it has when one with the first axis at rest comes."""

    def control(self, content: tuple[str, Any]) -> None:
        kind, state = content
        if kind == "UUID" or state["axis1"]:
            super().control(content)


@fault("first-raw-sticks", violates="controller.raw-replaces-uuid", subtle=True)
class FirstRawSticks(Simulator):
    """After a UUID takes the first Raw state, but not the ones that follow."""

    named = False
    taken = False

    def control(self, content: tuple[str, Any]) -> None:
        if content[0] == "UUID":
            self.named, self.taken = True, False
        elif self.named and self.taken:
            return
        else:
            self.taken = True
        super().control(content)


@fault("raw-survives-uuid", violates="controller.uuid-replaces-raw")
class RawSurvivesUuid(Simulator):
    """Keeps the Raw state when a UUID is given."""

    def control(self, content: tuple[str, Any]) -> None:
        if content[0] == "Raw":
            super().control(content)


@fault(
    "raw-survives-uuid-while-running",
    violates="controller.uuid-replaces-raw",
    subtle=True,
)
class RawSurvivesUuidWhileRunning(Simulator):
    """Keeps the Raw state when a UUID is given while the program runs; before, it does not."""

    def control(self, content: tuple[str, Any]) -> None:
        if content[0] == "Raw" or not self.started:
            super().control(content)
