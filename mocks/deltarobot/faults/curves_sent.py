"""Faults of the server in the curve at the beginning of an exercise."""

import struct
from collections.abc import Callable
from itertools import groupby

from conformance.deltarobot.codec import encode, frame, message
from mocks.deltarobot.exercise import Vector
from mocks.deltarobot.server import Server
from mocks.deviations import Fault, Subtle, Table, fault
from mocks.steps import Change, alter, before, call, first, instead, note, noted, only, skip

Curve = list[Vector]
SECOND = noted("second")
"""From the second exercise of a connection on."""
COUNT = before("begin", note("second", ~first(1)))


def points(change: Callable[[Curve], Curve]) -> Change:
    """Send a curve with the points that a function makes of the points."""
    return alter("send_curve", lambda _, curve: change(curve))


def length(change: Callable[[bytes, Curve], bytes]) -> Change:
    """Send a curve with another length; `change` returns its four bytes."""

    def send(server: Server, curve: Curve) -> None:
        data = encode(message("Curve", points=curve))
        server.write(data[:2] + change(data, curve) + data[6:])

    return instead("send_curve", send)


def contents(change: Callable[[bytes, Curve], bytes]) -> Callable[[Server, Curve], None]:
    """Send a curve with other contents."""

    def send(server: Server, curve: Curve) -> None:
        data = encode(message("Curve", points=curve))[6:]
        server.write(frame(0xF009, change(data, curve)))

    return send


def _with_swapped_end(curve: Curve) -> Curve:
    *start, (x, y, z) = curve
    return [*start, [x, z, y]]


FAULTS = Table(Server)

FAULTS["exercise.curve-first"] = {
    "progress-before-curve": Fault(
        "Sends the state before the curve.",
        before("begin", call("send_position", [0.0, 0.0, 0.0])),
    ),
    "no-curve": Fault("Sends no curve.", skip("send_curve")),
    "first-curve-only": Subtle(
        "Sends the curve only for the first exercise of a connection.", only("begin", first(1))
    ),
    "first-exercise-untold": Subtle(
        "Shows nothing of the first exercise of a connection.",
        only("begin", SECOND),
        only("show", SECOND),
        COUNT,
    ),
}

FAULTS["exercise.curve-structure"] = {
    "points-of-four": Fault(
        "Sends a fourth number with each point, as in the vectors.",
        instead(
            "send_curve",
            contents(lambda _, curve: b"".join(struct.pack("<4f", *at, 0) for at in curve)),
        ),
    ),
    "counted-curve": Subtle(
        "Sends the number of points before the points.",
        instead("send_curve", contents(lambda data, curve: struct.pack("<I", len(curve)) + data)),
    ),
    "second-curve-cut": Subtle(
        "Cuts the curves of later exercises inside the last point.",
        instead("begin", contents(lambda data, _: data[:-5]), ~first(1)),
    ),
}

FAULTS["frame.variable-length"] = {
    "curve-length-big-endian": Fault(
        "Sends the length of the curve in big-endian.", length(lambda data, _: data[5:1:-1])
    ),
    "curve-length-in-points": Fault(
        "Sends the number of points as the length of the curve.",
        length(lambda _, curve: len(curve).to_bytes(4, "little")),
    ),
    "curve-counts-its-header": Subtle(
        "Includes identifier and length in the length of the curve.",
        length(lambda data, _: len(data).to_bytes(4, "little")),
    ),
    "curve-length-of-16-bits": Subtle(
        "Sends only the lower 16 bits of the length of the curve.",
        length(lambda data, _: data[2:4] + b"\0\0"),
    ),
}

FAULTS["exercise.curve-values"] = {
    "last-point-missing": Fault(
        "Omits the last point of the curve.", points(lambda curve: curve[:-1])
    ),
    "five-hundred-points": Subtle("Sends at most 500 points.", points(lambda curve: curve[:500])),
    "five-thousand-points": Subtle(
        "Sends at most 5000 points.", points(lambda curve: curve[:5000])
    ),
    "last-axes-swapped": Subtle("Swaps Y and Z of the last point.", points(_with_swapped_end)),
    "closed-curve": Subtle(
        "Repeats the first point at the end of curves of more than two points.",
        points(lambda curve: [*curve, curve[0]] if len(curve) > 2 else curve),
    ),
    "equal-points-once": Subtle(
        "Sends only one of several equal consecutive points.",
        points(lambda curve: [point for point, _ in groupby(curve)]),
    ),
    "curve-of-4096-bytes": Subtle(
        "Sends only the points that fit into 4096 bytes.",
        points(lambda curve: curve[: 4096 // 12]),
    ),
}


@fault("same-curve-untold", violates="exercise.curve-first", subtle=True)
class SameCurveUntold(Server):
    """Sends no curve for an exercise with the same curve as the exercise before."""

    latest: list[Vector] | None = None

    def send_curve(self, curve: list[Vector]) -> None:
        if curve != self.latest:
            super().send_curve(curve)
        self.latest = curve


@fault("forgets-what-does-not-fit", violates="frame.variable-length", subtle=True)
class ForgetsWhatDoesNotFit(Server):
    """Sends only as much of a message as the connection accepts at once."""

    def write(self, data: bytes) -> None:
        for at in range(0, len(data), 512):
            if not self.stream.is_behind:
                super().write(data[at : at + 512])
