"""The commands that test cases send to a simulator."""

from collections.abc import Sequence
from typing import Any

from conformance.session import Session

PORTS = "form of ports"
"""What is remembered of the IUT: whether it understands ports that are `tagged` or `bare`."""

START = "StartExecution"
DRIVER = {"enabled": True, "connected": True, "mode": "Driver", "is_competition": False}
BUTTONS = ("l1", "l2", "r1", "r2", "up", "down", "left", "right", "x", "b", "y", "a", "sel", "all")

GAMEPADS = ("03000000100800000100000010010000", "05000000201900000800000001000000")
"""As SDL2 identifies them."""


def hello(version: int = 1, extensions: Sequence[str] = (), **unknown: Any) -> dict[str, Any]:
    """A Handshake command."""
    return {"Handshake": {"version": version, "extensions": list(extensions), **unknown}}


def port(session: Session, number: int) -> Any:
    """A Smart port in the form that the IUT understands."""
    declared = session.instance.configuration.value("ports")
    return written(number, session.memory.get(PORTS, "tagged") if declared == "auto" else declared)


def written(number: int, form: str) -> Any:
    """A Smart port in one of its forms: `tagged` or `bare`."""
    return number if form == "bare" else {"Smart": number}


def motor(
    session: Session, number: int, gearset: str = "Green", inertia: float = 1.0
) -> dict[str, Any]:
    """A ConfigureDevice command that puts a motor on a Smart port."""
    device = {"Motor": {"physical_gearset": gearset, "moment_of_inertia": inertia}}
    return {"ConfigureDevice": {"port": port(session, number), "device": device}}


def adapted(session: Session, command: Any) -> Any:
    """A command with its port, if it has one, in the form that the IUT understands."""
    match command:
        case {"ConfigureDevice": {"port": {"Smart": number}, **rest}}:
            return {"ConfigureDevice": {"port": port(session, number), **rest}}
    return command


def competition(**mode: Any) -> dict[str, Any]:
    """A CompetitionMode command; what is not given is as in DRIVER."""
    return {"CompetitionMode": {**DRIVER, **mode}}


def raw(axis1: int = 0, **state: Any) -> dict[str, Any]:
    """A ControllerUpdate command with a raw state, all at rest but what is given."""
    return {
        "ControllerUpdate": {
            "Raw": {
                "axis1": axis1,
                **dict.fromkeys(("axis2", "axis3", "axis4"), 0),
                **{f"button_{name}": False for name in BUTTONS},
                "battery_level": 100,
                "battery_capacity": 100,
                "flags": 0,
                **state,
            }
        }
    }


def touch(x: int, y: int, event: str) -> dict[str, Any]:
    """A Touch command: Pressed, Held or Released at a pixel of the display."""
    return {"Touch": {"pos": {"x": x, "y": y}, "event": event}}
