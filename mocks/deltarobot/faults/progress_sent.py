"""Faults of the server in the numbers of an exercise, and in its progress messages."""

import math
import struct
from functools import partial
from typing import Any, ClassVar

from conformance.deltarobot.codec import frame
from mocks.deltarobot.exercise import State, Vector
from mocks.deltarobot.server import Server
from mocks.deviations import fault

CODES = {
    "CurrentActuatorPosition": 0x4003,
    "CurrentDirectionVector": 0x4007,
    "DesiredDirectionVector": 0x4008,
}


@fault("vectors-without-u", violates="frame.fixed-lengths")
class VectorsWithoutU(Server):
    """Omits the unused number of the vectors."""

    def send_vector(self, name: str, vector: Vector) -> None:
        self.write(struct.pack("<H3f", CODES[name], *vector))


@fault("vectors-of-doubles", violates="frame.fixed-lengths")
class VectorsOfDoubles(Server):
    """Sends vectors in double precision."""

    def send_vector(self, name: str, vector: Vector) -> None:
        self.write(struct.pack("<H4d", CODES[name], *vector, 0.0))


@fault("big-endian-curves", violates="frame.floats", subtle=True)
class BigEndianCurves(Server):
    """Sends the floats of curves, and only these, in big-endian."""

    def send_curve(self, curve: list[Vector]) -> None:
        self.write(frame(0xF009, b"".join(struct.pack(">3f", *point) for point in curve)))


@fault("big-endian-floats", violates="frame.floats")
class BigEndianFloats(BigEndianCurves):
    """Sends floats in big-endian, the default of QDataStream."""

    def send_vector(self, name: str, vector: Vector) -> None:
        self.write(frame(CODES[name], struct.pack(">4f", *vector, 0.0)))


@fault("second-number-big-endian", violates="frame.floats", subtle=True)
class SecondNumberBigEndian(Server):
    """Sends the second number of each point and vector in big-endian."""

    def send_curve(self, curve: list[Vector]) -> None:
        super().send_curve([_mixed(point) for point in curve])

    def send_vector(self, name: str, vector: Vector) -> None:
        super().send_vector(name, _mixed(vector))


def _mixed(vector: Vector) -> Vector:
    first, second, third = vector
    return [first, struct.unpack("<f", struct.pack(">f", second))[0], third]


@fault("signs-lost", violates="frame.floats")
class SignsLost(Server):
    """Sends every float without its sign."""

    def send_curve(self, curve: list[Vector]) -> None:
        super().send_curve([[abs(c) for c in point] for point in curve])

    def send_vector(self, name: str, vector: Vector) -> None:
        super().send_vector(name, [abs(c) for c in vector])


@fault("whole-numbers", violates="frame.floats")
class WholeNumbers(Server):
    """Sends every float without its fraction."""

    def send_curve(self, curve: list[Vector]) -> None:
        super().send_curve([_whole(point) for point in curve])

    def send_vector(self, name: str, vector: Vector) -> None:
        super().send_vector(name, _whole(vector))


def _whole(vector: Vector) -> Vector:
    return [float(math.trunc(c)) if math.isfinite(c) else c for c in vector]


@fault("three-decimals", violates="frame.floats", subtle=True)
class ThreeDecimals(Server):
    """Rounds every float to three decimals."""

    def send_curve(self, curve: list[Vector]) -> None:
        super().send_curve([[round(c, 3) for c in point] for point in curve])

    def send_vector(self, name: str, vector: Vector) -> None:
        super().send_vector(name, [round(c, 3) for c in vector])


@fault("no-denormals", violates="frame.floats", subtle=True)
class NoDenormals(Server):
    """Sends zero in place of denormals."""

    def send_curve(self, curve: list[Vector]) -> None:
        super().send_curve([[c if abs(c) >= 2.0**-126 else 0.0 * c for c in p] for p in curve])


@fault("whole-directions", violates="progress.desired-direction", subtle=True)
class WholeDirections(Server):
    """Sends the desired direction as 32-bit integers."""

    def send_desired(self, direction: Vector) -> None:
        numbers = [max(-(2**31), min(2**31 - 1, round(c))) for c in direction]
        self.write(frame(0x4008, struct.pack("<4i", *numbers, 0)))


@fault("unknown-stops-progress", violates="messages.unknown-skipped", subtle=True)
class UnknownStopsProgress(Server):
    """Stops the progress of an exercise after an unknown message."""

    puzzled = False

    def begin(self, curve: list[Vector]) -> None:
        self.puzzled = False
        super().begin(curve)

    def skip(self, frame: Any) -> None:
        self.puzzled = True

    def show(self, state: State) -> None:
        if not self.puzzled:
            super().show(state)


