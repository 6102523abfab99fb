"""Faults of the client in the exercise that it shows."""

import asyncio
import struct
from itertools import groupby
from typing import Any

from conformance.codec import Frame
from mocks.deltarobot.client import Client
from mocks.deltarobot.exercise import Vector
from mocks.deltarobot.faults.building import die
from mocks.deviations import fault


@fault("no-curves", violates="exercise.curve-shown")
class NoCurves(Client):
    """Ignores curves."""

    def curve(self, value: Any) -> None:
        pass


@fault("last-point-lost", violates="exercise.curve-shown", subtle=True)
class LastPointLost(Client):
    """Loses the last point of a curve of more than one point."""

    def curve(self, value: Any) -> None:
        super().curve(value)
        points = self.view.curve or []
        self.view.curve = points[:-1] if len(points) > 1 else points


@fault("curve-of-4096", violates="exercise.curve-shown", subtle=True)
class CurveOf4096(Client):
    """Keeps at most 4096 points."""

    def curve(self, value: Any) -> None:
        super().curve(value)
        self.view.curve = (self.view.curve or [])[:4096]


@fault("hundredths", violates="frame.floats", subtle=True)
class Hundredths(Client):
    """Rounds all values to hundredths."""

    digits = 2

    def state(self) -> dict[str, Any]:
        return {what: self.rounded(value) for what, value in super().state().items()}

    def rounded(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self.rounded(one) for one in value]
        return round(value, self.digits) if isinstance(value, float) else value


@fault("thousandths", violates="frame.floats", subtle=True)
class Thousandths(Hundredths):
    """Rounds all values to thousandths, which does not change plain numbers."""

    digits = 3


@fault("first-curve-stays", violates="exercise.curve-replaced")
class FirstCurveStays(Client):
    """Keeps the first point of the earlier curve, and replaces the others."""

    def curve(self, value: Any) -> None:
        before = self.view.curve or []
        super().curve(value)
        self.view.curve = [*before[:1], *(self.view.curve or [])[len(before[:1]) :]]


@fault("curves-add-up", violates="exercise.curve-replaced", subtle=True)
class CurvesAddUp(Client):
    """Appends the points of the next curve to the points of the curves before."""

    def curve(self, value: Any) -> None:
        before = self.view.curve or []
        super().curve(value)
        self.view.curve = before + (self.view.curve or [])


@fault("shorter-curve-leaves-rest", violates="exercise.curve-replaced", subtle=True)
class ShorterCurveLeavesRest(Client):
    """Keeps the last points of a longer curve after the points of a shorter one."""

    def curve(self, value: Any) -> None:
        before = self.view.curve or []
        super().curve(value)
        now = self.view.curve or []
        self.view.curve = now + before[len(now) :]


@fault("curve-of-equal-length-stays", violates="exercise.curve-replaced", subtle=True)
class CurveOfEqualLengthStays(Client):
    """Ignores a curve that has as many points as the current curve."""

    def curve(self, value: Any) -> None:
        if len(self.view.curve or []) != len(value["points"]):
            super().curve(value)


@fault("closes-upon-empty-curve", violates="exercise.odd-curves")
class ClosesUponEmptyCurve(Client):
    """Closes the connection after a curve without points."""

    def curve(self, value: Any) -> None:
        if not value["points"]:
            self.end("a curve without points")
        else:
            super().curve(value)


@fault("dies-of-ragged-curve", violates="exercise.odd-curves", subtle=True)
class DiesOfRaggedCurve(Client):
    """Crashes on a curve that ends inside a point."""

    def curve(self, value: Any) -> None:
        if "rest" in value and value["points"]:
            die()
        super().curve(value)


@fault("first-position-only", violates="progress.position")
class FirstPositionOnly(Client):
    """Keeps the first position for ever."""

    def position(self, value: Any) -> None:
        if self.view.position is None:
            super().position(value)


@fault("position-swapped", violates="progress.position", subtle=True)
class PositionSwapped(Client):
    """Swaps Y and Z of the position, as for an upward Y axis."""

    def position(self, value: Any) -> None:
        x, y, z = self.vector(value)
        self.view.position = [x, z, y]


@fault("current-is-desired", violates="progress.current-direction")
class CurrentIsDesired(Client):
    """Swaps the current and the desired direction."""

    def current(self, value: Any) -> None:
        self.view.desired = self.vector(value)

    def desired(self, value: Any) -> None:
        self.view.current = self.vector(value)


