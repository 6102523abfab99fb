"""Variants of exercises, as sent by servers and shown by clients."""

from typing import Any

from conformance.deltarobot.codec import message
from mocks.deltarobot.client import Client
from mocks.deltarobot.exercise import State, Vector
from mocks.deltarobot.server import Server
from mocks.deviations import variant


@variant("progress-at-rest", of="progress.ends")
class ProgressAtRest(Server):
    """Sends the position of the actuator at all times, even without an exercise."""

    position: Vector = [0.0, 0.0, 0.0]  # noqa: RUF012  replaced, never changed

    def welcome(self) -> None:
        super().welcome()
        self.tell()

    def show(self, state: State) -> None:
        self.position = state.position
        super().show(state)

    def tell(self) -> None:
        super().send_position(self.position)
        self.call_later(0.02, self.tell)


@variant("no-curve-for-the-late", of="exercise.late-client")
class NoCurveForTheLate(Server):
    """Sends no curve to a client that connects during an exercise."""

    joining = False

    def welcome(self) -> None:
        self.joining = True
        super().welcome()
        self.joining = False

    def begin(self, curve: list[Vector]) -> None:
        if not self.joining:
            super().begin(curve)


@variant("exercise-of-the-present", of="exercise.late-client")
class ExerciseOfThePresent(Server):
    """Registers a client some time after its handshake, and shows it only later exercises."""

    present = takes_part = False

    def welcome(self) -> None:
        self.machine.join(self)
        self.call_later(0.2, self.arrive)

    def arrive(self) -> None:
        self.present = True
        self.start_pings()

    def begin(self, curve: list[Vector]) -> None:
        self.takes_part = self.present
        if self.takes_part:
            super().begin(curve)

    def show(self, state: State) -> None:
        if self.takes_part:
            super().show(state)


@variant("any-u", of="progress.position")
class AnyU(Server):
    """Sends NaN as the unused value."""

    def send_vector(self, name: str, vector: Vector) -> None:
        x, y, z = vector
        self.send(message(name, x=x, y=y, z=z, u="NaN"))


@variant("one-vector-at-a-time", of="progress.continuous")
class OneVectorAtATime(Server):
    """Sends one of the three vectors in each step, the desired direction first."""

    turn = 0

    def show(self, state: State) -> None:
        self.turn += 1
        tell = (
            lambda: self.send_desired(state.desired),
            lambda: self.send_position(state.position),
            lambda: self.send_current(state.current),
        )
        tell[self.turn % 3]()


@variant("first-curve-only", of="exercise.curve-replaced")
class FirstCurveOnly(Client):
    """Shows the curve of a later exercise only when the progress of that exercise begins."""

    following: Any = None

    def curve(self, value: Any) -> None:
        if self.view.curve is None:
            super().curve(value)
        else:
            self.following = value

    def vector(self, value: Any) -> Vector:
        if self.following is not None:
            super().curve(self.following)
            self.following = None
        return super().vector(value)


@variant("no-use-for-curves", of="messages.unused-ignored")
class NoUseForCurves(Client):
    """Ignores curves and the current direction, which its application does not show."""

    def state(self) -> dict[str, Any]:
        shown = super().state()
        return {name: shown[name] for name in ("position", "desired")}


@variant("finite-numbers-only", of="frame.not-finite")
class FiniteNumbersOnly(Client):
    """Ignores vectors and points that have a coordinate without a finite value."""

    def handle(self, name: str, value: Any) -> None:
        if not any(isinstance(value.get(axis), str) for axis in "xyz"):
            super().handle(name, value)

    def curve(self, value: Any) -> None:
        finite = [p for p in value["points"] if not any(isinstance(c, str) for c in p)]
        super().curve({"points": finite})


@variant("closes-upon-ragged-curve", of="exercise.odd-curves")
class ClosesUponRaggedCurve(Client):
    """Closes the connection after a curve that ends inside a point."""

    def curve(self, value: Any) -> None:
        if "rest" in value:
            self.end("a curve that ends inside a point")
        else:
            super().curve(value)


@variant("ends-with-who-reads-slowly", of="frame.variable-length")
class EndsWithWhoReadsSlowly(Server):
    """Ends the session of a client that does not read a curve at once."""

    def send_curve(self, curve: list[Vector]) -> None:
        super().send_curve(curve)
        if self.stream.is_behind:
            self.end("too slow")


@variant("leaves-out-what-is-late", of="frame.variable-length")
class LeavesOutWhatIsLate(Server):
    """Sends a client nothing more until the client has read everything."""

    def write(self, data: bytes) -> None:
        if not self.stream.is_behind:
            super().write(data)
