"""Faults of the simulator with devices and their states."""

from typing import Any

from conformance.vexide.codec import name_of
from mocks.deviations import fault
from mocks.shapes import Unfit
from mocks.vexide.faults.bases import Altering, Hanging, member
from mocks.vexide.messages import Port, port_form
from mocks.vexide.robot import Motor, Robot
from mocks.vexide.simulator import Simulator


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


@fault("red-motors-dropped", violates="devices.update-on-change", subtle=True)
class RedMotorsDropped(Simulator):
    """Does not support the gearset Red, and ignores motors with this gearset."""

    def configure(self, content: dict[str, Any]) -> None:
        if content["device"][1].get("physical_gearset") != "Red":
            super().configure(content)


@fault("power-by-voltage", violates="encoding.externally-tagged", subtle=True)
class PowerByVoltage(Simulator):
    """Writes null for the power of a motor without voltage, because its value is NaN."""

    def send(self, message: Any) -> None:
        if name_of(message) == "DeviceUpdate":
            state = message["DeviceUpdate"]["status"].get("Motor", {})
            if not state.get("voltage", 1):
                state["power_draw"] = None
        super().send(message)


@fault("one-device-reported", violates="devices.update-on-change", subtle=True)
class OneDeviceReported(Simulator):
    """Sends DeviceUpdates only for the device that was configured first."""

    def send(self, message: Any) -> None:
        if name_of(message) == "DeviceUpdate":
            kind, number = next(iter(self.robot.motors))
            if message["DeviceUpdate"]["port"] != {kind: number}:
                return
        super().send(message)


@fault("last-port-for-all", violates="devices.update-on-change", subtle=True)
class LastPortForAll(Simulator):
    """Names the port that was configured last in each DeviceUpdate."""

    def send(self, message: Any) -> None:
        if name_of(message) == "DeviceUpdate":
            kind, number = [*self.robot.motors][-1]
            message = {"DeviceUpdate": {**message["DeviceUpdate"], "port": {kind: number}}}
        super().send(message)


@fault("only-at-rest", violates="devices.update-on-change", subtle=True)
class OnlyAtRest(Simulator):
    """Sends DeviceUpdates that always contain the initial state of a motor."""

    def send(self, message: Any) -> None:
        if name_of(message) == "DeviceUpdate":
            told = message["DeviceUpdate"]
            motor = told["status"]["Motor"]
            state = {key: 0.0 if isinstance(motor[key], float) else motor[key] for key in motor}
            message = {"DeviceUpdate": {**told, "status": {"Motor": state}}}
        super().send(message)


@fault("tires-of-reporting", violates="devices.update-on-change", subtle=True)
class TiresOfReporting(Simulator):
    """Sends no DeviceUpdate after the program has run for a second."""

    steps = 0

    def step(self) -> None:
        self.steps += 1
        super().step()

    def send(self, message: Any) -> None:
        if name_of(message) != "DeviceUpdate" or self.steps * self.settings.tick < 1:
            super().send(message)


class Concealing(Simulator):
    """Sends no DeviceUpdate while `conceals`."""

    def conceals(self, motor: dict[str, Any]) -> bool:
        raise NotImplementedError

    def send(self, message: Any) -> None:
        if name_of(message) == "DeviceUpdate":
            motor = message["DeviceUpdate"]["status"].get("Motor", {})
            if self.conceals(motor):
                return
        super().send(message)


@fault("silent-while-disabled", violates="devices.update-on-change", subtle=True)
class SilentWhileDisabled(Concealing):
    """Sends no DeviceUpdate while the robot is disabled, although its motors still turn."""

    def conceals(self, motor: dict[str, Any]) -> bool:
        return not self.robot.competition["enabled"]


@fault("silent-after-stop", violates="devices.update-on-change", subtle=True)
class SilentAfterStop(Concealing):
    """Sends no DeviceUpdate of a motor without voltage, although the motor still turns."""

    def conceals(self, motor: dict[str, Any]) -> bool:
        return not motor.get("voltage")


@fault("brake-mode-unreported", violates="devices.update-on-change", subtle=True)
class BrakeModeUnreported(Concealing):
    """Sends no DeviceUpdate if only the brake mode of a motor has changed."""

    def build(self) -> Robot:
        self.told: dict[str, Any] = {}
        return super().build()

    def send(self, message: Any) -> None:
        super().send(message)
        if name_of(message) == "DeviceUpdate":
            update = message["DeviceUpdate"]
            self.told[str(update["port"])] = update["status"].get("Motor")

    def conceals(self, motor: dict[str, Any]) -> bool:
        return any(
            known and {**known, "brake_mode": motor.get("brake_mode")} == motor
            for known in self.told.values()
        )


class Phantom(Simulator):
    """Reports a motor on a port without a device."""

    def haunts(self) -> bool:
        raise NotImplementedError

    def send(self, message: Any) -> None:
        super().send(message)
        if name_of(message) == "DeviceUpdate" and self.haunts():
            free = [n for n in range(21) if ("Smart", n) not in self.robot.motors]
            for number in free[:1]:
                super().send(
                    {"DeviceUpdate": {**message["DeviceUpdate"], "port": {"Smart": number}}}
                )


