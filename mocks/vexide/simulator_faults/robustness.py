"""Faults of the simulator where it meets what is undefined or wrong, or a further session."""

from typing import Any

from mocks.deviations import fault
from mocks.vexide import defects
from mocks.vexide.defects import Hanging, die
from mocks.vexide.robot import Robot
from mocks.vexide.simulator import Simulator


@fault("adi-input-closes", violates="commands.undefined-tolerated")
class AdiInputCloses(Simulator):
    """Closes upon AdiInput."""

    def adi_input(self, content: dict[str, Any]) -> None:
        self.close()


@fault("link-closed-stalls", violates="commands.undefined-tolerated", subtle=True)
class LinkClosedStalls(Hanging, Simulator):
    """Stops serving upon VEXLinkClosed."""

    def link_closed(self, content: dict[str, Any]) -> None:
        self.stuck = True


class Remembering(Simulator):
    """Begins with the world that the session before it in this process has left."""

    left: Robot | None = None

    def build(self) -> Robot:
        fresh = super().build()
        if self.left is not None:
            self.keep(self.left, fresh)
        type(self).left = fresh
        return fresh

    def keep(self, old: Robot, new: Robot) -> None:
        raise NotImplementedError


@fault(
    "competition-outlives-session",
    violates="session.independent",
    subtle=True,
    needs={"transport": "tcp"},
)
class CompetitionOutlivesSession(Remembering):
    """Begins a further session in the competition mode in which the last one ended."""

    def keep(self, old: Robot, new: Robot) -> None:
        new.competition = old.competition


@fault(
    "devices-outlive-session",
    violates="session.independent",
    subtle=True,
    needs={"transport": "tcp"},
)
class DevicesOutliveSession(Remembering):
    """Begins a further session with the motors of the last one."""

    def keep(self, old: Robot, new: Robot) -> None:
        for port, motor in old.motors.items():
            new.configure(port, motor.gearset, motor.inertia)


@fault("one-session", violates="session.independent", needs={"transport": "tcp"})
class OneSession(Simulator):
    """Never becomes Ready in a second session."""

    def load(self) -> None:
        if self.number == 1:
            super().load()


@fault("unknown-name-dies", violates="robustness.unknown-message")
class UnknownNameDies(defects.UnknownNameDies, Simulator):
    """Dies of a message of a name that it does not know."""


@fault("unknown-word-hangs", violates="robustness.unknown-message", subtle=True)
class UnknownWordHangs(defects.UnknownWordHangs, Simulator):
    """Stops serving upon an unknown message that is a bare name."""


@fault("malformed-dies", violates="robustness.malformed-line")
class MalformedDies(defects.MalformedDies, Simulator):
    """Dies of a line that is no message."""


@fault("bad-text-dies", violates="robustness.malformed-line", subtle=True)
class BadTextDies(defects.BadTextDies, Simulator):
    """Dies of a line that is no UTF-8."""


@fault("unfit-hangs", violates="robustness.malformed-line", subtle=True)
class UnfitHangs(defects.UnfitHangs, Simulator):
    """Stops serving upon a known message with a value that does not fit."""


@fault("strange-field-dies", violates="robustness.unknown-fields")
class StrangeFieldDies(defects.StrangeFieldDies, Simulator):
    """Dies of an unknown field in a command."""


@fault("strange-inner-field-hangs", violates="robustness.unknown-fields", subtle=True)
class StrangeInnerFieldHangs(defects.StrangeInnerFieldHangs, Simulator):
    """Stops serving upon an unknown field inside a value of a command."""


@fault("second-handshake-dies", violates="robustness.second-handshake")
class SecondHandshakeDies(defects.SecondHandshakeDies, Simulator):
    """Dies of a second Handshake."""


@fault("second-handshake-hangs", violates="robustness.second-handshake", subtle=True)
class SecondHandshakeHangs(defects.SecondHandshakeHangs, Simulator):
    """Stops serving upon a second Handshake."""


@fault("second-start-dies", violates="robustness.second-start")
class SecondStartDies(Simulator):
    """Dies of a StartExecution while the program runs."""

    def second_start(self) -> None:
        die()


@fault("second-start-restarts", violates="robustness.second-start", subtle=True)
class SecondStartRestarts(Simulator):
    """Starts the program anew upon a StartExecution while it runs."""

    def second_start(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self.execute()


@fault("outlives-input", violates="robustness.input-end")
class OutlivesInput(defects.OutlivesInput, Simulator):
    """Stays when the frontend has closed the stream."""


@fault("outlives-input-while-running", violates="robustness.input-end", subtle=True)
class OutlivesInputWhileRunning(defects.OutlivesInput, Simulator):
    """Stays when the frontend closes the stream while the program runs."""

    def lingers(self) -> bool:
        return self.started
