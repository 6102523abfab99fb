"""Faults of the server in the numbers of an exercise, and in its progress messages."""

import asyncio
import math
import struct
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from conformance.deltarobot.codec import frame
from mocks.deltarobot.exercise import State, Vector
from mocks.deltarobot.faults.building import named
from mocks.deltarobot.server import Server
from mocks.deviations import Fault, Subtle, Table, fault
from mocks.steps import (
    Change,
    alter,
    before,
    die,
    first,
    instead,
    note,
    noted,
    nth,
    only,
    put,
    skip,
    then,
)

CODES = {
    "CurrentActuatorPosition": 0x4003,
    "CurrentDirectionVector": 0x4007,
    "DesiredDirectionVector": 0x4008,
}


_RUNNING = 0.06  # seconds; an exercise whose progress is not older than this is still running
_REPEATED = 0.05  # seconds between two states of an exercise that never ends


def vectors(form: str, *more: float) -> Change:
    """Pack the contents of each vector in a form of the module struct."""

    def send(server: Server, name: str, vector: Vector) -> None:
        server.write(struct.pack("<H", CODES[name]) + struct.pack(form, *vector, *more))

    return instead("send_vector", send)


def numbers(change: Callable[[Vector], Vector]) -> tuple[Change, Change]:
    """Send points and vectors with the numbers that a function makes of their numbers."""
    return (
        alter("send_curve", lambda _, curve: [change(point) for point in curve]),
        alter("send_vector", lambda _, name, vector: (name, change(vector))),
    )


def show(change: Callable[[State], State]) -> Change:
    return alter("show", lambda _, state: change(state))


def _mixed(vector: Vector) -> Vector:
    first, second, third = vector
    return [first, struct.unpack("<f", struct.pack(">f", second))[0], third]


def _whole(vector: Vector) -> Vector:
    return [float(math.trunc(c)) if math.isfinite(c) else c for c in vector]


def _normal(curve: list[Vector]) -> list[Vector]:
    return [[c if abs(c) >= 2.0**-126 else 0.0 * c for c in point] for point in curve]


def _aim(state: State) -> Vector:
    return [p + d for p, d in zip(state.position, state.desired, strict=True)]


def _send_integers(server: Server, direction: Vector) -> None:
    integers = [max(-(2**31), min(2**31 - 1, round(c))) for c in direction]
    server.write(frame(0x4008, struct.pack("<4i", *integers, 0)))


def _send_big_endian_curve(server: Server, curve: list[Vector]) -> None:
    server.write(frame(0xF009, b"".join(struct.pack(">3f", *point) for point in curve)))


def _repeat_position(server: Server, state: State) -> None:
    """Send the position again and again, even after the end of the exercise."""

    def again() -> None:
        if not server.ended:
            server.send_position(state.position)
            server.call_later(0.15, again)

    server.call_later(0.15, again)


FAULTS = Table(Server)

FAULTS["frame.fixed-lengths"] = {
    "vectors-without-u": Fault("Omits the unused number of the vectors.", vectors("<3f")),
    "vectors-with-a-time": Subtle("Sends a fifth number in vectors.", vectors("<5f", 0.0, 1.0)),
    "vectors-of-doubles": Fault("Sends vectors in double precision.", vectors("<4d", 0.0)),
}

FAULTS["frame.floats"] = {
    "big-endian-curves": Subtle(
        "Sends the floats of curves, and only these, in big-endian.",
        instead("send_curve", _send_big_endian_curve),
    ),
    "big-endian-floats": Fault(
        "Sends floats in big-endian, the default of QDataStream.",
        instead("send_curve", _send_big_endian_curve),
        vectors(">4f", 0.0),
    ),
    "second-number-big-endian": Subtle(
        "Sends the second number of each point and vector in big-endian.", *numbers(_mixed)
    ),
    "signs-lost": Fault(
        "Sends every float without its sign.",
        *numbers(lambda vector: [abs(c) for c in vector]),
    ),
    "whole-numbers": Fault("Sends every float without its fraction.", *numbers(_whole)),
    "three-decimals": Subtle(
        "Rounds every float to three decimals.",
        *numbers(lambda vector: [round(c, 3) for c in vector]),
    ),
    "limited-positions": Subtle(
        "Limits each coordinate of the position to 1000.",
        alter("send_position", lambda _, position: [max(-1e3, min(1e3, c)) for c in position]),
    ),
    "no-denormals": Subtle(
        "Sends zero in place of denormals.", alter("send_curve", lambda _, curve: _normal(curve))
    ),
}

FAULTS["messages.unknown-skipped"] = {
    "unknown-stops-progress": Subtle(
        "Stops the progress of an exercise after an unknown message.",
        skip("show", noted("puzzled")),
        then("skip", note("puzzled")),
        before("begin", put("puzzled", False)),
    ),
}

