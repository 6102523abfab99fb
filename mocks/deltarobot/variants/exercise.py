"""Variants of exercises, as sent by servers and shown by clients."""

from typing import Any

from conformance.deltarobot.codec import message
from conformance.deltarobot.floats import unit
from mocks.deltarobot.client import Client
from mocks.deltarobot.exercise import State, Vector, circle
from mocks.deltarobot.server import Server
from mocks.deviations import Table, Variant, variant
from mocks.steps import (
    alter,
    before,
    call,
    exit_process,
    having,
    instead,
    noted,
    only,
    put,
    returning,
    skip,
    then,
)

LATE = having("stream.is_behind")
"""While the client has not read everything."""


def _send_with_nan(server: Server, name: str, vector: Vector) -> None:
    x, y, z = vector
    server.send(message(name, x=x, y=y, z=z, u="NaN"))


def _is_finite(point: list[Any]) -> bool:
    return not any(isinstance(coordinate, str) for coordinate in point)


def _with_unit_directions(shown: dict[str, Any]) -> dict[str, Any]:
    return shown | {
        name: unit(shown[name])
        for name in ("current", "desired")
        if shown[name] is not None and _is_finite(shown[name])
    }


def _with_digits(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _with_digits(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_with_digits(one) for one in value]
    return float(f"{value:.6g}") if isinstance(value, float) else value


def _has_infinite_axis(_: Client, name: str, value: Any) -> bool:
    return not _is_finite([value.get(axis) for axis in "xyz"])


OF_SERVER = Table(Server)

OF_SERVER["exercise.late-client"] = {
    "no-curve-for-the-late": Variant(
        "Sends no curve to a client that connects during an exercise.",
        skip("begin", noted("joining")),
        before("welcome", put("joining", True)),
        then("welcome", put("joining", False)),
    ),
}

OF_SERVER["progress.position"] = {
    "any-u": Variant("Sends NaN as the unused value.", instead("send_vector", _send_with_nan)),
}

OF_SERVER["progress.current-direction"] = {
    "directions-of-length-1": Variant(
        "Scales both directions to the length 1.",
        alter("send_current", lambda _, direction: unit(direction)),
        alter("send_desired", lambda _, direction: unit(direction)),
    ),
}

OF_SERVER["progress.continuous"] = {
    "given-states-only": Variant(
        "Sends progress only after its application has been given a state.",
        only("show", having("machine._fixed")),
    ),
}

OF_SERVER["frame.variable-length"] = {
    "ends-with-who-reads-slowly": Variant(
        "Ends the session of a client that does not read a curve at once.",
        then("send_curve", call("end", "too slow"), LATE),
    ),
    "leaves-out-what-is-late": Variant(
        "Sends a client nothing more until the client has read everything.", skip("write", LATE)
    ),
}

OF_CLIENT = Table(Client)

OF_CLIENT["progress.desired-direction"] = {
    "directions-of-length-1": Variant(
        "Scales finite directions to the length 1.", returning("state", _with_unit_directions)
    ),
}

OF_CLIENT["frame.floats"] = {
    "six-digits": Variant("Shows numbers with six digits.", returning("state", _with_digits)),
}

OF_CLIENT["messages.unused-ignored"] = {
    "no-use-for-curves": Variant(
        "Ignores curves and the current direction, which its application does not show.",
        returning("state", lambda shown: {name: shown[name] for name in ("position", "desired")}),
    ),
}

OF_CLIENT["frame.not-finite"] = {
    "finite-numbers-only": Variant(
        "Ignores vectors and points that have a coordinate without a finite value.",
        skip("handle", _has_infinite_axis),
        alter("curve", lambda _, value: {"points": list(filter(_is_finite, value["points"]))}),
    ),
    "leaves-without-numbers": Variant(
        "Exits after a vector without a finite coordinate.",
        before("handle", exit_process, _has_infinite_axis),
    ),
}

OF_CLIENT["exercise.odd-curves"] = {
    "closes-upon-ragged-curve": Variant(
        "Closes the connection after a curve that ends inside a point.",
        instead(
            "curve",
            lambda client, _: client.end("a curve that ends inside a point"),
            lambda _, value: "rest" in value,
        ),
    ),
}


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


@variant("exercise-of-its-own", of="exercise.curve-first")
class ExerciseOfItsOwn(Server):
    """Runs an exercise by itself while it has clients, until its user starts another one."""

    def opened(self) -> None:
        self.machine.own = circle()
        super().opened()


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


@variant("directions-now-and-then", of="progress.continuous")
class DirectionsNowAndThen(Server):
    """Sends a thousand positions a second, and the directions twice a second."""

    step = 0

    def show(self, state: State) -> None:
        self.step += 1
        for _ in range(10):
            self.send_position(state.position)
        if self.step % 50 == 0:
            self.send_current(state.current)
            self.send_desired(state.desired)


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


@variant("all-three-at-once", of="progress.position")
class AllThreeAtOnce(Client):
    """Shows position and directions only when a desired direction arrives."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.coming: dict[str, Vector] = {}

    def position(self, value: Any) -> None:
        self.coming["position"] = self.vector(value)

    def current(self, value: Any) -> None:
        self.coming["current"] = self.vector(value)

    def desired(self, value: Any) -> None:
        super().desired(value)
        for name, vector in self.coming.items():
            setattr(self.view, name, vector)


class Attentive(Server):
    """A server that notices soon when an exercise has ended."""

    attentive = False

    def begin(self, curve: list[Vector]) -> None:
        super().begin(curve)
        if not self.attentive:
            self.attentive = True
            self.look()

    def look(self) -> None:
        if self.machine.is_running:
            self.call_later(0.01, self.look)
        else:
            self.attentive = False
            self.exercise_over()

    def exercise_over(self) -> None:
        """React to the end of an exercise."""


@variant("ends-with-its-exercise", of="progress.ends")
class EndsWithItsExercise(Attentive):
    """Ends the transmission after an exercise has ended."""

    def exercise_over(self) -> None:
        self.end("the exercise is over")


@variant("own-exercises-between", of="progress.ends")
class OwnExercisesBetween(Attentive):
    """Begins an exercise of its own after an exercise has ended."""

    def exercise_over(self) -> None:
        self.machine.begin(circle())
