"""The shapes of the vexide messages for the mocks (specification: Commands, Events)."""

import base64
from typing import Any

from mocks.shapes import (
    Maybe,
    OneOf,
    Shape,
    Unfit,
    anything,
    boolean,
    choice,
    integer,
    number,
    read,
    text,
    texts,
)

Port = tuple[str, int]
"""`("Smart", 0)` to `("Smart", 20)`, or `("Adi", 0)` to `("Adi", 7)`."""

_INT = integer(-(2**31), 2**31 - 1)
SMART_PORT = integer(0, 20)
ADI_PORT = integer(0, 7)
_PORT = OneOf({"Smart": SMART_PORT, "Adi": ADI_PORT})


def port(value: Any) -> Port:
    """Read a port; a bare number is a Smart port, as in the specification's example."""
    tagged = {"Smart": value} if isinstance(value, int) else value
    kind, number = read(_PORT, tagged, [])
    return kind, number


def port_form(port: Port) -> dict[str, int]:
    """Return the tagged form of a port for the wire."""
    kind, number = port
    return {kind: number}


def base64_bytes(value: Any) -> bytes:
    try:
        return base64.b64decode(text(value), validate=True)
    except ValueError:
        raise Unfit("is not base64") from None


def _stride(value: Any) -> int:
    number: int = _INT(value)
    if number == 0:
        raise Unfit("is zero")
    return number


POINT: Shape = {"x": _INT, "y": _INT}
_BYTE = integer(0, 255)
COLOR: Shape = {"r": _BYTE, "g": _BYTE, "b": _BYTE}
GEARSET = choice("Red", "Green", "Blue")
COMPETITION: Shape = {
    "enabled": boolean,
    "connected": boolean,
    "mode": choice("Auto", "Driver"),
    "is_competition": boolean,
}
AXES = ("axis1", "axis2", "axis3", "axis4")
_KEYS = (
    "l1",
    "l2",
    "r1",
    "r2",
    "up",
    "down",
    "left",
    "right",
    "x",
    "b",
    "y",
    "a",
    "sel",
    "all",
)
BUTTONS = tuple(f"button_{key}" for key in _KEYS)
RAW: Shape = {
    **dict.fromkeys(AXES, integer(-127, 127)),
    **dict.fromkeys(BUTTONS, boolean),
    "battery_level": integer(0, 2**31 - 1),
    "battery_capacity": integer(1, 2**31 - 1),
    "flags": integer(-(2**31), 2**32 - 1),
}
CONTROLLER = OneOf({"Raw": RAW, "UUID": text})
DEVICE = OneOf({"Motor": {"physical_gearset": GEARSET, "moment_of_inertia": number}})
HANDSHAKE: Shape = {"version": integer(-(2**63), 2**63 - 1), "extensions": texts}
_LINK_MODE = choice("Manager", "Worker")

COMMANDS = OneOf(
    {
        "Handshake": HANDSHAKE,
        "Touch": {"pos": POINT, "event": choice("Released", "Pressed", "Held")},
        "ControllerUpdate": CONTROLLER,
        "USD": {"root": Maybe(text)},
        "VEXLinkOpened": {"port": SMART_PORT, "mode": _LINK_MODE},
        "VEXLinkClosed": {"port": SMART_PORT},
        "CompetitionMode": COMPETITION,
        "ConfigureDevice": {"port": port, "device": DEVICE},
        "AdiInput": {"port": ADI_PORT, "voltage": number},
        "StartExecution": None,
        "SetBatteryCapacity": {"capacity": number},
    }
)

SHAPE = OneOf(
    {
        "Rectangle": {"top_left": POINT, "bottom_right": POINT},
        "Circle": {"center": POINT, "radius": _INT},
        "Pixel": {"pos": POINT},
    }
)
DRAW = OneOf(
    {
        "Fill": {"shape": SHAPE},
        "Stroke": {"shape": SHAPE},
        "CopyBuffer": {
            "top_left": POINT,
            "bottom_right": POINT,
            "stride": _stride,
            "buffer": base64_bytes,
        },
    }
)
STATUS = OneOf(
    {
        "Motor": {
            "velocity": number,
            "reversed": boolean,
            "power_draw": number,
            "torque_output": number,
            "flags": integer(-(2**31), 2**32 - 1),
            "position": number,
            "target_position": Maybe(number),
            "voltage": number,
            "gearset": GEARSET,
            "brake_mode": choice("Coast", "Brake", "Hold"),
        }
    }
)

EVENTS = OneOf(
    {
        "Handshake": HANDSHAKE,
        "ScreenDraw": {"command": DRAW, "color": COLOR, "background": COLOR},
        "ScreenClear": {"color": COLOR},
        "ScreenDoubleBufferMode": {"enable": boolean},
        "ScreenRender": None,
        "VCodeSig": text,
        "Ready": None,
        "Exited": None,
        "Serial": {"channel": _INT, "data": base64_bytes},
        "DeviceUpdate": {"status": STATUS, "port": port},
        "Battery": {"voltage": number, "current": number, "capacity": number},
        "RobotPose": {"x": number, "y": number},
        "RobotState": anything,
        "Log": {"level": choice("Trace", "Info", "Warn", "Error"), "message": text},
        "VEXLinkConnect": {
            "port": SMART_PORT,
            "id": text,
            "mode": _LINK_MODE,
            "override": boolean,
        },
        "VEXLinkDisconnect": {"port": SMART_PORT},
    }
)
