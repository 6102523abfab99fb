"""Faults of the receiver about the interpretation of input."""

import sys
from collections.abc import Callable
from dataclasses import replace
from math import inf
from typing import Any

from conformance.runtime.codec import Decoder, encode
from conformance.runtime.shapes import NOTIFICATION
from mocks.deviations import Fault, Subtle, Table
from mocks.runtime.gamepad_receiver import AXES, Receiver
from mocks.runtime.memory.changes import (
    TIME_OF_ASKING,
    TIME_SINCE_THE_START,
    UNCLAMPED,
    UTC_AS_LOCAL_TIME,
    bound,
)
from mocks.runtime.memory.peer import Buffer
from mocks.steps import (
    Change,
    Function,
    alter,
    before,
    differing,
    every,
    fail,
    first,
    instead,
    note,
    noted,
    only,
    returning,
    since,
    skip,
    then,
)

Pad = dict[str, Any]


def _axes(holds: Callable[[str, Any], bool]) -> Change:
    """Read only the axes that have a property."""

    def kept(_: Receiver, pad: Pad, *rest: Any) -> Any:
        return {axis: pad[axis] for axis in pad if holds(axis, pad[axis])}, *rest

    return alter("axes", kept)


def _in_order(_: Receiver, pad: Pad, *rest: Any) -> Any:
    known = [axis for axis in pad if axis in AXES]
    return {**pad, **dict(zip(AXES, map(pad.get, known), strict=False))}, *rest


def _ignore(when: Function) -> Change:
    """Ignore messages with a property."""
    return instead("messages", lambda *_: [], when)


def _without_last_axis(pads: dict[str, Any]) -> dict[str, Any]:
    return {
        index: {**pad, "ry": None} if isinstance(pad, dict) else pad for index, pad in pads.items()
    }


def _unwrap(usual: Function, receiver: Receiver, data: bytes) -> Any:
    frames = Decoder().feed(data)
    if len(frames) != 1 or frames[0].name != NOTIFICATION:
        return []
    inner = frames[0].value[2]
    return usual(receiver, encode(inner[0])) if inner else []


def _drop_released(_: Receiver, pad: Pad, params: Any, into: dict[str, Any]) -> None:
    for name in [name for name, down in into.items() if not down]:
        del into[name]


async def _use_first(usual: Function, receiver: Receiver, index: str) -> Buffer:
    receiver.pads[index] = await usual(receiver, "0")
    return receiver.pads[index]


def _is_noise(_: Receiver, data: bytes) -> bool:
    decoder = Decoder()
    return any(frame.name is None for frame in [*decoder.feed(data), *decoder.end()])


FAULTS = Table(Receiver)

FAULTS["receiver.form"] = {
    "wrapped-only": Fault(
        "Accepts only input that is the argument of an RPC notification.",
        Change("messages", _unwrap),
        needs={"envelope": "update_gamepads"},
    ),
}

FAULTS["receiver.axes"] = {
    "tired-of-input": Subtle(
        "Ignores all messages after the two hundredth.", only("received", first(200))
    ),
    "files-left-open": Subtle(
        "Leaves a file open at each message, and ignores all after a thousand.",
        only("received", first(1000)),
    ),
    "every-fourth-lost": Subtle("Ignores every fourth message.", skip("received", every(4))),
    "axes-in-order": Subtle(
        "Uses the axes of a gamepad in their order, regardless of their names.",
        alter("axes", _in_order),
    ),
    "sticks-swapped": Fault(
        "Swaps the left and the right joystick.",
        alter("axes", lambda _, pad, params, into: (pad, [*params[2:], *params[:2]], into)),
    ),
    "last-axis-without-its-end": Subtle(
        "Ignores the lower end of the last axis.",
        _axes(lambda axis, value: (axis, value) != ("ry", -1.0)),
    ),
    "rest-overlooked": Subtle(
        "Keeps the last position of an axis that has come to rest.",
        _axes(lambda _, value: value != 0),
    ),
}

FAULTS["receiver.buttons"] = {
    "buttons-stay": Fault("Ignores the release of buttons.", then("buttons", _drop_released)),
    "sixteen-buttons": Subtle(
        "Reads only 16 bits of btn.", alter("button", lambda _, btn, number: (btn & 0xFFFF, number))
    ),
    "equal-to-the-last": Subtle(
        "Ignores buttons that are equal to the last buttons of any gamepad.",
        only("buttons", differing(lambda _, pad, *rest: pad.get("btn"))),
    ),
    "pressed-in-all-bits": Subtle(
        "Stores a pressed button as 255.",
        alter(
            "put",
            lambda _, buffer, field, raw: (buffer, field, b"\xff"),
            lambda _, buffer, field, raw: field.type == "bool" and any(raw),
        ),
    ),
}

