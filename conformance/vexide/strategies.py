"""Strategies for what a peer may say: sensible setups, and every message that has a valid form."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from conformance.definitions import protocols
from conformance.generation import NearMiss, near_misses, valid
from conformance.vexide.codec import name_of

WIDTH, HEIGHT = 480, 272  # pixels of the Brain's display
_FAR = 1000  # pixels: what is drawn farther away shows no more, and takes some very long to draw
FULL = 14.0  # Wh
_SIDE = 9  # entries that a list has at most; half as many on average

Command = Any

# A command that opens or moves on the session is not part of its setup.
_ORDERED = ("Handshake", "StartExecution", "Ready", "Exited")


@cache
def setups() -> SearchStrategy[list[Command]]:
    """Setup commands that make sense together with any robot: in range, and physically possible."""
    return _many(_sensible(), 3)


def _many(messages: SearchStrategy[Command], depth: int) -> SearchStrategy[list[Command]]:
    """Lists of lists, so deep, as one: a session costs a process, and had better carry many.

    They become smaller by whole lists, so that it is soon found which of the messages matter.
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
        st.builds(_motor, st.integers(0, 20), gearsets, st.floats(0.001, 100)),
        _message("frontend", "CompetitionMode", extras=False),
        st.floats(0, FULL).map(lambda wh: {"SetBatteryCapacity": {"capacity": wh}}),
        _message("frontend", "ControllerUpdate", extras=False).map(_possible),
        st.builds(
            lambda x, y, event: {"Touch": {"pos": {"x": x, "y": y}, "event": event}},
            st.integers(0, WIDTH - 1),
            st.integers(0, HEIGHT - 1),
            st.sampled_from(["Pressed", "Held", "Released"]),
        ),
    )


@cache
def messages(sender: str) -> SearchStrategy[list[Command]]:
    """Any valid messages of a role, sensible or not, but for those that order a session."""
    return _many(st.one_of(*_each(sender, _message)), 2)


@cache
def misses(sender: str) -> SearchStrategy[list[NearMiss]]:
    """Messages of a role that violate their schemas in one place each.

    None of those whose values come back: what a simulator then reports would be our violation.
    """
    passed_over = ("ConfigureDevice", "SetBatteryCapacity")
    return st.lists(st.one_of(*_each(sender, _near_miss, passed_over)), min_size=1, max_size=20)


def _each(sender: str, make: Any, passed_over: Sequence[str] = ()) -> list[SearchStrategy[Any]]:
    names = [name for role, name in protocols.load("vexide").messages if role == sender]
    return [make(sender, name) for name in names if name not in (*_ORDERED, *passed_over)]


def _message(sender: str, name: str, extras: bool = True) -> SearchStrategy[Command]:
    return valid(_schema(sender, name), extras=extras).map(_near_the_display)


def _near_miss(sender: str, name: str) -> SearchStrategy[NearMiss]:
    # Deferred, as they take long to find, and a run of other tests needs none.
    # What has another name is no message that is wrong, but one that is unknown.
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
    """Whether it is the status of a kind of device that is only unknown."""
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
    """The same message with all pixel coordinates and sizes close to the display."""
    if name in ("x", "y", "radius", "stride") and type(value) is int:
        return max(-_FAR, min(value, _FAR))
    if isinstance(value, dict):
        return {key: _near_the_display(entry, key) for key, entry in value.items()}
    return [_near_the_display(entry) for entry in value] if isinstance(value, list) else value


def _possible(update: Command) -> Command:
    """The same update with an SDL2 identifier, or with flags and battery as they really are."""
    match update["ControllerUpdate"]:
        case {"UUID": text}:
            return {"ControllerUpdate": {"UUID": f"{text.encode().hex():0<32.32}"}}
        case {"Raw": state}:
            state["battery_capacity"] = min(state["battery_capacity"], 1000)
            state["battery_level"] = min(state["battery_level"], state["battery_capacity"])
            state["flags"] = 0
    return update
