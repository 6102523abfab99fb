"""Tests of gamepads: positions of joysticks, and pressed buttons."""

import contextlib
import math
from collections.abc import Sequence
from typing import Any

import pytest

from conformance.cases import check, requirement
from conformance.definitions.keywords import short_json
from conformance.iut import Iut
from conformance.runtime.gamepad_sender.tester import (
    AXES,
    BUTTONS,
    EACH,
    NEAR,
    POSITION,
    PRESSED,
    Pad,
    expect_pad,
    has_mask,
    is_along,
    is_at,
    is_at_end,
    is_away,
    is_equal_to,
    is_on_sides,
    learn,
    pad,
    play,
    state,
)
from conformance.runtime.shapes import GAMEPADS
from conformance.runtime.tester import open_operated
from conformance.verdicts import Inconclusive, NotExercised, Violation
from conformance.wire import Message

REST = dict.fromkeys(AXES, 0.0)


@requirement("gamepad.form")
async def test_form(iut: Iut) -> None:
    """A message has the gamepads, each with four axes and the buttons."""
    async with open_operated(iut) as session:
        for raw in (pad(), pad(0.5, -0.5, 0.25, 0.25, pressed=[0, 16])):
            await play(session, _0=raw)
            await session.expect(GAMEPADS, to="for a gamepad", requirement=EACH)


@requirement("gamepad.index")
async def test_indices(iut: Iut) -> None:
    """The index of a gamepad is a string of decimal digits."""
    async with open_operated(iut) as session:
        for index in ("0", "1", "3"):
            await play(session, **{index: pad(pressed=[1])})
            await expect_pad(session, f"a gamepad '{index}'", bool, index)


def _count_pads(message: Message) -> int:
    """Return the number of gamepads in a message."""
    pads = message.value["gamepads"]
    return len(pads) if isinstance(pads, dict) else 0


@requirement("gamepad.index")
async def test_index_of_two_digits(iut: Iut) -> None:
    """The index of the thirteenth gamepad is also a string, if the sender supports it."""
    async with open_operated(iut) as session:
        try:
            await play(session, _12=pad(pressed=[1]))
            message = await session.expect(GAMEPADS, where=lambda m: _count_pads(m) > 0)
        except (Violation, Inconclusive) as missing:
            raise NotExercised(
                "needs a sender that supports more than twelve gamepads"
            ) from missing
        indices = [*message.value["gamepads"]]
        check(indices == ["12"], "a gamepad '12'", f"received {indices}", message.event)


@requirement("gamepad.each")
async def test_two_gamepads(iut: Iut) -> None:
    """Two gamepads are both in the message, each with its own state."""
    async with open_operated(iut) as session:
        one, other = pad(0.0, 0.0, 1.0, 0.0, pressed=[0]), pad(-1.0, 0.0, pressed=[5])
        states = await learn(session, one, other)
        for _ in range(2):
            # A sender can skip a message with an unchanged state, so the state changes in between.
            await play(session, _0=one)
            await play(session, _0=one, _3=other)
            message = await session.expect(
                GAMEPADS, where=lambda m: _count_pads(m) == 2, to="with two gamepads"
            )
            _check_keys(message, "0", "3")
            _check_own(message, "0", states)
            _check_own(message, "3", states[::-1])


def _check_keys(message: Message, *indices: str) -> None:
    """Raise Violation unless a message has exactly these gamepads.

    If index 0 is missing, the violated requirement is gamepad.index.
    """
    came = [*message.value["gamepads"]]
    if {*came} != {*indices}:
        about = None if "0" in came else "gamepad.index"
        raise Violation(f"the keys {', '.join(indices)}", f"received {came}", about, message.event)


def _check_own(message: Message, index: str, states: Sequence[Any]) -> None:
    """Raise Violation unless a gamepad has the first of these states.

    The other states belong to other gamepads. A state of no gamepad violates the requirement of
    buttons or of axes.
    """
    own, *others = states
    came = state(message.value["gamepads"][index])
    if came != own:
        wrong = POSITION if came.get("btn") == own.get("btn") else PRESSED
        about = None if came in others else wrong
        expected = f"gamepad {index} with its own state, {short_json(own)} when it is alone"
        raise Violation(expected, f"received {short_json(came)}", about, message.event)


