"""Tests of gamepad input: the buffers show what the receiver was sent."""

import asyncio
import struct
import time
from collections.abc import Mapping
from itertools import takewhile
from typing import Any

from conformance.cases import check, lasting, requirement
from conformance.iut import Iut
from conformance.runtime.encodings import encodings
from conformance.runtime.gamepad_receiver.tester import (
    AXES,
    TYPE,
    GamepadTester,
    gamepad_tester,
    pad,
)
from conformance.runtime.memory.catalog import BOOLEAN
from conformance.runtime.memory.contention import MANY_USES
from conformance.runtime.memory.hold_mutex import LONG_HOLD
from conformance.runtime.memory.log_lines import LogLines
from conformance.verdicts import Violation

BUTTONS = 17
FRACTIONS = {"lx": -0.5, "ly": 0.75, "rx": 0.25, "ry": -0.125}


def button_values(tester: GamepadTester, btn: int) -> dict[str, bool]:
    """Return the boolean parameters of a gamepad for a bitmask."""
    names = [param.name for param in tester.catalog[TYPE].params if param.kind == BOOLEAN]
    return {name: bool(btn >> index & 1) for index, name in enumerate(names)}


def single(value: float) -> float:
    """Return the nearest value of 32 bits, which the buffer can store."""
    return float(struct.unpack("f", struct.pack("f", value))[0])


@requirement("receiver.form")
async def test_form(iut: Iut) -> None:
    """A message that is a map by itself is accepted."""
    async with gamepad_tester(iut) as tester:
        await tester.session.send({"gamepads": {"0": pad(lx=0.5)}})
        await tester.expect_buffer("0", None)


@requirement("receiver.axes")
async def test_axes(iut: Iut) -> None:
    """Each axis is stored in the parameter of its name, over its full range."""
    at_rest = dict.fromkeys(AXES, 0.0)
    async with gamepad_tester(iut) as tester:
        for number in range(6):
            axes = {axis: FRACTIONS[AXES[(index + number) % 4]] for index, axis in enumerate(AXES)}
            await tester.play_and_expect({"0": pad(**axes)}, "0", axes)
        odd = {"lx": 0.1, "ly": -0.7, "rx": 1 / 3, "ry": 0.0}
        await tester.play_and_expect(
            {"0": pad(**odd)}, "0", {name: single(v) for name, v in odd.items()}
        )
        for axis in AXES:
            for end in (-1.0, 1.0):
                await tester.play_and_expect({"0": pad(**{axis: end})}, "0", at_rest | {axis: end})
        await tester.play_and_expect({"0": pad()}, "0", at_rest)
        turned = {"btn": 0, "ry": 0.75, "rx": -0.25, "ly": 0.5, "lx": -0.125}
        axes = {axis: turned[axis] for axis in AXES}
        await tester.play_and_expect({"0": turned}, "0", axes)