FAULTS["receiver.several"] = {
    "last-axis-of-one-alone": Subtle(
        "Ignores the last axis if there are several gamepads.",
        returning(
            "messages",
            lambda found: [_without_last_axis(pads) if len(pads) > 1 else pads for pads in found],
        ),
    ),
    "one-gamepad": Fault("Uses one buffer for all gamepads.", Change("pad", _use_first)),
    "first-of-a-message": Fault(
        "Uses only the first gamepad of a message.",
        returning("messages", lambda found: [dict([*pads.items()][:1]) for pads in found]),
    ),
}

FAULTS["receiver.many"] = {
    "buffer-of-512-bytes": Subtle(
        "Reads only 512 bytes of a datagram, enough for four gamepads.",
        alter("received", lambda _, data: data[:512]),
    ),
    "low-bits": Subtle(
        "Has four buffers, and uses the two lowest bits of an index.",
        alter("pad", lambda _, index: str(int(index) % 4)),
    ),
    "one-digit": Subtle(
        "Ignores gamepads with an index of two digits.",
        instead("proper", lambda *_: False, lambda _, index, pad: len(index) != 1),
    ),
    "first-digit": Subtle(
        "Uses only the first digit of an index.", alter("pad", lambda _, index: index[0])
    ),
    "a-kilobyte": Subtle(
        "Ignores input of more than 1024 bytes.", _ignore(lambda _, data: len(data) > 1024)
    ),
}

FAULTS["receiver.whole-numbers"] = {
    "floats-only": Fault(
        "Ignores axes that are not floats.", _axes(lambda _, value: isinstance(value, float))
    ),
    "minus-one-is-none": Subtle(
        "Ignores an axis that is -1 as an integer.",
        _axes(lambda _, value: not (isinstance(value, int) and value < 0)),
    ),
}

FAULTS["encoding.wider-forms"] = {
    "short-forms-only": Fault(
        "Ignores maps with headers that are longer than necessary.",
        _ignore(lambda _, data: data[:1] in (b"\xde", b"\xdf")),
    ),
    "single-precision-unknown": Subtle(
        "Ignores input with floats of 32 bits.", _ignore(lambda _, data: b"lx\xca" in data)
    ),
}

FAULTS["set-data.timestamp"] = {
    "not-stamped": Fault("Never updates the timestamp.", skip("stamp")),
    "rest-not-stamped": Subtle(
        "Does not update the timestamp while no button is pressed.",
        before("play", note("pressed", lambda _, index, pad: pad.get("btn"))),
        only("stamp", noted("pressed")),
    ),
    "since-the-start": Subtle(
        "Writes timestamps that count from the start of the machine.", TIME_SINCE_THE_START
    ),
    "utc-as-local-time": Subtle("Takes UTC for local time.", UTC_AS_LOCAL_TIME),
    "asked-is-written": Subtle(
        "Writes timestamps of the time before it waited for the mutex.", *TIME_OF_ASKING
    ),
}

FAULTS["catalog.clamped-data"] = {
    "unclamped": Fault("Stores axes without clamping.", UNCLAMPED),
    "lower-unclamped": Subtle(
        "Does not clamp at the lower bound.", bound(lambda param: replace(param, lower=-inf))
    ),
    "clamped-silently": Fault("Clamps without a warning.", skip("warn")),
    "logs-instead-of-warning": Subtle(
        "Logs every message on its standard error, and clamps without a warning.",
        skip("warn"),
        before("play", lambda _, index, pad: print(index, pad, file=sys.stderr, flush=True)),
    ),
    "one-warning": Subtle("Warns only once.", only("warn", first(1))),
}

FAULTS["receiver.odd-messages"] = {
    "noise-ends-it": Fault(
        "Stops receiving after bytes that are not a message.", _ignore(since(_is_noise))
    ),
    "empty-ends-it": Subtle(
        "Stops receiving after an empty datagram.",
        skip("received", since(lambda _, data: not data)),
    ),
    "text-ends-it": Subtle(
        "Exits if an axis is text.",
        before("axes", fail(SystemExit, 1), lambda _, pad, *rest: isinstance(pad.get("lx"), str)),
    ),
}