@requirement("gamepad.each")
async def test_four_gamepads(iut: Iut) -> None:
    """Four gamepads are all in one message, each with its own state."""
    async with open_operated(iut) as session:
        raws = [pad(pressed=[4 * number]) for number in range(4)]
        states = await learn(session, *raws)
        await play(session, **{str(number): raw for number, raw in enumerate(raws)})
        message = await session.expect(
            GAMEPADS, where=lambda m: _count_pads(m) == 4, to="with four gamepads"
        )
        _check_keys(message, *"0123")
        for number in range(4):
            _check_own(message, str(number), states[number:] + states[:number])


@requirement("gamepad.each")
async def test_long_play(iut: Iut) -> None:
    """The last of a hundred states is sent like the first."""
    async with open_operated(iut) as session:
        raws = [pad(pressed=[0]), pad(pressed=[1])]
        states = await learn(session, *raws)
        for number in range(100):
            own = states[number % 2]
            await play(session, _0=raws[number % 2])
            expected = f"state {number} of a hundred, {short_json(own)}"
            await expect_pad(session, expected, is_equal_to(own), wrong=PRESSED)


@requirement("gamepad.each")
async def test_one_comes_and_goes(iut: Iut) -> None:
    """A single gamepad is sent under its own index, after another gamepad was sent before."""
    async with open_operated(iut) as session:
        await play(session, _2=pad(pressed=[3]))
        before = await expect_pad(session, "gamepad 2", bool, "2")
        await play(session, _1=pad(pressed=[4]))
        message = await session.expect(
            GAMEPADS,
            where=lambda m: list(m.value.get("gamepads")) == ["1"],
            to="with gamepad 1 alone",
        )
        alone = state(message.value["gamepads"]["1"])
        expected = f"another state of gamepad 1 than {short_json(before)}"
        check(alone != before, expected, f"received {short_json(alone)}", message.event)


@requirement("gamepad.at-rest")
async def test_at_rest(iut: Iut) -> None:
    """Joysticks at rest are at (0, 0), at the beginning and after a movement."""
    async with open_operated(iut) as session:
        # A sender may send nothing for a gamepad that was never moved.
        with contextlib.suppress(Inconclusive):
            await play(session, _0=pad())
            await expect_pad(session, "all axes at 0", is_at(**REST))
        await play(session, _0=pad(0.6, -0.7, 1.0, 0.2))
        try:
            await play(session, _0=pad())
        except Inconclusive as failed:
            raise Violation(
                "a message after the joysticks have come to rest", str(failed)
            ) from failed
        await expect_pad(session, "all axes at 0", is_at(**REST))


@requirement("gamepad.at-rest")
async def test_not_at_rest(iut: Iut) -> None:
    """A joystick in a corner, outside the unit circle, is not at (0, 0)."""
    async with open_operated(iut) as session:
        for stick, x in ((("lx", "ly"), 1.0), (("rx", "ry"), -1.0)):
            await play(session, _0=pad(x, 1.0, -x, 1.0))
            await expect_pad(session, f"{' and '.join(stick)} away from (0, 0)", is_away(*stick))


@requirement("gamepad.at-rest")
async def test_at_rest_with_buttons(iut: Iut) -> None:
    """Joysticks stay at (0, 0) while buttons are pressed, also those of triggers and arrows."""
    async with open_operated(iut) as session:
        for number in range(BUTTONS):
            await play(session, _0=pad(pressed=[number]))
            # The previous message has the same axes, so the buttons show that this one has come.
            expected = f"all axes at 0 in the message with button {number} pressed"
            came = await expect_pad(session, expected, has_mask(1 << number), wrong=PRESSED)
            check(is_at(**REST)(came), expected, f"received {short_json(came)}")


@requirement("gamepad.axes")
@pytest.mark.parametrize("name", AXES)
async def test_axes(iut: Iut, name: str) -> None:
    """Moving a joystick along one axis changes only the value of that axis."""
    async with open_operated(iut) as session:
        # The specification does not say if up is positive.
        sign = 1.0 if name.endswith("x") else 0.0
        for raw in (1.0, -1.0, 0.5):
            await play(session, _0=_move(name, raw))
            expected = f"{name} for this axis at {raw}, and the others at 0"
            if sign and raw < 0:
                expected += ", with the opposite sign as before"
            # The next message can still contain the previous position. Its sign identifies it.
            sign = (await expect_pad(session, expected, is_along(name, raw, sign)))[name] * raw


