"""The deterministic world of the simulator mock: one robot, as a program sees it.

Time passes only in `Robot.step`. Events for the frontend are appended to `Robot.events` in the form
for the wire.
"""

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp
from pathlib import Path
from typing import Any

from mocks.vexide.messages import Port, port_form

NOMINAL = 12.0  # V: the supply voltage for the motor data below
FULL = 14.0  # Wh: the capacity of the robot battery
WHEEL = 0.05  # m: the assumed radius of the wheels on all motors

# free speed in rad/s (100, 200, 600 rpm) and stall torque in N·m
GEARSETS = {"Red": (10.472, 2.1), "Green": (20.944, 1.05), "Blue": (62.832, 0.35)}

DEFAULT_COMPETITION = {
    "enabled": True,
    "connected": False,
    "mode": "Driver",
    "is_competition": False,
}


@dataclass(slots=True)
class Motor:
    """An ideal direct-current motor with a load of `inertia` kg·m²."""

    gearset: str
    inertia: float
    brake_mode: str = "Coast"
    voltage: float = 0.0
    target: float | None = None
    velocity: float = 0.0
    position: float = 0.0
    torque: float = 0.0
    power: float = 0.0

    def step(self, seconds: float, supply: float) -> None:
        """Let time pass; `supply` is the maximum available voltage in V."""
        free, stall = GEARSETS[self.gearset]
        wanted = self.voltage if self.target is None else 10.0 * (self.target - self.position)
        applied = max(-supply, min(supply, wanted))
        if applied == 0.0 and self.brake_mode == "Hold":
            self.velocity = self.torque = self.power = 0.0
            return
        settled = free * applied / NOMINAL
        lag = self.inertia * free / stall  # s
        if applied == 0.0 and self.brake_mode == "Coast":
            lag *= 10.0  # only friction slows the motor down
        fading = exp(-seconds / lag) if lag > 0.0 else 0.0
        self.velocity = settled + (self.velocity - settled) * fading
        self.torque = stall * (settled - self.velocity) / free if applied else 0.0
        self.power = abs(applied * self.torque * free / NOMINAL)
        self.position += self.velocity * seconds

    def status(self) -> dict[str, Any]:
        """Return the `DeviceStatus`, rounded so that a motor at rest has the velocity 0."""
        return {
            "Motor": {
                "velocity": _rounded(self.velocity),
                "reversed": False,
                "power_draw": _rounded(self.power),
                "torque_output": _rounded(self.torque),
                "flags": 0,
                "position": _rounded(self.position),
                "target_position": _rounded(self.target or 0.0),
                "voltage": _rounded(self.voltage),
                "gearset": self.gearset,
                "brake_mode": self.brake_mode,
            }
        }


class Screen:
    """The robot's screen; it reports drawings as events, and the frontend shows them."""

    def __init__(self, events: list[Any]) -> None:
        self._events = events

    def fill(self, shape: Mapping[str, Any], color: int) -> None:
        self._draw({"Fill": {"shape": shape}}, color)

    def stroke(self, shape: Mapping[str, Any], color: int) -> None:
        self._draw({"Stroke": {"shape": shape}}, color)

    def copy(self, x: int, y: int, pixels: Sequence[Sequence[int]]) -> None:
        """Draw rows of 0xRRGGBB pixels with the top left corner at x, y."""
        data = b"".join(pixel.to_bytes(4, "little") for row in pixels for pixel in row)
        width, height = len(pixels[0]), len(pixels)
        copy = {
            "top_left": point(x, y),
            "bottom_right": point(x + width, y + height),
            "stride": width,
            "buffer": base64.b64encode(data).decode(),
        }
        self._draw({"CopyBuffer": copy}, 0)

    def clear(self, color: int) -> None:
        self._events.append({"ScreenClear": {"color": _color(color)}})

    def double_buffer(self, enable: bool) -> None:
        self._events.append({"ScreenDoubleBufferMode": {"enable": enable}})

    def render(self) -> None:
        self._events.append("ScreenRender")

    def _draw(self, command: Mapping[str, Any], color: int) -> None:
        draw = {"command": command, "color": _color(color), "background": _color(0)}
        self._events.append({"ScreenDraw": draw})


