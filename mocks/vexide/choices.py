"""The choices of the frontend mock's user: devices, modes, controller and others."""

from dataclasses import dataclass, field
from typing import Any

from mocks.shapes import read, text
from mocks.vexide import messages
from mocks.vexide.messages import AXES, BUTTONS, Port

NEUTRAL: dict[str, Any] = {
    **dict.fromkeys(AXES, 0),
    **dict.fromkeys(BUTTONS, False),
    "battery_level": 100,
    "battery_capacity": 100,
    "flags": 0,
}
GAMEPAD = "030000005e0400008e02000010010000"  # SDL's identifier of a common gamepad


@dataclass(slots=True)
class World:
    """The user's choices, and settings of the frontend.

    - `battery`: the capacity in Wh, or None for the default
    - `hold`: True if the frontend waits for the operation start
    - `hold_time`: seconds until a touch counts as held
    """

    devices: dict[Port, Any] = field(default_factory=dict)
    adi: dict[int, float] = field(default_factory=dict)  # V by port
    competition: dict[str, Any] = field(
        default_factory=lambda: {
            "enabled": True,
            "connected": False,
            "mode": "Driver",
            "is_competition": False,
        }
    )
    controller: dict[str, Any] | None = None
    battery: float | None = None
    card: str | None = None
    extensions: tuple[str, ...] = ()
    hold: bool = False
    hold_time: float = 0.3


def controller(update: Any) -> dict[str, Any]:
    """Return the `ControllerUpdate` for an input of the user, with all values in their ranges."""
    if isinstance(update, dict) and set(update) == {"UUID"}:
        return {"UUID": text(update["UUID"])}
    state = {**NEUTRAL, **update.get("Raw", update), "flags": 0}
    for axis in AXES:
        state[axis] = max(-127, min(127, state[axis]))
    state["battery_capacity"] = max(1, state["battery_capacity"])
    state["battery_level"] = max(0, min(state["battery_capacity"], state["battery_level"]))
    return {"Raw": read(messages.RAW, state, [])}
