"""Faults of the simulator with devices and their states."""

from typing import Any

from conformance.vexide.codec import encode, name_of
from mocks.deviations import Fault, Subtle, Table, fault
from mocks.steps import (
    Function,
    When,
    differing,
    first,
    hang,
    instead,
    later,
    note,
    noted,
    nth,
    only,
    skip,
    then,
)
from mocks.vexide.faults.bases import ENABLED, edit, fields, member, named
from mocks.vexide.messages import Port, port_form
from mocks.vexide.robot import Motor, Robot
from mocks.vexide.simulator import Simulator

UPDATE = named("DeviceUpdate")
MOTOR = ("status", "Motor")
UNKNOWN = When(lambda _, name, error: name == "ConfigureDevice" and "variant" in str(error))
"""If a message that is not usable configures an unknown kind of device."""
_ADI = ("ConfigureDevice", "port", "Adi")
_INERTIA = ("ConfigureDevice", "device", "Motor", "moment_of_inertia")


def update(holds: Function) -> When:
    """If the content of a sent DeviceUpdate has a property."""
    return UPDATE & (lambda sim, message: holds(sim, message["DeviceUpdate"]))


def _stopped(_: Simulator, update: dict[str, Any]) -> bool:
    """Return True if a motor has no voltage."""
    return not update["status"]["Motor"]["voltage"]


def _held(simulator: Simulator, update: dict[str, Any]) -> bool:
    """Return True if a motor without voltage is held."""
    return _stopped(simulator, update) and update["status"]["Motor"]["brake_mode"] == "Hold"


def _voltage(_: Simulator, message: Any) -> Any:
    return member(message, "DeviceUpdate", "status", "Motor", "voltage")


def _rest(motor: dict[str, Any]) -> dict[str, Any]:
    return {key: 0.0 if isinstance(at, float) else at for key, at in motor.items()}


def _port(simulator: Simulator, index: int) -> dict[str, int]:
    """Return the port that was configured first (0) or last (-1)."""
    return port_form([*simulator.robot.motors][index])


def _report_phantom(simulator: Simulator, message: Any) -> None:
    """Report the state of a device on a port without a device."""
    free = [n for n in range(21) if ("Smart", n) not in simulator.robot.motors]
    for number in free[:1]:
        phantom = {**message["DeviceUpdate"], "port": {"Smart": number}}
        simulator.write(encode({"DeviceUpdate": phantom}))


def _set_inertia(simulator: Simulator, device: dict[str, Any], inertia: float) -> None:
    simulator.robot.motors[device["port"]].inertia = inertia


def _at_least_one(simulator: Simulator, device: dict[str, Any]) -> None:
    inertia = simulator.robot.motors[device["port"]].inertia
    _set_inertia(simulator, device, max(inertia, 1.0))


def _first_inertia(simulator: Simulator, device: dict[str, Any]) -> None:
    first_motor = next(iter(simulator.robot.motors.values()))
    _set_inertia(simulator, device, first_motor.inertia)


def _is_fraction(number: Any) -> bool:
    return isinstance(number, float) and not number.is_integer()


FAULTS = Table(Simulator)

FAULTS["devices.update-on-change"] = {
    "devices-silent": Fault("Sends no DeviceUpdate.", skip("send", UPDATE)),
    "last-port-silent": Subtle(
        "Sends no DeviceUpdate for Smart port 20.",
        skip("send", update(lambda _, update: update["port"] == {"Smart": 20})),
    ),
    "red-motors-dropped": Subtle(
        "Does not support the gearset Red, and ignores motors with this gearset.",
        skip("configure", lambda _, to: to["device"][1].get("physical_gearset") == "Red"),
    ),
    "one-device-reported": Subtle(
        "Sends DeviceUpdates only for the device that was configured first.",
        skip("send", update(lambda sim, update: update["port"] != _port(sim, 0))),
    ),
    "last-port-for-all": Subtle(
        "Names the port that was configured last in each DeviceUpdate.",
        edit("DeviceUpdate", lambda sim, update: update.update(port=_port(sim, -1))),
    ),
    "only-at-rest": Subtle(
        "Sends DeviceUpdates that always contain the initial state of a motor.",
        fields("DeviceUpdate", "status", Motor=_rest),
    ),
    "tires-of-reporting": Subtle(
        "Sends no DeviceUpdate after the program has run for a second.",
        skip("send", UPDATE & noted("tired")),
        then("execute", later(1.0, note("tired"))),
    ),
    "voltage-changes-only": Subtle(
        "Sends a DeviceUpdate only if the voltage of a motor has changed.",
        only("send", ~UPDATE | differing(_voltage)),
    ),
    "silent-while-disabled": Subtle(
        "Sends no DeviceUpdate while the robot is disabled, although its motors still turn.",
        skip("send", UPDATE & ~ENABLED),
    ),
    "silent-after-stop": Subtle(
        "Sends no DeviceUpdate of a motor without voltage, although the motor still turns.",
        skip("send", update(_stopped)),
    ),
    "turns-when-held": Subtle(
        "Reports that a held motor turns, although the motor is at rest.",
        fields("DeviceUpdate", *MOTOR, velocity=3.0, when=_held),
    ),
    "kinds-in-lower-case": Subtle(
        "Writes the kind of a device in lower case: the kind motor is unknown.",
        fields("DeviceUpdate", status=lambda status: {"motor": status["Motor"]}),
    ),
}

