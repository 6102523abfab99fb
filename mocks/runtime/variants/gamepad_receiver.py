"""Lawful variants of the receiver of gamepad input."""

import contextlib
import math
from collections.abc import Mapping
from typing import Any

from mocks.deviations import Table, Variant
from mocks.runtime.gamepad_receiver import AXES, Receiver
from mocks.runtime.memory.changes import UNCLAMPED
from mocks.runtime.memory.mapped import FOLDER
from mocks.steps import (
    Change,
    When,
    alter,
    before,
    differing,
    instead,
    note,
    noted,
    only,
    returning,
    skip,
)
from mocks.upper_tester import Operation, Warned


def _drawn(_: Receiver, index: str, pad: dict[str, Any]) -> Any:
    """Move positions outside the unit circle to its edge."""
    drawn = dict(pad)
    for x, y in (("lx", "ly"), ("rx", "ry")):
        with contextlib.suppress(KeyError, TypeError):
            far = max(math.hypot(pad[x], pad[y]), 1.0)
            drawn |= {x: pad[x] / far, y: pad[y] / far}
    return index, drawn


def _unlink_old(_: Receiver, name: str, type_: str) -> None:
    (FOLDER / name).unlink(missing_ok=True)  # left by a killed instance


def _with_paths(usual: Any, receiver: Receiver) -> Mapping[str, Operation]:
    plain = usual(receiver)

    async def buffers(args: dict[str, Any]) -> Any:
        told = await plain["buffers"](args)
        paths = {index: str(FOLDER / name) for index, name in told.result.items()}
        return Warned(paths, told.warnings)

    return {**plain, "buffers": buffers}


async def _disconnect_absent(receiver: Receiver, data: bytes) -> None:
    for message in receiver.messages(data):
        for index in [index for index in receiver.pads if index not in message]:
            await receiver.set_valid(receiver.pads.pop(index), False)


def _is_odd(_: Receiver, pad: dict[str, Any], *rest: Any) -> bool:
    return not all(isinstance(value, int | float) for value in pad.values())


async def _put_absent_to_rest(receiver: Receiver, data: bytes) -> None:
    at_rest = dict.fromkeys(AXES, 0.0)
    for message in receiver.messages(data):
        for index in [index for index in receiver.pads if index not in message]:
            await receiver.set_data(receiver.pads[index], at_rest)


def _has_new_values(receiver: Receiver, buffer: Any, values: dict[str, Any]) -> bool:
    return any(buffer[f"read.params.{name}"] != value for name, value in values.items())


VARIANTS = Table(Receiver)

VARIANTS["buffers.one-each"] = {
    "absent-at-rest": Variant(
        "Puts the joysticks of a gamepad to rest that is not in a message.",
        before("received", _put_absent_to_rest),
    ),
}

VARIANTS["receiver.many"] = {
    "eight-gamepads": Variant(
        "Ignores gamepads with an index above 7.",
        instead(
            "proper", lambda *_: False, lambda _, index, pad: index.isdecimal() and int(index) > 7
        ),
    ),
}

VARIANTS["receiver.buttons"] = {
    "buttons-elsewhere": Variant("Stores no boolean parameters for buttons.", skip("buttons")),
    "buttons-elsewhere-and-news-only": Variant(
        "Stores no boolean parameters for buttons, and writes only new positions.",
        skip("buttons"),
        instead("set_data", lambda *_: [], ~When(_has_new_values)),
    ),
}

VARIANTS["receiver.axes"] = {
    "negative-zeros": Variant(
        "Stores -0.0 for an axis at rest.", returning("axis", lambda value: value or -0.0)
    ),
}

VARIANTS["catalog.clamped-data"] = {
    "data-as-they-come": Variant("Stores axes beyond their bounds without clamping.", UNCLAMPED),
    "on-the-circle": Variant(
        "Moves a joystick position outside the unit circle to its edge.", alter("play", _drawn)
    ),
}

VARIANTS["set-data.timestamp"] = {
    "passes-over-repeats": Variant(
        "Ignores a message that is equal to the previous one.",
        only("received", differing(lambda _, data: data)),
    ),
}

VARIANTS["buffers.shared-memory"] = {
    "named-by-index": Variant(
        "Names its objects by the index alone, so that only one instance can run.",
        instead("name", lambda _, type_, uid: f"rt-mock-{type_}-{uid}"),
        before("create", _unlink_old),
    ),
    "told-by-path": Variant(
        "Reports the paths of its objects instead of their names.",
        Change("operations", _with_paths),
    ),
}

VARIANTS["lifecycle.created-valid"] = {
    "absent-is-gone": Variant(
        "Disconnects a gamepad that is missing in a message, and stops reporting it.",
        before("received", _disconnect_absent),
    ),
}

VARIANTS["receiver.odd-messages"] = {
    "deaf-after-odd-input": Variant(
        "Stops reading after a gamepad has values of unknown types.",
        skip("received", noted("deaf")),
        before("axes", note("deaf"), _is_odd),
    ),
}
