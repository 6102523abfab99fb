"""Faults of the simulator with undefined commands, a second start, and further sessions."""

import os
from typing import Any

from mocks.deviations import fault
from mocks.vexide.faults.bases import Hanging, die
from mocks.vexide.faults.robustness import OutlivesInput
from mocks.vexide.robot import Robot
from mocks.vexide.simulator import Simulator


@fault("adi-input-closes", violates="commands.undefined-tolerated")
class AdiInputCloses(Simulator):
    """Closes the stream at AdiInput."""

    def adi_input(self, content: dict[str, Any]) -> None:
        self.close()


@fault("link-closed-stalls", violates="commands.undefined-tolerated", subtle=True)
class LinkClosedStalls(Hanging, Simulator):
    """Stops serving at VEXLinkClosed."""

    def link_closed(self, content: dict[str, Any]) -> None:
        self.stuck = True


@fault("link-opened-stalls-later", violates="commands.undefined-tolerated", subtle=True)
class LinkOpenedStallsLater(Hanging, Simulator):
    """Stops serving at VEXLinkOpened while the program runs."""

    def link_opened(self, content: dict[str, Any]) -> None:
        self.stuck = self.started


@fault("second-handshake-stalls-later", violates="robustness.second-handshake", subtle=True)
class SecondHandshakeStallsLater(Hanging, Simulator):
    """Stops serving at a second Handshake while the program runs."""

    def second_handshake(self) -> None:
        self.stuck = self.started


class Remembering(Simulator):
    """Begins with the world of the previous session in this process."""

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
    """Begins a further session in the last competition mode of the previous session."""

    def keep(self, old: Robot, new: Robot) -> None:
        new.competition = old.competition


@fault(
    "devices-outlive-session",
    violates="session.independent",
    subtle=True,
    needs={"transport": "tcp"},
)
class DevicesOutliveSession(Remembering):
    """Begins a further session with the motors of the previous session."""

    def keep(self, old: Robot, new: Robot) -> None:
        for port, motor in old.motors.items():
            new.configure(port, motor.gearset, motor.inertia)


@fault(
    "ends-with-a-reset",
    violates="session.independent",
    subtle=True,
    needs={"transport": "tcp"},
)
class EndsWithAReset(Simulator):
    """Exits normally after a session was reset."""

    def input_ended(self) -> None:
        if self.stream.broken:
            os._exit(0)
        super().input_ended()


@fault("one-session", violates="session.independent", needs={"transport": "tcp"})
class OneSession(Simulator):
    """Never becomes Ready in a second session."""

    def load(self) -> None:
        if self.number == 1:
            super().load()


@fault(
    "later-pieces-lost",
    violates="framing.segmentation",
    subtle=True,
    needs={"transport": "tcp"},
)
class LaterPiecesLost(Simulator):
    """Loses separate pieces of a line, except its end, from the second session on."""

    def receive(self, data: bytes) -> None:
        if self.number == 1 or b"\n" in data:
            super().receive(data)


@fault("second-start-dies", violates="robustness.second-start")
class SecondStartDies(Simulator):
    """Crashes at a StartExecution while the program runs."""

    def second_start(self) -> None:
        die()


@fault("second-start-restarts", violates="robustness.second-start", subtle=True)
class SecondStartRestarts(Simulator):
    """Starts the program again at a StartExecution while the program runs."""

    def second_start(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self.execute()


@fault("outlives-input-while-running", violates="robustness.input-end", subtle=True)
class OutlivesInputWhileRunning(OutlivesInput, Simulator):
    """Continues if the frontend closes the stream while the program runs."""

    def lingers(self) -> bool:
        return self.started
