"""Faults of the sender about the encoding and the content of messages."""

from collections.abc import Callable, Mapping
from typing import Any

from mocks.deviations import Fault, Subtle, Table
from mocks.runtime.gamepad_sender import Pad, Sender
from mocks.runtime.messages import SEND_JSON
from mocks.runtime.values import to_bin
from mocks.steps import Change, Function, alter, always, first, instead, only, returning

Pads = Mapping[str, Pad]


def _indices(change: Callable[[str], Any], when: Function = always) -> Change:
    """Write other indices, of any type."""

    def changed(message: Any) -> Any:
        pairs = [[change(index), pad] for index, pad in message["gamepads"].items()]
        return {"gamepads": {"$map": pairs}}

    return returning("message", changed, when)


def _two_by_two(usual: Function, sender: Sender, pads: Pads) -> None:
    some = list(pads.items())
    for start in range(0, max(len(some), 1), 2):
        usual(sender, dict(some[start : start + 2]))


def _first(_: Sender, pads: Pads) -> Pads:
    index = min(pads, key=int)
    return {index: pads[index]}


def _remember(sender: Sender, pads: Pads) -> Pads:
    known: dict[str, Pad] = vars(sender).setdefault("known", {})
    known |= pads
    return known


FAULTS = Table(Sender)

FAULTS["encoding.messagepack"] = {
    "json": Fault("Sends JSON.", SEND_JSON),
    "two-pads-two-objects": Subtle(
        "Adds a second message to the datagram if there are several gamepads.",
        alter(
            "write",
            lambda _, data: data + b"\x81\xa8gamepads\x80",
            lambda _, data: b"\xa11" in data,
        ),
    ),
    "cut-at-512-bytes": Subtle(
        "Truncates a message to 512 bytes.", alter("write", lambda _, data: data[:512])
    ),
}

FAULTS["encoding.strings"] = {
    "keys-as-bytes": Fault(
        "Writes the keys of a message as bins.",
        returning("message", lambda sent: {"$map": [[to_bin("gamepads"), sent["gamepads"]]]}),
    ),
    "second-index-as-bytes": Subtle(
        "Writes the indices as bins if there are several gamepads.",
        _indices(to_bin, lambda _, pads: len(pads) > 1),
    ),
}

FAULTS["gamepad.form"] = {
    "bare-pads": Fault(
        "Sends the gamepads without the outer map.",
        returning("message", lambda message: message["gamepads"]),
    ),
    "wrapped": Fault(
        "Wraps a message in an RPC notification.",
        returning("message", lambda message: [2, "update_gamepads", [message]]),
    ),
    "no-btn-at-rest": Subtle(
        "Omits btn if no button is pressed.",
        instead("btn", lambda *_: {}, lambda _, raw: not any(raw["buttons"])),
    ),
}

FAULTS["gamepad.index"] = {
    "indices-as-integers": Fault("Writes indices as integers.", _indices(int)),
    "indices-of-two-digits": Subtle(
        "Writes an index above 0 with two digits.",
        instead("index", lambda _, index: index if index == "0" else index.zfill(2)),
    ),
    "indices-above-nine-as-integers": Subtle(
        "Writes an index of two digits as an integer.",
        _indices(
            lambda index: index if len(index) == 1 else int(index),
            lambda _, pads: any(int(index) > 9 for index in pads),
        ),
    ),
}

FAULTS["gamepad.each"] = {
    "two-pads-a-message": Subtle(
        "Sends more than two gamepads in several messages.", Change("gamepads", _two_by_two)
    ),
    "twenty-messages": Subtle("Sends only the first twenty messages.", only("write", first(20))),
    "first-pad-only": Subtle("Sends only the first gamepad.", alter("gamepads", _first)),
    "pads-counted": Subtle(
        "Numbers the gamepads from 0, regardless of their indices.",
        alter("message", lambda _, pads: {str(at): pads[index] for at, index in enumerate(pads)}),
    ),
    "same-state-for-all": Fault(
        "Sends the state of the first gamepad for all of them.",
        alter("message", lambda _, pads: dict.fromkeys(pads, next(iter(pads.values()), {}))),
    ),
    "gone-pads-stay": Subtle(
        "Continues to send the last state of a disconnected gamepad.", alter("message", _remember)
    ),
}