FAULTS["progress.continuous"] = {
    "state-once": Fault(
        "Sends only one state for each exercise.",
        skip("show", noted("told")),
        then("show", note("told")),
        before("begin", put("told", False)),
    ),
    "first-exercise-only": Subtle(
        "Sends progress only for the first exercise of a connection.",
        skip("show", noted("second")),
        before("begin", note("second", ~first(1))),
    ),
    "desired-for-a-second": Subtle(
        "Sends the desired direction only one hundred times.", only("send_desired", first(100))
    ),
    "no-desired-direction": Subtle(
        "Sends the desired direction only three times.", only("send_desired", first(3))
    ),
}

FAULTS["progress.position"] = {
    "z-mirrored": Subtle(
        "Negates Z of the position, as for a left-handed coordinate frame.",
        alter("send_position", lambda _, position: [*position[:2], -position[2]]),
    ),
}

FAULTS["progress.current-direction"] = {
    "directions-swapped": Fault(
        "Sends the desired direction as the current one.",
        show(lambda state: replace(state, current=state.desired)),
    ),
}

FAULTS["progress.desired-direction"] = {
    "whole-directions": Subtle(
        "Sends the desired direction as 32-bit integers.",
        instead("send_desired", _send_integers),
    ),
    "desired-from-origin": Fault(
        "Sends the target position as the desired direction.",
        show(lambda state: replace(state, desired=_aim(state))),
    ),
    "desired-z-first": Subtle(
        "Sends the desired direction with its coordinates in the order Z, X, Y.",
        alter("send_desired", lambda _, direction: [direction[2], *direction[:2]]),
    ),
}

FAULTS["progress.ends"] = {
    "goes-on-after-stop": Fault(
        "Continues to send the last position after the end of an exercise.",
        then("show", _repeat_position),
    ),
    "goes-on-after-second-stop": Subtle(
        "Continues to send the last position after the end of its second exercise.",
        then("show", _repeat_position, noted("second")),
        before("begin", note("second", nth(2))),
    ),
}

FAULTS["robustness.foreign-messages"] = {
    "passes-curves-on": Subtle(
        "Sends a client's curve back, as if it were the curve of the exercise.",
        then("skip", lambda server, curve: server.send(curve.value), named("Curve")),
    ),
}


@fault("once-more-after-a-while", violates="progress.ends", subtle=True)
class OnceMoreAfterAWhile(Server):
    """Repeats the last position 0.35 s after the last progress message."""

    shown = 0

    def show(self, state: State) -> None:
        super().show(state)
        self.shown += 1
        self.call_later(0.35, partial(self.once_more, self.shown, state))

    def once_more(self, shown: int, state: State) -> None:
        if shown == self.shown:
            self.send_position(state.position)


@fault("restarts-without-stop", violates="progress.ends", subtle=True)
class RestartsWithoutStop(Server):
    """Never ends an exercise during which another exercise began."""

    latest = -math.inf

    def begin(self, curve: list[Vector]) -> None:
        if asyncio.get_running_loop().time() - self.latest < _RUNNING:
            self.call_later(_REPEATED, self.again)
        super().begin(curve)

    def show(self, state: State) -> None:
        super().show(state)
        self.latest = asyncio.get_running_loop().time()
        self.state = state

    def again(self) -> None:
        super().show(self.state)
        self.call_later(_REPEATED, self.again)


@fault("dies-of-a-late-step", violates="end.received", subtle=True)
class DiesOfALateStep(Server):
    """Crashes 0.02 s after a client has ended the transmission during an exercise."""

    shown = False

    def show(self, state: State) -> None:
        self.shown = True
        super().show(state)

    def peer_ends(self, value: Any) -> None:
        super().peer_ends(value)
        if self.shown:
            asyncio.get_running_loop().call_later(0.02, die, self)


@fault("position-late", violates="progress.position")
class PositionLate(Server):
    """Sends the first position of an exercise in all position messages."""

    first: Vector | None = None

    def send_position(self, position: Vector) -> None:
        self.first = self.first or position
        super().send_position(self.first)


@fault("exercise-before-goes-on", violates="progress.position", subtle=True)
class ExerciseBeforeGoesOn(Server):
    """Sends the last position of an exercise also during the next exercise."""

    latest: Vector | None = None
    before: Vector | None = None

    def begin(self, curve: list[Vector]) -> None:
        self.before = self.latest
        super().begin(curve)

    def send_position(self, position: Vector) -> None:
        self.latest = position
        super().send_position(position)
        if self.before is not None:
            super().send_position(self.before)


@fault("rest-untold", violates="progress.current-direction", subtle=True)
class RestUntold(Server):
    """Continues to send the last direction although the patient has stopped."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.moved: Vector = [0.0, 0.0, 0.0]

    def send_current(self, direction: Vector) -> None:
        self.moved = direction if any(direction) else self.moved
        super().send_current(self.moved)