@fault("state-once", violates="progress.continuous")
class StateOnce(Server):
    """Sends only one state for each exercise."""

    told = False

    def begin(self, curve: list[Vector]) -> None:
        self.told = False
        super().begin(curve)

    def show(self, state: State) -> None:
        if not self.told:
            super().show(state)
        self.told = True


@fault("first-exercise-only", violates="progress.continuous", subtle=True)
class FirstExerciseOnly(Server):
    """Sends progress only for the first exercise of a connection."""

    begun = 0

    def begin(self, curve: list[Vector]) -> None:
        self.begun += 1
        super().begin(curve)

    def show(self, state: State) -> None:
        if self.begun == 1:
            super().show(state)


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


@fault("desired-for-a-second", violates="progress.continuous", subtle=True)
class DesiredForASecond(Server):
    """Sends the desired direction only one hundred times."""

    desired = 0

    def send_desired(self, direction: Vector) -> None:
        self.desired += 1
        if self.desired <= 100:
            super().send_desired(direction)


@fault("goes-on-after-second-stop", violates="progress.ends", subtle=True)
class GoesOnAfterSecondStop(Server):
    """Continues to send the last position after the end of its second exercise."""

    begun = 0

    def begin(self, curve: list[Vector]) -> None:
        self.begun += 1
        super().begin(curve)

    def show(self, state: State) -> None:
        super().show(state)
        if self.begun == 2:
            self.call_later(0.15, lambda: self.again(state))

    def again(self, state: State) -> None:
        if not self.ended:
            super().send_position(state.position)
            self.call_later(0.15, lambda: self.again(state))


@fault("no-desired-direction", violates="progress.continuous", subtle=True)
class NoDesiredDirection(Server):
    """Sends the desired direction only three times."""

    sent = 0

    def send_desired(self, direction: Vector) -> None:
        self.sent += 1
        if self.sent <= 3:
            super().send_desired(direction)


@fault("position-late", violates="progress.position")
class PositionLate(Server):
    """Sends the first position of an exercise in all position messages."""

    first: Vector | None = None

    def send_position(self, position: Vector) -> None:
        self.first = self.first or position
        super().send_position(self.first)


@fault("z-mirrored", violates="progress.position", subtle=True)
class ZMirrored(Server):
    """Negates Z of the position, as for a left-handed coordinate frame."""

    def send_position(self, position: Vector) -> None:
        x, y, z = position
        super().send_position([x, y, -z])


@fault("directions-swapped", violates="progress.current-direction")
class DirectionsSwapped(Server):
    """Sends the desired direction as the current one."""

    def show(self, state: State) -> None:
        super().show(State(state.position, state.desired, state.desired))


@fault("current-of-unit-length", violates="progress.current-direction", subtle=True)
class CurrentOfUnitLength(Server):
    """Scales the current direction to the length 1."""

    def send_current(self, direction: Vector) -> None:
        length = sum(float(c) ** 2 for c in direction) ** 0.5
        unit = [c / length for c in direction] if 0 < length < 1e30 else direction
        super().send_current(unit)


@fault("desired-from-origin", violates="progress.desired-direction")
class DesiredFromOrigin(Server):
    """Sends the target position as the desired direction."""

    def show(self, state: State) -> None:
        aim = [p + d for p, d in zip(state.position, state.desired, strict=True)]
        super().show(State(state.position, state.current, aim))


@fault("desired-z-first", violates="progress.desired-direction", subtle=True)
class DesiredZFirst(Server):
    """Sends the desired direction with its coordinates in the order Z, X, Y."""

    def send_desired(self, direction: Vector) -> None:
        x, y, z = direction
        super().send_desired([z, x, y])


@fault("goes-on-after-stop", violates="progress.ends")
class GoesOnAfterStop(Server):
    """Continues to send the last position after the end of an exercise."""

    def show(self, state: State) -> None:
        super().show(state)
        self.call_later(0.15, lambda: self.again(state))

    def again(self, state: State) -> None:
        if not self.ended:
            super().send_position(state.position)
            self.call_later(0.15, lambda: self.again(state))


@fault("passes-curves-on", violates="robustness.foreign-messages", subtle=True)
class PassesCurvesOn(Server):
    """Sends a client's curve back, as if it were the curve of the exercise."""

    HANDLERS: ClassVar = {**Server.HANDLERS, "Curve": "foreign_curve"}

    def foreign_curve(self, value: Any) -> None:
        self.send(value)


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
