"""The tester of a gamepad sender: moves gamepads, and reads the messages."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from conformance.definitions.keywords import short_json
from conformance.runtime.shapes import GAMEPADS, mark
from conformance.runtime.tester import run_operation
from conformance.session import Session
from conformance.verdicts import Violation

AXES = ("lx", "ly", "rx", "ry")
BUTTONS = 17
EACH, POSITION, PRESSED = "gamepad.each", "gamepad.axes", "gamepad.buttons"
NEAR = 1e-3  # tolerance of a position, as a fraction of the radius of the unit circle

Pad = Mapping[str, Any]


def pad(*axes: float, pressed: Sequence[int] = ()) -> Pad:
    """Return raw input: up to four axes (others at rest), and the pressed buttons."""
    return {
        "axes": [*axes, *[0.0] * (4 - len(axes))],
        "buttons": [number in pressed for number in range(BUTTONS)],
    }


def state(pad: Any) -> Any:
    """Return the axes and buttons of a gamepad in a message.

    A sender can add other keys.
    """
    if not isinstance(pad, dict) or mark(pad):
        return pad
    return {name: value for name, value in pad.items() if name in (*AXES, "btn")}


async def play(session: Session, **pads: Pad) -> None:
    """Put the gamepads with these indices (`_0`, `_3`) into a state."""
    await run_operation(
        session, "gamepads", **{name.removeprefix("_"): p for name, p in pads.items()}
    )


async def expect_pad(
    session: Session,
    expected: str,
    holds: Callable[[Any], bool],
    index: str = "0",
    wrong: str | None = None,
) -> Any:
    """Return a gamepad that meets a condition, from the next messages.

    Raises Violation if there is none:

    - of gamepad.each, if nothing is sent or the gamepad is missing
    - of gamepad.index, if gamepad 0 has another index, or an index is not a decimal number
    - of ``wrong``, in all other cases
    """
    try:
        latest = [await session.expect(GAMEPADS)]
    except Violation as missing:
        raise Violation(expected, missing.came, EACH) from missing

    def pad() -> Any:
        pads = latest[0].value.get("gamepads")
        return state(pads.get(index, "no such gamepad")) if isinstance(pads, dict) else pads

    def is_right() -> bool:
        return isinstance(pad(), dict) and not mark(pad()) and holds(pad())

    def about() -> str | None:
        others = latest[0].value.get("gamepads") or ()
        misnamed = others and (index == "0" or not all(map(is_index, others)))
        missing = "gamepad.index" if misnamed else EACH
        return wrong if isinstance(pad(), dict) else missing

    async def comes_in_time() -> bool:
        while session.unread_messages(GAMEPADS) and (message := await session.wait_for(GAMEPADS)):
            latest[:] = [message]
            if is_right():
                return True
        return False

    what = "a gamepad in its state"
    if not (is_right() or await session.poll_until(comes_in_time, what, "response", about())):
        raise Violation(expected, f"received {short_json(pad())}", about(), latest[0].event)
    return pad()


def is_index(key: str) -> bool:
    """Return True for a decimal number without sign or leading zeros."""
    return key.isascii() and key.isdecimal() and str(int(key)) == key


async def learn(session: Session, *raws: Pad) -> list[Any]:
    """Return how the sender writes each of these states, if it has a single gamepad.

    Each state must be written differently from the state before; otherwise gamepad.buttons is
    violated. A test about several gamepads compares with these states. It therefore does not depend
    on the bits of buttons or on the values of axes.
    """
    states: list[Any] = []
    for raw in raws:
        await play(session, _0=raw)
        expected = (
            f"another state of gamepad 0 than {short_json(states[-1:])} for {short_json(raw)}"
        )
        states.append(await expect_pad(session, expected, is_none_of(states[-1:]), "0", PRESSED))
    return states


def is_none_of(before: Sequence[Any]) -> Callable[[Any], bool]:
    """Return a condition: the gamepad is in none of these states."""
    return lambda came: came not in before


def is_equal_to(state: Any) -> Callable[[Any], bool]:
    """Return a condition: the gamepad is in this state."""
    return lambda came: bool(came == state)


def is_at(**positions: float) -> Callable[[Any], bool]:
    """Return a condition: the axes of these names are at these positions."""
    return lambda came: all(
        isinstance(came.get(name), int | float) and abs(came[name] - value) <= NEAR
        for name, value in positions.items()
    )


def is_away(*names: str) -> Callable[[Any], bool]:
    """Return a condition: at least one of these axes is not at 0."""
    rests = is_at(**dict.fromkeys(names, 0.0))
    return lambda came: not rests(came)


def is_along(name: str, raw: float, sign: float, most: float = 1 + NEAR) -> Callable[[Any], bool]:
    """Return a condition: this axis has moved to its side; others are at 0.

    `sign` is the sign of the value for positive raw input, 0 if unknown. `most` is the greatest
    distance from 0.
    """
    others = is_at(**{other: 0.0 for other in AXES if other != name})

    def holds(came: Any) -> bool:
        value = came.get(name)
        if not isinstance(value, int | float) or not others(came):
            return False
        return 0 < abs(value) <= most and (not sign or value * raw * sign > 0)

    return holds


def is_on_sides(**positions: float) -> Callable[[Any], bool]:
    """Return a condition: the axes of these names have the signs of these positions."""
    return lambda came: all(
        isinstance(came.get(name), int | float) and came[name] * value > 0
        for name, value in positions.items()
    )


def is_at_end(name: str) -> Callable[[Any], bool]:
    """Return a condition: an axis is at 1 or at -1."""
    return lambda came: isinstance(came.get(name), int | float) and abs(abs(came[name]) - 1) <= NEAR


def has_mask(mask: int) -> Callable[[Any], bool]:
    """Return a condition: btn is this bitmask."""
    return lambda came: came.get("btn") == mask
