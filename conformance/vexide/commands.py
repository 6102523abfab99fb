"""The commands that test cases send to a simulator."""

from collections.abc import Sequence
from typing import Any

from conformance.session import Session

START = "StartExecution"
DRIVER = {"enabled": True, "connected": True, "mode": "Driver", "is_competition": False}
BUTTONS = ("l1", "l2", "r1", "r2", "up", "down", "left", "right", "x", "b", "y", "a", "sel", "all")


def hello(version: int = 1, extensions: Sequence[str] = (), **unknown: Any) -> dict[str, Any]:
    """A Handshake command."""
    return {"Handshake": {"version": version, "extensions": list(extensions), **unknown}}


def port(session: Session, number: int) -> Any:
    """A Smart port in the form that the IUT wants."""
    bare = session.instance.configuration.value("ports") == "bare"
    return number if bare else {"Smart": number}


def motor(
    session: Session, number: int, gearset: str = "Green", inertia: float = 1.0
) -> dict[str, Any]:
    """A ConfigureDevice command that puts a motor on a Smart port."""
    device = {"Motor": {"physical_gearset": gearset, "moment_of_inertia": inertia}}
    return {"ConfigureDevice": {"port": port(session, number), "device": device}}


def adapted(session: Session, command: Any) -> Any:
    """A command with its port, if it has one, in the form that the IUT wants."""
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