FAULTS["devices.only-configured"] = {
    "phantom-device": Fault(
        "Reports a device on a port that was not configured.",
        then("send", _report_phantom, UPDATE),
    ),
    "phantom-after-others": Subtle(
        "Reports an unconfigured device once, after the tenth report of other devices.",
        then("send", _report_phantom, UPDATE & nth(10)),
    ),
}

FAULTS["devices.config-open"] = {
    "unknown-device-closes": Fault(
        "Closes at a ConfigureDevice with an unknown kind of device.",
        instead("unusable", "close", UNKNOWN),
    ),
    "adi-device-closes": Subtle(
        "Closes at a ConfigureDevice for an ADI port.",
        instead("message", "close", lambda _, name, value: member(value, *_ADI) is not None),
    ),
    "unknown-device-stalls": Subtle(
        "Stops serving after a ConfigureDevice with an unknown kind of device.",
        then("unusable", hang, UNKNOWN),
    ),
    "unknown-device-deafens": Subtle(
        "Ignores all commands after an unknown kind of device; its own events continue.",
        skip("handle", noted("deaf")),
        then("unusable", note("deaf"), lambda _, name, error: name == "ConfigureDevice"),
    ),
}

FAULTS["devices.last-configuration"] = {
    "first-configuration-holds": Fault(
        "Keeps the first device that was configured on a port.",
        skip("configure", lambda sim, device: device["port"] in sim.robot.motors),
    ),
}

FAULTS["motor.flags-zero"] = {
    "motor-flags": Fault(
        "Sends flags with each state of a motor.", fields("DeviceUpdate", *MOTOR, flags=4)
    ),
    "motor-flags-later": Subtle(
        "Sends flags with the state of a motor from the fifth report on.",
        fields("DeviceUpdate", *MOTOR, flags=1, when=~first(4)),
    ),
}

FAULTS["motor.units"] = {
    "motor-in-millivolts": Fault(
        "Reports the voltage of a motor in millivolts, as the SDK counts it.",
        fields("DeviceUpdate", *MOTOR, voltage=lambda volts: 1000.0 * volts),
    ),
    "motor-in-percent": Subtle(
        "Reports the voltage of a motor in percent of 12 V.",
        fields("DeviceUpdate", *MOTOR, voltage=lambda volts: volts / 0.12),
    ),
}

FAULTS["motor.inertia"] = {
    "inertia-ignored": Fault(
        "Treats every motor as a motor without load.",
        then("configure", lambda sim, device: _set_inertia(sim, device, 0.0)),
    ),
    "inertia-of-first": Subtle(
        "Uses the inertia of the first configured motor for every motor.",
        then("configure", _first_inertia),
    ),
    "inertia-of-at-least-one": Subtle(
        "Treats a motor with an inertia below 1 kg m² as a motor with 1 kg m².",
        then("configure", _at_least_one),
    ),
}

FAULTS["setup.commands-handled"] = {
    "inertia-as-integer": Subtle(
        "Ignores a motor whose inertia is no whole number.",
        skip("message", lambda _, name, value: _is_fraction(member(value, *_INERTIA))),
    ),
}

FAULTS["framing.white-space"] = {
    "inertia-without-point-refused": Subtle(
        "Ignores a motor whose inertia is written as an integer.",
        skip("message", lambda _, name, value: isinstance(member(value, *_INERTIA), int)),
    ),
}

FAULTS["encoding.externally-tagged"] = {
    "power-by-voltage": Subtle(
        "Writes null for the power of a motor without voltage, because its value is NaN.",
        fields("DeviceUpdate", *MOTOR, power_draw=None, when=_stopped),
    ),
    "brake-mode-lower-case": Subtle(
        "Writes the brake mode of a motor in lower case.",
        fields("DeviceUpdate", *MOTOR, brake_mode=str.lower),
    ),
}


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