@requirement("gamepad.axes")
@pytest.mark.parametrize("name", AXES)
async def test_half_way(iut: Iut, name: str) -> None:
    """Half way, a joystick is nearer to 0 than at the end."""
    async with open_operated(iut) as session:
        await play(session, _0=_move(name, 1.0))
        end = (await expect_pad(session, f"{name} away from 0", is_along(name, 1.0, 0.0)))[name]
        for raw in (0.5, -0.5):
            await play(session, _0=_move(name, raw))
            expected = f"{name} nearer to 0 for this axis at {raw} than {end:.3f} for 1.0"
            await expect_pad(session, expected, is_along(name, raw, end, abs(end) - NEAR))


@requirement("gamepad.axes")
@pytest.mark.parametrize("name", AXES)
async def test_same_way_round(iut: Iut, name: str) -> None:
    """The positive direction is the same for each gamepad, and with a second gamepad."""
    async with open_operated(iut) as session:
        await play(session, _0=_move(name, 1.0))
        alone = (await expect_pad(session, f"{name} away from 0", is_along(name, 1.0, 0.0)))[name]
        for index, raw in (("0", -1.0), ("1", -0.75)):
            both = _move(name, raw)
            await play(session, _0=both, _1=both)
            expected = f"{name} of gamepad {index} for {raw} with another sign than {alone:.3f}"
            await expect_pad(session, expected, is_along(name, raw, alone), index)


@requirement("gamepad.axes")
async def test_both_axes_at_once(iut: Iut) -> None:
    """A joystick that is moved along both axes is on the correct side of both.

    The positions are well within the unit circle, so a sender need not correct them.
    """
    async with open_operated(iut) as session:
        await play(session, _0=pad(0.0, 0.5, 0.0, 0.5))
        off = is_away("ly"), is_away("ry")
        up = await expect_pad(
            session, "ly and ry away from 0", lambda c: all(each(c) for each in off)
        )
        expected = "ly and ry with the same sign if both joysticks are moved in the same direction"
        check(up["ly"] * up["ry"] > 0, expected, f"received {short_json(up)}")
        for x, y in [(0.5, 0.5), (-0.5, 0.5), (0.5, -0.5), (-0.5, -0.5)]:
            await play(session, _0=pad(x, y, -x, -y))
            sides = {"lx": x, "ly": y * up["ly"], "rx": -x, "ry": -y * up["ry"]}
            expected = f"({x}, {y}) of the left joystick, and ({-x}, {-y}) of the right one"
            await expect_pad(session, f"the sides of {expected}", is_on_sides(**sides))


def _move(name: str, raw: float) -> Pad:
    """Return a gamepad that is moved along one axis."""
    return pad(*(raw if axis == name else 0.0 for axis in AXES))


@requirement("gamepad.full-range")
async def test_full_range(iut: Iut) -> None:
    """A joystick at the end of an axis is at 1 or -1."""
    async with open_operated(iut) as session:
        for name in AXES:
            for raw in (1.0, -1.0):
                await play(session, _0=_move(name, raw))
                expected = f"{name} at 1 or -1 for this axis at {raw}"
                # The other axes are the subject of gamepad.axes and gamepad.at-rest.
                came = await expect_pad(session, expected, is_away(name), wrong=POSITION)
                check(is_at_end(name)(came), expected, f"received {short_json(came)}")
        await play(session, _0=pad(1.0, 0.0, 0.0, 1.0))
        both = is_at_end("lx"), is_at_end("ry")
        expected = "lx and ry at 1 or -1 for both joysticks at their ends"
        await expect_pad(session, expected, lambda came: all(each(came) for each in both))


@requirement("gamepad.unit-circle")
async def test_corners(iut: Iut) -> None:
    """Both joysticks are always within the unit circle, in the corners too."""
    turns = [2 * math.pi * step / 16 for step in range(16)]
    edges = [
        (max(-1, min(1, 1.5 * math.cos(a))), max(-1, min(1, 1.5 * math.sin(a)))) for a in turns
    ]
    async with open_operated(iut) as session:
        for x, y in [(1.0, 1.0), (-1.0, 1.0), (1.0, -1.0), (-1.0, -1.0), *edges, (0.8, 0.7)]:
            for raw in (pad(x, y, 0.0, 0.0), pad(0.0, 0.0, x, y)):
                await play(session, _0=raw, _1=raw)
                to = f"for joysticks at ({x:.2f}, {y:.2f})"
                await session.expect(GAMEPADS, to=to, requirement=EACH)


