"""Faults of the server in the curve at the beginning of an exercise."""

import struct
from itertools import groupby

from conformance.deltarobot.codec import encode, frame, message
from mocks.deltarobot.exercise import State, Vector
from mocks.deltarobot.server import Server
from mocks.deviations import fault


@fault("progress-before-curve", violates="exercise.curve-first")
class ProgressBeforeCurve(Server):
    """Sends the state before the curve."""

    def begin(self, curve: list[Vector]) -> None:
        self.send_position([0.0, 0.0, 0.0])
        super().begin(curve)


@fault("no-curve", violates="exercise.curve-first")
class NoCurve(Server):
    """Sends no curve."""

    def send_curve(self, curve: list[Vector]) -> None:
        pass


@fault("first-curve-only", violates="exercise.curve-first", subtle=True)
class FirstCurveOnly(Server):
    """Sends the curve only for the first exercise of a connection."""

    begun = False

    def begin(self, curve: list[Vector]) -> None:
        if not self.begun:
            super().begin(curve)
        self.begun = True


@fault("first-exercise-untold", violates="exercise.curve-first", subtle=True)
class FirstExerciseUntold(Server):
    """Shows nothing of the first exercise of a connection."""

    begun = 0

    def begin(self, curve: list[Vector]) -> None:
        self.begun += 1
        if self.begun > 1:
            super().begin(curve)

    def show(self, state: State) -> None:
        if self.begun > 1:
            super().show(state)


@fault("same-curve-untold", violates="exercise.curve-first", subtle=True)
class SameCurveUntold(Server):
    """Sends no curve for an exercise with the same curve as the exercise before."""

    latest: list[Vector] | None = None

    def send_curve(self, curve: list[Vector]) -> None:
        if curve != self.latest:
            super().send_curve(curve)
        self.latest = curve


@fault("points-of-four", violates="exercise.curve-structure")
class PointsOfFour(Server):
    """Sends a fourth number with each point, as in the vectors."""

    def send_curve(self, curve: list[Vector]) -> None:
        points = b"".join(struct.pack("<4f", *point, 0) for point in curve)
        self.write(frame(0xF009, points))


@fault("counted-curve", violates="exercise.curve-structure", subtle=True)
class CountedCurve(Server):
    """Sends the number of points before the points."""

    def send_curve(self, curve: list[Vector]) -> None:
        contents = encode(message("Curve", points=curve))[6:]
        self.write(frame(0xF009, struct.pack("<I", len(curve)) + contents))


@fault("second-curve-cut", violates="exercise.curve-structure", subtle=True)
class SecondCurveCut(Server):
    """Cuts the curves of later exercises inside the last point."""

    begun = False

    def begin(self, curve: list[Vector]) -> None:
        contents = encode(message("Curve", points=curve))[6:]
        if self.begun:
            self.write(frame(0xF009, contents[:-5]))
        else:
            super().begin(curve)
        self.begun = True


@fault("curve-length-big-endian", violates="frame.variable-length")
class CurveLengthBigEndian(Server):
    """Sends the length of the curve in big-endian."""

    def send_curve(self, curve: list[Vector]) -> None:
        data = encode(message("Curve", points=curve))
        self.write(data[:2] + data[5:1:-1] + data[6:])


@fault("curve-length-in-points", violates="frame.variable-length")
class CurveLengthInPoints(Server):
    """Sends the number of points as the length of the curve."""

    def send_curve(self, curve: list[Vector]) -> None:
        data = encode(message("Curve", points=curve))
        self.write(data[:2] + len(curve).to_bytes(4, "little") + data[6:])


@fault("curve-counts-its-header", violates="frame.variable-length", subtle=True)
class CurveCountsItsHeader(Server):
    """Includes identifier and length in the length of the curve."""

    def send_curve(self, curve: list[Vector]) -> None:
        data = encode(message("Curve", points=curve))
        self.write(data[:2] + len(data).to_bytes(4, "little") + data[6:])


@fault("curve-length-of-16-bits", violates="frame.variable-length", subtle=True)
class CurveLengthOf16Bits(Server):
    """Sends only the lower 16 bits of the length of the curve."""

    def send_curve(self, curve: list[Vector]) -> None:
        data = encode(message("Curve", points=curve))
        self.write(data[:4] + b"\0\0" + data[6:])


@fault("last-point-missing", violates="exercise.curve-values")
class LastPointMissing(Server):
    """Omits the last point of the curve."""

    def send_curve(self, curve: list[Vector]) -> None:
        super().send_curve(curve[:-1])


@fault("five-hundred-points", violates="exercise.curve-values", subtle=True)
class FiveHundredPoints(Server):
    """Sends at most 500 points."""

    def send_curve(self, curve: list[Vector]) -> None:
        super().send_curve(curve[:500])


@fault("five-thousand-points", violates="exercise.curve-values", subtle=True)
class FiveThousandPoints(Server):
    """Sends at most 5000 points."""

    def send_curve(self, curve: list[Vector]) -> None:
        super().send_curve(curve[:5000])


@fault("last-axes-swapped", violates="exercise.curve-values", subtle=True)
class LastAxesSwapped(Server):
    """Swaps Y and Z of the last point."""

    def send_curve(self, curve: list[Vector]) -> None:
        *first, (x, y, z) = curve
        super().send_curve([*first, [x, z, y]])


@fault("closed-curve", violates="exercise.curve-values", subtle=True)
class ClosedCurve(Server):
    """Repeats the first point at the end of curves of more than two points."""

    def send_curve(self, curve: list[Vector]) -> None:
        super().send_curve([*curve, curve[0]] if len(curve) > 2 else curve)


@fault("equal-points-once", violates="exercise.curve-values", subtle=True)
class EqualPointsOnce(Server):
    """Sends only one of several equal consecutive points."""

    def send_curve(self, curve: list[Vector]) -> None:
        super().send_curve([point for point, _ in groupby(curve)])


@fault("forgets-what-does-not-fit", violates="frame.variable-length", subtle=True)
class ForgetsWhatDoesNotFit(Server):
    """Sends only as much of a message as the connection accepts at once."""

    def write(self, data: bytes) -> None:
        for at in range(0, len(data), 512):
            if not self.stream.append_to:
                super().write(data[at : at + 512])


@fault("curve-of-4096-bytes", violates="exercise.curve-values", subtle=True)
class CurveOf4096Bytes(Server):
    """Sends only the points that fit into 4096 bytes."""

    def send_curve(self, curve: list[Vector]) -> None:
        super().send_curve(curve[: 4096 // 12])