@fault("desired-normalised", violates="progress.desired-direction")
class DesiredNormalised(Client):
    """Scales the desired direction to the length 1."""

    def desired(self, value: Any) -> None:
        vector = self.vector(value)
        numbers = [c for c in vector if isinstance(c, float)]
        length = sum(c * c for c in numbers) ** 0.5 if len(numbers) == 3 else 0.0
        self.view.desired = [c / length for c in vector] if 0 < length < 1e30 else vector


@fault("closes-upon-odd-u", violates="progress.unused-value")
class ClosesUponOddU(Client):
    """Closes the connection if U is not 0."""

    def vector(self, value: Any) -> Vector:
        if value["u"] != 0:
            self.end("U must be 0")
        return super().vector(value)


@fault("u-as-weight", violates="progress.unused-value", subtle=True)
class UAsWeight(Client):
    """Ignores vectors whose U is NaN."""

    def handle(self, name: str, value: Any) -> None:
        if not str(value.get("u", "")).startswith("NaN"):
            super().handle(name, value)


@fault("big-endian-floats", violates="frame.floats")
class BigEndianFloats(Client):
    """Reads floats in big-endian."""

    def vector(self, value: Any) -> Vector:
        return [
            struct.unpack(">f", struct.pack("<f", c))[0] if isinstance(c, float) else 0.0
            for c in super().vector(value)
        ]


@fault("no-denormals", violates="frame.floats", subtle=True)
class NoDenormals(Client):
    """Reads denormals in curves as zero."""

    def curve(self, value: Any) -> None:
        super().curve(value)
        self.view.curve = [
            [0.0 * c if isinstance(c, float) and abs(c) < 2.0**-126 else c for c in point]
            for point in self.view.curve or []
        ]


@fault("no-nan", violates="frame.not-finite", subtle=True)
class NoNan(Client):
    """Reads NaN in vectors as zero."""

    def vector(self, value: Any) -> Vector:
        return [0.0 if str(c).startswith("NaN") else c for c in super().vector(value)]


@fault("curve-inside-unknown", violates="messages.type-identifier", subtle=True)
class CurveInsideUnknown(Client):
    """Reads the contents of an unknown message of variable length as messages."""

    def skip(self, frame: Frame) -> None:
        if frame.value["identifier"].startswith("0xf"):
            inner = bytes.fromhex(frame.value.get("data", ""))
            for found in self.make_decoder().feed(inner):
                if found.name in self.HANDLERS and found.name != "Ping":
                    self.handle(found.name, found.value)


@fault("equal-points-once", violates="exercise.curve-shown", subtle=True)
class EqualPointsOnce(Client):
    """Keeps only one of several equal consecutive points."""

    def curve(self, value: Any) -> None:
        super().curve({"points": [point for point, _ in groupby(value["points"])]})


@fault("curve-at-rest-only", violates="exercise.curve-replaced", subtle=True)
class CurveAtRestOnly(Client):
    """Ignores curves after it has received a position."""

    def curve(self, value: Any) -> None:
        if self.view.position is None:
            super().curve(value)


@fault("equal-x-is-equal", violates="progress.position", subtle=True)
class EqualXIsEqual(Client):
    """Ignores a position whose X is the same as before."""

    def position(self, value: Any) -> None:
        if self.view.position is None or self.view.position[0] != value["x"]:
            super().position(value)


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


@fault("rest-unseen", violates="progress.desired-direction", subtle=True)
class RestUnseen(Client):
    """Ignores a desired direction of zero, which it cannot scale to the length 1."""

    def desired(self, value: Any) -> None:
        if any(value[axis] for axis in "xyz"):
            super().desired(value)


@fault("later-directions-swapped", violates="progress.current-direction", subtle=True)
class LaterDirectionsSwapped(Client):
    """Swaps the two directions from the second exercise of a connection on."""

    begun = 0

    def curve(self, value: Any) -> None:
        super().curve(value)
        self.begun += 1

    def current(self, value: Any) -> None:
        if self.begun > 1:
            super().desired(value)
        else:
            super().current(value)

    def desired(self, value: Any) -> None:
        if self.begun > 1:
            super().current(value)
        else:
            super().desired(value)
