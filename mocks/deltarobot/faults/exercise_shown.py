"""Faults of the client in the exercise that it shows."""

import asyncio
import struct
from collections.abc import Callable
from itertools import groupby
from typing import Any

from conformance.codec import Frame
from conformance.deltarobot.codec import Decoder
from mocks.deltarobot.client import Client
from mocks.deltarobot.exercise import Vector
from mocks.deviations import Fault, Subtle, Table, fault
from mocks.steps import (
    Change,
    alter,
    before,
    call,
    die,
    first,
    instead,
    note,
    noted,
    only,
    returning,
    skip,
)
from mocks.stream_readers import reads

Curve = list[Vector]


class LineEndsTranslated(Decoder):
    """Reads each CR as LF."""

    def feed(self, data: bytes) -> list[Frame]:
        return super().feed(data.replace(b"\r", b"\n"))


def shown(change: Callable[[Curve], Curve]) -> Change:
    """Show what a function makes of a curve."""
    return alter("curve", lambda _, value: {**value, "points": change(value["points"])})


def joined(change: Callable[[Curve, Curve], Curve]) -> Change:
    """Show what a function makes of the curve before and of the new curve."""

    def points(client: Client, value: Any) -> Any:
        return {**value, "points": change(client.view.curve or [], value["points"])}

    return alter("curve", points)


def vector(change: Callable[[Vector], Vector]) -> Change:
    """Read each vector as what a function makes of the vector."""
    return returning("vector", change)


def _rounded(value: Any, digits: int) -> Any:
    if isinstance(value, dict):
        return {what: _rounded(one, digits) for what, one in value.items()}
    if isinstance(value, list):
        return [_rounded(one, digits) for one in value]
    return round(value, digits) if isinstance(value, float) else value


def _big_endian(c: Any) -> Any:
    return struct.unpack(">f", struct.pack("<f", c))[0] if isinstance(c, float) else 0.0


def _normal(c: Any) -> Any:
    return 0.0 * c if isinstance(c, float) and abs(c) < 2.0**-126 else c


def _is_same_x(client: Client, value: Any) -> bool:
    position = client.view.position
    return position is not None and bool(position[0] == value["x"])


def _show_swapped(client: Client, value: Any) -> None:
    x, y, z = client.vector(value)
    client.view.position = [x, z, y]


def _show_as_current(client: Client, value: Any) -> None:
    Client.current(client, value)


def _show_as_desired(client: Client, value: Any) -> None:
    Client.desired(client, value)


FAULTS = Table(Client)

FAULTS["exercise.curve-shown"] = {
    "no-curves": Fault("Ignores curves.", skip("curve")),
    "last-point-lost": Subtle(
        "Loses the last point of a curve of more than one point.",
        shown(lambda points: points[:-1] or points),
    ),
    "curve-of-4096": Subtle("Keeps at most 4096 points.", shown(lambda points: points[:4096])),
    "equal-points-once": Subtle(
        "Keeps only one of several equal consecutive points.",
        shown(lambda points: [point for point, _ in groupby(points)]),
    ),
}

FAULTS["exercise.curve-replaced"] = {
    "first-curve-stays": Fault(
        "Keeps the first point of the earlier curve, and replaces the others.",
        joined(lambda old, new: [*old[:1], *new[len(old[:1]) :]]),
    ),
    "curves-add-up": Subtle(
        "Appends the points of the next curve to the points of the curves before.",
        joined(lambda old, new: old + new),
    ),
    "shorter-curve-leaves-rest": Subtle(
        "Keeps the last points of a longer curve after the points of a shorter one.",
        joined(lambda old, new: new + old[len(new) :]),
    ),
    "curve-of-equal-length-stays": Subtle(
        "Ignores a curve that has as many points as the current curve.",
        joined(lambda old, new: old if len(old) == len(new) else new),
    ),
    "curve-at-rest-only": Subtle(
        "Ignores curves after it has received a position.",
        skip("curve", lambda client, _: client.view.position is not None),
    ),
}

