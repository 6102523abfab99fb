"""Hypothesis strategies for messages of a peer: sensible setups, and all valid messages."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from conformance.definitions import protocols
from conformance.generation import NearMiss, near_misses, valid
from conformance.vexide.codec import name_of
from conformance.vexide.events import LARGE

WIDTH, HEIGHT = 480, 272  # pixels of the Brain's display
_FAR = 1000  # pixels; objects farther away are invisible and can take very long to draw
FULL = 14.0  # Wh
_SIDE = 9  # maximum number of entries of a list; the average is half of this

Command = Any

# These messages control the progress of a session and are not part of its setup.
_ORDERED = ("Handshake", "StartExecution", "Ready", "Exited")


@cache
def setups() -> SearchStrategy[list[Command]]:
    """Draw setup commands that suit any robot: values in range and physically possible."""
    return _many(_sensible(), 3)


def _many(messages: SearchStrategy[Command], depth: int) -> SearchStrategy[list[Command]]:
    """Draw nested lists and flatten them into one list.

    A session needs a process, so an example contains many messages. Hypothesis shrinks an example
    by whole inner lists, which quickly finds the messages that matter.
    """
    lists = st.lists(messages, max_size=_SIDE)
    for _ in range(depth - 1):
        lists = st.lists(lists, max_size=_SIDE).map(_flat)
    return lists


def _flat(lists: list[list[Command]]) -> list[Command]:
    return [command for each in lists for command in each]


def _sensible() -> SearchStrategy[Command]:
    gearsets = st.sampled_from(["Red", "Green", "Blue"])
    return st.one_of(
        st.builds(_motor, st.integers(0, 20), gearsets, _floats(2**-10, 100)),
        _message("frontend", "CompetitionMode", extras=False),
        _floats(0, FULL).map(lambda wh: {"SetBatteryCapacity": {"capacity": wh}}),
        _message("frontend", "ControllerUpdate", extras=False).map(_possible),
        st.builds(
            lambda x, y, event: {"Touch": {"pos": {"x": x, "y": y}, "event": event}},
            st.integers(0, WIDTH - 1),
            st.integers(0, HEIGHT - 1),
            st.sampled_from(["Pressed", "Held", "Released"]),
        ),
    )


def _floats(least: float, most: float) -> SearchStrategy[float]:
    """Draw numbers that a type of 32 bits holds: the specification does not give the width."""
    return st.floats(least, most, width=32, allow_subnormal=False)


@cache
def messages(sender: str) -> SearchStrategy[list[Command]]:
    """Draw any valid messages of a role that do not control the session's progress."""
    return _many(st.one_of(*_each(sender, _message)), 2)


@cache
def misses(sender: str) -> SearchStrategy[list[NearMiss]]:
    """Draw messages of a role that violate their schemas in one place each.

    ConfigureDevice and SetBatteryCapacity are excluded, because the simulator reports their values.
    The suite would then blame the simulator for its own invalid values.
    """
    passed_over = ("ConfigureDevice", "SetBatteryCapacity")
    return st.lists(st.one_of(*_each(sender, _near_miss, passed_over)), min_size=1, max_size=20)


def _each(sender: str, make: Any, passed_over: Sequence[str] = ()) -> list[SearchStrategy[Any]]:
    names = [name for role, name in protocols.load("vexide").messages if role == sender]
    return [make(sender, name) for name in names if name not in (*_ORDERED, *passed_over)]


def _message(sender: str, name: str, extras: bool = True) -> SearchStrategy[Command]:
    drawn = valid(_schema(sender, name), extras=extras).map(_near_the_display)
    # A simulator reports the values of commands, possibly in a type of 32 bits.
    return drawn.map(_narrow) if sender == "frontend" else drawn


def _near_miss(sender: str, name: str) -> SearchStrategy[NearMiss]:
    # The search for near misses takes long, so it is deferred until a test needs the result. A
    # message with another name is an unknown message, not a near miss.
    return st.deferred(
        lambda: (
            near_misses(_schema(sender, name))
            .filter(
                lambda miss: name_of(miss.value) in (name, None) and not _of_another(miss.value)
            )
            .map(_drawable)
        )
    )


def _of_another(update: Any) -> bool:
    """Return True if the update contains a status of an unknown kind of device."""
    match update:
        case {"DeviceUpdate": {"status": status}}:
            return name_of(status) not in ("Motor", None)
    return False


def _schema(sender: str, name: str) -> Any:
    protocol = protocols.load("vexide")
    return protocol.schemas.schema(protocol.messages[sender, name].schema)


def _motor(port: int, gearset: str, inertia: float) -> Command:
    device = {"Motor": {"physical_gearset": gearset, "moment_of_inertia": inertia}}
    return {"ConfigureDevice": {"port": {"Smart": port}, "device": device}}


def _drawable(miss: NearMiss) -> NearMiss:
    return replace(miss, value=_near_the_display(miss.value))


def _near_the_display(value: Any, name: str = "") -> Any:
    """Limit all pixel coordinates and sizes in a message to values close to the display."""
    if name in ("x", "y", "radius", "stride") and type(value) is int:
        return max(-_FAR, min(value, _FAR))
    if isinstance(value, dict):
        return {key: _near_the_display(entry, key) for key, entry in value.items()}
    return [_near_the_display(entry) for entry in value] if isinstance(value, list) else value


def _narrow(value: Any) -> Any:
    """Limit all floats to values that a type of 32 bits holds, too."""
    if isinstance(value, float):
        return max(-LARGE, min(value, LARGE))
    if isinstance(value, dict):
        return {key: _narrow(entry) for key, entry in value.items()}
    return [_narrow(entry) for entry in value] if isinstance(value, list) else value


def _possible(update: Command) -> Command:
    """Return the update with an SDL2 identifier, or with realistic flags and battery values."""
    match update["ControllerUpdate"]:
        case {"UUID": text}:
            return {"ControllerUpdate": {"UUID": f"{text.encode().hex():0<32.32}"}}
        case {"Raw": state}:
            state["battery_capacity"] = min(state["battery_capacity"], 1000)
            state["battery_level"] = min(state["battery_level"], state["battery_capacity"])
            state["flags"] = 0
    return update