class Robot:
    """The state that the frontend sets up and that a robot program reads and changes."""

    def __init__(self) -> None:
        self.events: list[Any] = []
        self.screen = Screen(self.events)
        self.motors: dict[Port, Motor] = {}
        self.competition: dict[str, Any] = dict(DEFAULT_COMPETITION)
        self.capacity = FULL  # Wh
        self.touch: dict[str, Any] | None = None
        self.adi: dict[int, float] = {}  # V by port
        self.links: dict[int, bool] = {}  # True for an open link, by Smart port
        self.card: Path | None = None
        self.gamepad: str | None = None  # its UUID; no gamepad is ever attached
        self._raw: dict[str, Any] | None = None
        self._x = 0.0  # m
        self._told: dict[Port | str, Any] = {
            "battery": None,
            "pose": (0.0, 0.0),
            "moving": False,
        }

    # Changes by the frontend's commands

    def configure(self, port: Port, gearset: str, inertia: float) -> None:
        """Configure a motor; the last configuration of a port counts."""
        motor = Motor(gearset, max(inertia, 0.0))
        self.motors[port] = motor
        self._told[port] = motor.status()

    def control(self, kind: str, content: Any) -> None:
        """Set the controller's state (`Raw`) or the gamepad to read (`UUID`)."""
        self.gamepad = content if kind == "UUID" else None
        self._raw = content if kind == "Raw" else None

    # Functions for a robot program

    @property
    def controller(self) -> dict[str, Any] | None:
        """The controller's state; None if it is missing or the program must not read it now."""
        driving = self.competition["enabled"] and self.competition["mode"] == "Driver"
        return self._raw if driving else None

    def serial(self, channel: int, data: bytes) -> None:
        encoded = base64.b64encode(data).decode()
        self.events.append({"Serial": {"channel": channel, "data": encoded}})

    def log(self, level: str, message: str) -> None:
        self.events.append({"Log": {"level": level, "message": message}})

    def link(self, port: int, name: str, mode: str = "Manager", *, override: bool = False) -> None:
        connect = {"port": port, "id": name, "mode": mode, "override": override}
        self.events.append({"VEXLinkConnect": connect})

    def unlink(self, port: int) -> None:
        self.events.append({"VEXLinkDisconnect": {"port": port}})

    def write_file(self, name: str, data: bytes) -> None:
        """Write a file on the SD card. Raises OSError, also if no card is mounted."""
        self._path(name).write_bytes(data)

    def read_file(self, name: str) -> bytes:
        return self._path(name).read_bytes()

    def _path(self, name: str) -> Path:
        if self.card is None:
            raise FileNotFoundError("no SD card")
        return self.card / name

    # Time

    def step(self, seconds: float) -> None:
        """Let time pass, and add events for all changes since the last step."""
        enabled = self.competition["enabled"] and self.capacity > 0.0
        for motor in self.motors.values():
            motor.step(seconds, NOMINAL if enabled else 0.0)
        power = sum(motor.power for motor in self.motors.values())
        self.capacity = max(self.capacity - power * seconds / 3600.0, 0.0)
        if self.motors:
            speed = sum(motor.velocity for motor in self.motors.values()) / len(self.motors)
            self._x += WHEEL * speed * seconds
        self._tell_devices()
        self._tell_robot(power)

    def _tell_devices(self) -> None:
        for port, motor in self.motors.items():
            if self._changed(port, status := motor.status()):
                update = {"port": port_form(port), "status": status}
                self.events.append({"DeviceUpdate": update})

    def _tell_robot(self, power: float) -> None:
        volts = 11.0 + 1.8 * min(self.capacity / FULL, 1.0)
        battery = {
            "voltage": round(volts, 2),
            "current": round(power / volts, 2),
            "capacity": round(self.capacity, 3),
        }
        if self._changed("battery", battery):
            self.events.append({"Battery": battery})
        if self._changed("pose", pose := (round(self._x, 3), 0.0)):
            self.events.append({"RobotPose": {"x": pose[0], "y": pose[1]}})
        moving = any(round(motor.velocity, 4) for motor in self.motors.values())
        if self._changed("moving", moving):
            self.events.append({"RobotState": None})

    def _changed(self, what: Port | str, state: Any) -> bool:
        """Return True if the state differs from the last sent state.

        The state is then recorded as sent.
        """
        changed = bool(self._told[what] != state)
        self._told[what] = state
        return changed


def point(x: int, y: int) -> dict[str, int]:
    return {"x": x, "y": y}


def rectangle(left: int, top: int, right: int, bottom: int) -> dict[str, Any]:
    return {
        "Rectangle": {
            "top_left": point(left, top),
            "bottom_right": point(right, bottom),
        }
    }


def circle(x: int, y: int, radius: int) -> dict[str, Any]:
    return {"Circle": {"center": point(x, y), "radius": radius}}


def pixel(x: int, y: int) -> dict[str, Any]:
    return {"Pixel": {"pos": point(x, y)}}


def _color(color: int) -> dict[str, int]:
    return {"r": color >> 16, "g": color >> 8 & 0xFF, "b": color & 0xFF}


def _rounded(value: float) -> float:
    return round(value, 4) + 0.0  # no negative zero
