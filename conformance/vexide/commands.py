"""The commands that test cases send to a simulator."""

from collections.abc import Sequence
from typing import Any

from conformance.session import Session

PORTS = "form of ports"
"""Memory key for the form of ports that the IUT accepts, `tagged` or `bare`."""

START = "StartExecution"
DRIVER = {"enabled": True, "connected": True, "mode": "Driver", "is_competition": False}
BUTTONS = ("l1", "l2", "r1", "r2", "up", "down", "left", "right", "x", "b", "y", "a", "sel", "all")

GAMEPADS = ("03000000100800000100000010010000", "05000000201900000800000001000000")
"""Identifiers of two gamepads, as SDL2 writes them."""


def hello(version: int = 1, extensions: Sequence[str] = (), **unknown: Any) -> dict[str, Any]:
    """Return a Handshake command."""
    return {"Handshake": {"version": version, "extensions": list(extensions), **unknown}}


def port(session: Session, number: int) -> Any:
    """Return a Smart port in the form that the IUT accepts."""
    declared = session.instance.configuration.value("ports")
    return port_in_form(
        number, session.facts.get(PORTS, "tagged") if declared == "auto" else declared
    )


def port_in_form(number: int, form: str) -> Any:
    """Return a Smart port in the given form: `tagged` or `bare`."""
    return number if form == "bare" else {"Smart": number}


def motor(
    session: Session, number: int, gearset: str = "Green", inertia: float = 1.0
) -> dict[str, Any]:
    """Return a ConfigureDevice command for a motor on a Smart port; inertia in kg m²."""
    device = {"Motor": {"physical_gearset": gearset, "moment_of_inertia": inertia}}
    return {"ConfigureDevice": {"port": port(session, number), "device": device}}


def with_accepted_port(session: Session, command: Any) -> Any:
    """Return the command with its port, if any, in the form that the IUT accepts."""
    match command:
        case {"ConfigureDevice": {"port": {"Smart": number}, **rest}}:
            return {"ConfigureDevice": {"port": port(session, number), **rest}}
    return command


def competition(**mode: Any) -> dict[str, Any]:
    """Return a CompetitionMode command; missing fields have the values of DRIVER."""
    return {"CompetitionMode": {**DRIVER, **mode}}


def raw_state(axis1: int = 0, **state: Any) -> dict[str, Any]:
    """Return a ControllerUpdate command with a Raw state.

    Axes are 0 and buttons are released unless given.
    """
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
    """Return a Touch command: Pressed, Held or Released at a pixel of the display."""
    return {"Touch": {"pos": {"x": x, "y": y}, "event": event}}