FAULTS["exercise.odd-curves"] = {
    "closes-upon-empty-curve": Fault(
        "Closes the connection after a curve without points.",
        instead(
            "curve",
            call("end", "a curve without points"),
            lambda _, value: not value["points"],
        ),
    ),
    "dies-of-ragged-curve": Subtle(
        "Crashes on a curve that ends inside a point.",
        before("curve", die, lambda _, value: "rest" in value and value["points"]),
    ),
}

FAULTS["progress.position"] = {
    "first-position-only": Fault(
        "Keeps the first position for ever.",
        skip("position", lambda client, _: client.view.position is not None),
    ),
    "position-swapped": Subtle(
        "Swaps Y and Z of the position, as for an upward Y axis.",
        instead("position", _show_swapped),
    ),
    "equal-x-is-equal": Subtle(
        "Ignores a position whose X is the same as before.", skip("position", _is_same_x)
    ),
    "origin-unseen": Subtle(
        "Ignores a position at the origin.",
        only("position", lambda _, value: any(value[axis] for axis in "xyz")),
    ),
}

FAULTS["progress.current-direction"] = {
    "current-is-desired": Fault(
        "Swaps the current and the desired direction.",
        instead("current", _show_as_desired),
        instead("desired", _show_as_current),
    ),
    "later-directions-swapped": Subtle(
        "Swaps the two directions from the second exercise of a connection on.",
        instead("current", _show_as_desired, noted("second")),
        instead("desired", _show_as_current, noted("second")),
        before("curve", note("second", ~first(1))),
    ),
}

FAULTS["progress.desired-direction"] = {
    "rest-unseen": Fault(
        "Ignores a desired direction of zero, which it cannot scale to the length 1.",
        only("desired", lambda _, value: any(value[axis] for axis in "xyz")),
    ),
}

FAULTS["progress.unused-value"] = {
    "closes-upon-odd-u": Fault(
        "Closes the connection if U is not 0.",
        before("vector", call("end", "U must be 0"), lambda _, value: value["u"] != 0),
    ),
    "u-as-weight": Subtle(
        "Ignores vectors whose U is NaN.",
        skip("handle", lambda _, name, value: str(value.get("u", "")).startswith("NaN")),
    ),
}

FAULTS["frame.floats"] = {
    "line-ends-translated": Subtle(
        "Reads each CR as LF, as a stream of text does.", reads(LineEndsTranslated)
    ),
    "hundredths": Subtle(
        "Rounds all values to hundredths.", returning("state", lambda state: _rounded(state, 2))
    ),
    "thousandths": Subtle(
        "Rounds all values to thousandths, which does not change plain numbers.",
        returning("state", lambda state: _rounded(state, 3)),
    ),
    "big-endian-floats": Fault(
        "Reads floats in big-endian.", vector(lambda vector: [_big_endian(c) for c in vector])
    ),
    "no-denormals": Subtle(
        "Reads denormals in curves as zero.",
        shown(lambda points: [[_normal(c) for c in point] for point in points]),
    ),
}

FAULTS["frame.not-finite"] = {
    "no-nan": Subtle(
        "Reads NaN in vectors as zero.",
        vector(lambda vector: [0.0 if str(c).startswith("NaN") else c for c in vector]),
    ),
}


@fault("curve-inside-unknown", violates="messages.type-identifier", subtle=True)
class CurveInsideUnknown(Client):
    """Reads the contents of an unknown message of variable length as messages."""

    def skip(self, frame: Frame) -> None:
        if frame.value["identifier"].startswith("0xf"):
            inner = bytes.fromhex(frame.value.get("data", ""))
            for found in self.make_decoder().feed(inner):
                if found.name in self.HANDLERS and found.name != "Ping":
                    self.handle(found.name, found.value)


@fault("queue-too-short", violates="progress.position", subtle=True)
class QueueTooShort(Client):
    """Keeps only the first 64 positions that arrive at once."""

    came = 0

    def position(self, value: Any) -> None:
        if not self.came:
            asyncio.get_running_loop().call_soon(self.emptied)
        self.came += 1
        if self.came <= 64:
            super().position(value)

    def emptied(self) -> None:
        self.came = 0
