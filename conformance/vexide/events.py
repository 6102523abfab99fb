"""The events that test cases send to a frontend."""

import base64
from collections.abc import Sequence
from typing import Any

from conformance.session import Session
from conformance.vexide.commands import port
from conformance.vexide.tester import messages_named

READY = "Ready"
EXITED = "Exited"
LARGE, SMALL = 1e30, 1e-30
"""Extreme floats that a type of 32 bits can hold: the specification does not give the width."""
LEVELS = ("Trace", "Info", "Warn", "Error")
SIGNATURE = {"VCodeSig": "WFZYNQIAAAAAAAAAAAAAAAAAAAAAAAAA"}

_MOTOR = {
    "velocity": 1.0,
    "reversed": False,
    "power_draw": 1.5,
    "torque_output": 0.25,
    "flags": 0,
    "position": 2.5,
    "target_position": 0.0,
    "voltage": 6.0,
    "gearset": "Green",
    "brake_mode": "Coast",
}
_BLACK = {"r": 0, "g": 0, "b": 0}
_BOX = {"top_left": {"x": 0, "y": 0}, "bottom_right": {"x": 2, "y": 2}}
# Three lines of three pixels, if the frontend includes the bottom right corner. The buffer contains
# them if stride counts bytes, and also if stride counts pixels.
_PIXELS = {**_BOX, "stride": 12, "buffer": base64.b64encode(bytes(4 * 12 * 3)).decode()}


def answer(version: int = 1, extensions: Sequence[str] = (), **unknown: Any) -> dict[str, Any]:
    """Return a Handshake event."""
    return {"Handshake": {"version": version, "extensions": list(extensions), **unknown}}


def log(message: str, level: str = "Info") -> dict[str, Any]:
    return {"Log": {"level": level, "message": message}}


def color(red: int, green: int, blue: int) -> dict[str, int]:
    return {"r": red, "g": green, "b": blue}


def drawing(command: Any, ink: Any = None) -> dict[str, Any]:
    """Return a ScreenDraw event; the colour is orange unless ``ink`` is given."""
    ink = ink or color(255, 128, 0)
    return {"ScreenDraw": {"command": command, "color": ink, "background": _BLACK}}


def motor_status(**changed: Any) -> dict[str, Any]:
    """Return the status of a motor; missing fields have the values of _MOTOR."""
    return {"Motor": {**_MOTOR, **changed}}


def update(session: Session, status: Any) -> dict[str, Any]:
    """Return a DeviceUpdate event for the first port that the frontend has configured.

    If the frontend has configured no port, the event is for Smart port 1.
    """
    configured = messages_named(session, "ConfigureDevice")
    where = configured[0].value["ConfigureDevice"].get("port") if configured else port(session, 1)
    return {"DeviceUpdate": {"port": where, "status": status}}


PROGRAM: dict[str, Any] = {
    "serial": {"Serial": {"channel": 1, "data": "SGVsbG8gV29ybGQhCg=="}},
    "serial-empty": {"Serial": {"channel": 2, "data": ""}},
    "serial-binary": {"Serial": {"channel": 1, "data": "gP8A/g=="}},
    "screen-clear": {"ScreenClear": {"color": _BLACK}},
    "fill": drawing({"Fill": {"shape": {"Rectangle": _BOX}}}),
    "stroke": drawing({"Stroke": {"shape": {"Circle": {"center": {"x": 9, "y": 9}, "radius": 4}}}}),
    "pixel": drawing({"Fill": {"shape": {"Pixel": {"pos": {"x": 479, "y": 271}}}}}),
    "copy-buffer": drawing({"CopyBuffer": _PIXELS}),
    "double-buffer-on": {"ScreenDoubleBufferMode": {"enable": True}},
    "render": "ScreenRender",
    "double-buffer-off": {"ScreenDoubleBufferMode": {"enable": False}},
    "battery": {"Battery": {"voltage": 12.6, "current": 0.5, "capacity": 14}},
}
"""Events of a running program, except DeviceUpdate and events without a defined effect."""

EXTREMES: dict[str, Any] = {
    "battery-empty": {"Battery": {"voltage": 0, "current": -0.5, "capacity": 0.0}},
    "battery-of-any-size": {"Battery": {"voltage": SMALL, "current": -LARGE, "capacity": SMALL}},
    "serial-channel-0": {"Serial": {"channel": 0, "data": "AA=="}},
    "circle-over-the-edge": drawing(
        {"Fill": {"shape": {"Circle": {"center": {"x": 0, "y": 271}, "radius": 40}}}}
    ),
    "outline-of-all": drawing(
        {
            "Stroke": {
                "shape": {
                    "Rectangle": {
                        "top_left": {"x": 0, "y": 0},
                        "bottom_right": {"x": 479, "y": 271},
                    }
                }
            }
        }
    ),
}
"""Events with extreme values that a program can produce."""

MOTORS: dict[str, Any] = {
    "motor": motor_status(),
    "motor-backwards": motor_status(
        velocity=-3,
        position=-1e3,
        voltage=-12,
        reversed=True,
        gearset="Red",
        brake_mode="Brake",
        target_position=-2,
    ),
    "motor-of-any-size": motor_status(
        velocity=LARGE,
        position=-SMALL,
        torque_output=1 / 3,
        power_draw=2**53,
        target_position=1e22,
    ),
    "motor-held": motor_status(
        velocity=0, position=0, voltage=0, gearset="Blue", brake_mode="Hold"
    ),
}
"""Reports of a motor, with each gearset and each brake mode."""

UNSETTLED: dict[str, Any] = {
    "pose": {"RobotPose": {"x": -0.5, "y": -1}},
    "state": {"RobotState": None},
    "link-connect": {
        "VEXLinkConnect": {"port": 20, "id": "link", "mode": "Manager", "override": False}
    },
    "link-disconnect": {"VEXLinkDisconnect": {"port": 20}},
}
"""Events whose effect the specification leaves open."""