@fault("phantom-device", violates="devices.only-configured")
class PhantomDevice(Phantom):
    """Reports a device on a port that was not configured."""

    def haunts(self) -> bool:
        return True


@fault("phantom-after-others", violates="devices.only-configured", subtle=True)
class PhantomAfterOthers(Phantom):
    """Reports an unconfigured device once, after the tenth report of other devices."""

    reports = 0

    def haunts(self) -> bool:
        self.reports += 1
        return self.reports == 10


@fault("unknown-device-closes", violates="devices.config-open")
class UnknownDeviceCloses(Simulator):
    """Closes at a ConfigureDevice with an unknown kind of device."""

    def unusable(self, name: str, error: Unfit) -> None:
        if name == "ConfigureDevice" and "variant" in str(error):
            self.close()
        else:
            super().unusable(name, error)


@fault("adi-device-closes", violates="devices.config-open", subtle=True)
class AdiDeviceCloses(Simulator):
    """Closes at a ConfigureDevice for an ADI port."""

    def message(self, name: str, value: Any) -> None:
        if member(value, "ConfigureDevice", "port", "Adi") is not None:
            self.close()
        else:
            super().message(name, value)


@fault("unknown-device-stalls", violates="devices.config-open", subtle=True)
class UnknownDeviceStalls(Hanging, Simulator):
    """Stops serving after a ConfigureDevice with an unknown kind of device."""

    def unusable(self, name: str, error: Unfit) -> None:
        super().unusable(name, error)
        self.stuck = name == "ConfigureDevice" and "variant" in str(error)


@fault("unknown-device-deafens", violates="devices.config-open", subtle=True)
class UnknownDeviceDeafens(Simulator):
    """Ignores all commands after an unknown kind of device; its own events continue."""

    deaf = False

    def unusable(self, name: str, error: Unfit) -> None:
        super().unusable(name, error)
        self.deaf |= name == "ConfigureDevice"

    def handle(self, name: str, content: Any) -> None:
        if not self.deaf:
            super().handle(name, content)


class Flagging(Altering, Simulator):
    """Sets flags in the status of a motor if `flags` says so."""

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


@fault("brake-mode-lower-case", violates="encoding.externally-tagged", subtle=True)
class BrakeModeLowerCase(Altering, Simulator):
    """Writes the brake mode of a motor in lower case."""

    def alter(self, name: str, content: Any) -> None:
        if name == "DeviceUpdate":
            motor = content["status"]["Motor"]
            motor["brake_mode"] = motor["brake_mode"].lower()


@fault("kinds-in-lower-case", violates="devices.update-on-change", subtle=True)
class KindsInLowerCase(Altering, Simulator):
    """Writes the kind of a device in lower case: the kind motor is unknown."""

    def alter(self, name: str, content: Any) -> None:
        if name == "DeviceUpdate":
            content["status"] = {kind.lower(): state for kind, state in content["status"].items()}


@fault("inertia-ignored", violates="motor.inertia")
class InertiaIgnored(Simulator):
    """Treats every motor as a motor without load."""

    def configure(self, content: dict[str, Any]) -> None:
        super().configure(content)
        self.robot.motors[content["port"]].inertia = 0.0


@fault("inertia-without-point-refused", violates="framing.white-space", subtle=True)
class InertiaWithoutPointRefused(Simulator):
    """Ignores a motor whose inertia is written as an integer."""

    def message(self, name: str, value: Any) -> None:
        path = ("ConfigureDevice", "device", "Motor", "moment_of_inertia")
        if not isinstance(member(value, *path), int):
            super().message(name, value)


@fault("inertia-of-first", violates="motor.inertia", subtle=True)
class InertiaOfFirst(Simulator):
    """Uses the inertia of the first configured motor for every motor."""

    def configure(self, content: dict[str, Any]) -> None:
        super().configure(content)
        first = next(iter(self.robot.motors.values()))
        self.robot.motors[content["port"]].inertia = first.inertia


@fault("first-configuration-holds", violates="devices.last-configuration")
class FirstConfigurationHolds(Simulator):
    """Keeps the first device that was configured on a port."""

    def configure(self, content: dict[str, Any]) -> None:
        if content["port"] not in self.robot.motors:
            super().configure(content)


@fault("both-configurations-hold", violates="devices.last-configuration", subtle=True)
class BothConfigurationsHold(Simulator):
    """Reports the first device of a port in addition to the later device."""

    def build(self) -> Robot:
        self.earlier: dict[Port, Motor] = {}
        return super().build()

    def configure(self, content: dict[str, Any]) -> None:
        earlier = self.robot.motors.get(content["port"])
        super().configure(content)
        if earlier:
            self.earlier[content["port"]] = earlier

    def report(self) -> None:
        super().report()
        for port, motor in self.earlier.items():
            motor.voltage = 6.0
            motor.step(self.settings.tick, motor.voltage)
            self.send({"DeviceUpdate": {"port": port_form(port), "status": motor.status()}})