@requirement("gamepad.buttons")
async def test_each_button(iut: Iut) -> None:
    """Each button has its own bit, which is 0 again after the button is released."""
    async with open_operated(iut) as session:
        for number in range(BUTTONS):
            await play(session, _0=pad(pressed=[number]))
            await expect_pad(
                session, f"btn {1 << number} for button {number}", has_mask(1 << number)
            )
            await play(session, _0=pad())
            await expect_pad(session, f"btn 0 after button {number} is released", has_mask(0))


@requirement("gamepad.buttons")
async def test_several_buttons(iut: Iut) -> None:
    """Buttons that are pressed together set exactly their bits."""
    async with open_operated(iut) as session:
        for pressed in ([0, 1], [0, 16], [7, 8, 9], list(range(BUTTONS)), [1, 3, 5, 7, 9, 11, 13]):
            mask = sum(1 << number for number in pressed)
            await play(session, _0=pad(0.5, 0.5, pressed=pressed))
            await expect_pad(session, f"btn {mask} for the buttons {pressed}", has_mask(mask))


@requirement("gamepad.buttons")
async def test_no_button_of_a_joystick(iut: Iut) -> None:
    """No bit is set while joysticks are moved and no button is pressed."""
    async with open_operated(iut) as session:
        await play(session, _0=pad(pressed=[0]))
        await expect_pad(session, "btn 1 for button 0", has_mask(1))
        for name in AXES:
            for raw in (1.0, -1.0):
                await play(session, _0=_move(name, raw))
                moved = is_away(name)
                expected = f"{name} away from 0 for this axis at {raw}"
                came = await expect_pad(session, expected, moved, wrong=POSITION)
                expected = f"btn 0 without a pressed button, and {name} at {raw}"
                check(has_mask(0)(came), expected, f"received {short_json(came)}")


@requirement("gamepad.buttons-integer")
async def test_no_buttons(iut: Iut) -> None:
    """btn is an integer, also if no button or every button is pressed."""
    async with open_operated(iut) as session:
        for count in (0, BUTTONS):
            await play(session, _0=pad(pressed=range(count)))
            await session.expect(GAMEPADS, to=f"with {count} buttons", requirement=EACH)


@requirement("gamepad.axes-floats")
async def test_floats(iut: Iut) -> None:
    """Axes are floats, at rest and at their ends too."""
    async with open_operated(iut) as session:
        for raw in (pad(), pad(1.0, 0.0, -1.0, 0.0), pad(0.5)):
            await play(session, _0=raw)
            await session.expect(GAMEPADS, to="for a gamepad", requirement=EACH)


@requirement("encoding.messagepack")
async def test_one_message_a_datagram(iut: Iut) -> None:
    """Each datagram is exactly one message, with one, four or twelve gamepads."""
    async with open_operated(iut) as session:
        for count in (1, 4):
            await play(session, **{str(number): pad(0.25) for number in range(count)})
            await session.expect(GAMEPADS, to=f"for {count} gamepads", requirement=EACH)
        # A sender need not support twelve gamepads.
        with contextlib.suppress(Inconclusive):
            await play(session, **{str(number): pad(0.25) for number in range(12)})
            await session.wait_for(GAMEPADS, within="response")


@requirement("gamepad.axes-numbers")
async def test_numbers(iut: Iut) -> None:
    """Axes are numbers in all positions, for each of several gamepads."""
    async with open_operated(iut) as session:
        for raw in (pad(), pad(1.0, 0.0, 0.0, -1.0), pad(0.25, -0.5, 0.75, -0.125)):
            await play(session, _0=raw, _1=raw)
            await session.expect(GAMEPADS, to="for two gamepads", requirement=EACH)


@requirement("encoding.strings")
async def test_strings(iut: Iut) -> None:
    """All keys are strs: those of the message, the indices, and those of each gamepad."""
    async with open_operated(iut) as session:
        for indices in (["0"], ["1", "3"], []):
            await play(session, **{index: pad(pressed=[1]) for index in indices})
            if indices:
                to = f"for the gamepads {', '.join(indices)}"
                await session.expect(GAMEPADS, to=to, requirement=EACH)