@requirement("receiver.axes")
async def test_long_play(iut: Iut) -> None:
    """The last of many messages is stored like the first: none leaves a file open."""
    async with gamepad_tester(iut) as tester:
        left = tester.session.countdown("startup", "response")
        for number in takewhile(
            lambda number: number < 16 or left() > 0, range(1, MANY_USES // 20)
        ):
            # Few at a time, so that no receive buffer overflows.
            for step in range(20):
                await tester.play({"0": pad(step % 2, ly=step / 32)})
            await tester.play_and_expect(
                {"0": pad(lx=number / 64)}, "0", {"lx": number / 64, "ly": 0.0}
            )


@requirement("receiver.buttons")
async def test_buttons(iut: Iut) -> None:
    """Each bit of btn is its own button, from the first to the seventeenth."""
    several = [0b101, (1 << BUTTONS) - 1, 0x10001, 0]
    async with gamepad_tester(iut) as tester:
        for btn in (*(1 << bit for bit in range(BUTTONS)), *several):
            await tester.play_and_expect({"0": pad(btn)}, "0", button_values(tester, btn), None)


@requirement("receiver.buttons")
async def test_buttons_of_several(iut: Iut) -> None:
    """Each gamepad of a message has its own buttons, also if they are equal."""
    async with gamepad_tester(iut) as tester:
        for masks in ((1, 1), (0b10, 1), (0b10, 0b10), (0, 0b10), (0, 0), (1, 0)):
            await tester.play({str(index): pad(btn) for index, btn in enumerate(masks)})
            for index, btn in enumerate(masks):
                await tester.poll_until(str(index), button_values(tester, btn), None)


@requirement("receiver.several")
async def test_several(iut: Iut) -> None:
    """Each of four gamepads in a message has its values in its own buffer."""
    await _check_several(iut, {"0": 0.25, "1": 0.125, "3": -0.25, "2": 0.5})


@requirement("receiver.many")
async def test_many(iut: Iut) -> None:
    """Each of twenty gamepads has its own buffer; the message is longer than a kilobyte."""
    await _check_several(iut, {str(index): (2 * index - 19) / 64 for index in range(20)})


async def _check_several(iut: Iut, pads: Mapping[str, float]) -> None:
    """Raise Violation unless each gamepad has its own buffer; ``pads`` are the values of lx."""
    async with gamepad_tester(iut) as tester:
        for sign in (1, -1):
            axes = {
                index: {axis: sign * lx / part for part, axis in enumerate(AXES, 1)}
                for index, lx in pads.items()
            }
            await tester.play({index: pad(**axes[index]) for index in pads})
            for index in pads:
                stored = {axis: single(value) for axis, value in axes[index].items()}
                await tester.poll_until(index, stored, None)
        inodes = [(await tester.expect_buffer(index)).object.inode for index in pads]
        check(
            len({*inodes}) == len(pads),
            "a buffer for each gamepad",
            f"received the inodes {inodes}",
        )
        await tester.play({index: pad(**axes[index]) for index in pads} | {"3": pad(2, lx=0.75)})
        await tester.poll_until("3", {"lx": 0.75}, None)
        await tester.poll_until("0", {"lx": single(axes["0"]["lx"])}, None)


@requirement("receiver.whole-numbers")
async def test_whole_numbers(iut: Iut) -> None:
    """Axes that are sent as integers, as JavaScript sends 0, 1 and -1, are accepted."""
    async with gamepad_tester(iut) as tester:
        for axes in ({"lx": 1, "ly": 0}, {"lx": -1, "ly": 0}, {"lx": 0, "ly": 1}):
            exact = {name: float(value) for name, value in axes.items()}
            await tester.play_and_expect({"0": pad(rx=0.5, **axes)}, "0", exact, None)


@requirement("encoding.wider-forms")
async def test_wider_forms(iut: Iut) -> None:
    """Wider integers, lengths and counts and narrower floats do not change the input's meaning."""
    async with gamepad_tester(iut) as tester:
        for number, name in enumerate(encodings(None), 1):
            axes = {**FRACTIONS, "lx": number / 64}
            pads = {"0": pad(number, **axes)}
            await tester.play_and_expect({"0": pad()}, "0", {"lx": 0.0})
            # The specification leaves open how buttons are stored; a plain message shows the
            # expected bytes.
            plain = await tester.play_and_expect(pads, "0", axes)
            buttons = {of: plain.raw(f"read.params.{of}") for of in button_values(tester, 0)}
            await tester.play_and_expect({"0": pad()}, "0", {"lx": 0.0})
            value = tester.wrap({"gamepads": pads})
            await tester.session.send_bytes(encodings(value)[name])
            try:
                await tester.poll_until("0", {**axes, **buttons}, None)
            except Violation as missing:
                expected = f"input in {name} to be stored: {missing.expected}"
                about = missing.requirement
                raise Violation(expected, missing.came, about, missing.event) from missing


@requirement("set-data.timestamp")
async def test_timestamp(iut: Iut) -> None:
    """Every message that changes a value updates the timestamp of the read block."""
    async with gamepad_tester(iut) as tester:
        await tester.play_and_expect({"0": pad(1, lx=-0.5)}, "0", {"lx": -0.5})
        buffer = await tester.expect_buffer("0")
        for number, btn in enumerate((1, 3, 1, 1, 0, 0, 1)):
            lx = number / 8
            await buffer.put({"read.timestamp": 1.0})
            since = time.time()
            await tester.play({"0": pad(btn, lx=lx)})
            left = tester.session.countdown("response")
            while True:
                image = await buffer.look()
                if image["read.timestamp"] != 1.0 or left() < 0:
                    break
                await asyncio.sleep(0.005)
            try:
                image.check_stamped("read", since)
            except Violation as missing:
                await tester.blame_skipped_messages(missing)
                raise


@requirement("set-data.timestamp")
@lasting
async def test_time_behind_the_mutex(iut: Iut) -> None:
    """The timestamp is the time of the write, after the wait for the mutex."""
    async with gamepad_tester(iut) as tester:
        await tester.play_and_expect({"0": pad(1, lx=0.5)}, "0", {"lx": 0.5})
        buffer = await tester.expect_buffer("0")
        async with buffer.hold():
            await tester.play({"0": pad(1, lx=-0.5)})
            # The receiver may answer nothing while it waits for the mutex, so no event can end this
            # wait.
            await asyncio.sleep(LONG_HOLD)
        since = time.time()
        try:
            image = await tester.poll_until("0", {"lx": -0.5})
        except Violation:
            # The receiver can have dropped that message; then the next message counts.
            await tester.play_and_expect({"0": pad(1, lx=-0.25)}, "0", {"lx": -0.25})
        else:
            image.check_stamped("read", since)


BEYOND: list[tuple[dict[str, Any], dict[str, float]]] = [
    ({"lx": 3.0}, {"lx": 1.0, "ly": 0.0}),
    ({"ly": -3.0}, {"lx": 0.0, "ly": -1.0}),
    # Each joystick has one axis off rest: a receiver can move a position to the unit circle.
    ({"rx": 1.0625, "ly": 0.25}, {"rx": 1.0, "ly": 0.25}),
    ({"ry": -1e30}, {"rx": 0.0, "ry": -1.0}),
]


@requirement("catalog.clamped-data")
async def test_clamped(iut: Iut) -> None:
    """An axis beyond its bounds is stored as the bound; the others are unchanged."""
    async with gamepad_tester(iut) as tester:
        for axes, stored in BEYOND:
            await tester.play_and_expect({"0": pad(**axes)}, "0", stored, None)


@requirement("catalog.clamped-data")
async def test_clamp_warning(iut: Iut) -> None:
    """Each clamped axis causes a warning."""
    async with gamepad_tester(iut) as tester:
        # A receiver can log every message: such a line is not a warning.
        for lx, ly in ((0.5, 0.0), (-0.25, 0.125), (0.0, -1.0)):
            await tester.play_and_expect({"0": pad(lx=lx, ly=ly)}, "0", {"lx": lx, "ly": ly})
            await tester.buffer("0")
        log = LogLines(tester)
        await log.learn()
        usual = {*tester.warnings}

        def warnings() -> list[str]:
            return [*(text for text in tester.warnings if text not in usual), *log.unusual()]

        for axes, stored in BEYOND:
            await tester.buffer("0")
            before = warnings()
            await tester.play_and_expect({"0": pad(**axes)}, "0", stored, None)
            left = tester.session.countdown("response")
            while warnings() == before:
                if left() < 0:
                    expected = f"a warning after {axes} was clamped"
                    raise Violation(expected, "received none in an answer or on stderr")
                await asyncio.sleep(0.02)
                await tester.buffer("0")


ODD: dict[str, Any] = {
    "no-map": [1, 2, 3],
    "nil": None,
    "gamepads-no-map": {"gamepads": [pad()]},
    "unknown-key": {"gamepads": {"0": pad()}, "keyboards": {"0": {}}},
    "unknown-key-of-a-pad": {"gamepads": {"0": {**pad(), "lz": 0.5, "name": "x"}}},
    "index-no-number": {"gamepads": {"first": pad(), "-1": pad(), "": pad(), "1/2": pad()}},
    "pad-is-nil": {"gamepads": {"0": None}},
    "axis-is-text": {"gamepads": {"0": {**pad(), "lx": "left"}}},
    "no-axes": {"gamepads": {"0": {"btn": 1}}},
    "no-buttons": {"gamepads": {"0": {"lx": 0.5, "ly": 0.0, "rx": 0.0, "ry": 0.0}}},
    "long-keys": {"x" * 300: 1, "gamepads": {"0": {"z" * 300: 0.5, **pad()}, "1" * 300: pad()}},
    "unknown-bits": {"gamepads": {"0": pad(1 << 40 | 1 << 17 | 1)}},
    "negative-buttons": {"gamepads": {"0": pad(-1)}},
    "not-a-number": {"gamepads": {"0": {**pad(), "lx": {"$float": "nan"}}}},
}
NOISE: dict[str, bytes] = {
    "empty": b"",
    "cut": bytes.fromhex("81a867616d657061"),
    "never-used": b"\xc1",
    "two": bytes.fromhex("80") * 2,
    "huge-map": bytes.fromhex("dfffffffff"),
    "text": b"hello\n",
}


@requirement("receiver.odd-messages")
async def test_odd_messages(iut: Iut) -> None:
    """After each odd message or malformed datagram, the next correct message is stored."""
    async with gamepad_tester(iut) as tester:
        for number, (what, odd) in enumerate({**ODD, **NOISE}.items(), 1):
            if isinstance(odd, bytes):
                await tester.session.send_bytes(odd)
            else:
                await tester.session.send(tester.wrap(odd))
            await tester.session.wait_until_taken()
            await check_still_plays(tester, 0.25 + number / 64, what)


async def check_still_plays(tester: GamepadTester, lx: float, after: str) -> None:
    """Raise Violation unless a correct message is stored."""
    try:
        await tester.play_and_expect({"1": pad(1, lx=lx)}, "1", {"lx": lx})
    except Violation as failed:
        raise Violation(f"a correct message after '{after}' to be stored", failed.came) from failed
