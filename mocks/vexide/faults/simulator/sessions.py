"""Faults of the simulator with undefined commands, a second start, and further sessions."""

import os

from mocks.deviations import Fault, Subtle, Table, fault
from mocks.steps import die, from_connection, hang, instead, skip
from mocks.vexide.faults.bases import RUNNING
from mocks.vexide.faults.robustness import OutlivesInput
from mocks.vexide.robot import Robot
from mocks.vexide.simulator import Simulator

TCP = {"transport": "tcp"}

FAULTS = Table(Simulator)

FAULTS["commands.undefined-tolerated"] = {
    "adi-input-closes": Fault("Closes the stream at AdiInput.", instead("adi_input", "close")),
    "link-closed-stalls": Subtle("Stops serving at VEXLinkClosed.", instead("link_closed", hang)),
    "link-opened-stalls-later": Subtle(
        "Stops serving at VEXLinkOpened while the program runs.",
        instead("link_opened", hang, RUNNING),
    ),
}

FAULTS["robustness.second-handshake"] = {
    "second-handshake-stalls-later": Subtle(
        "Stops serving at a second Handshake while the program runs.",
        instead("second_handshake", hang, RUNNING),
    ),
}

FAULTS["robustness.second-start"] = {
    "second-start-dies": Fault(
        "Crashes at a StartExecution while the program runs.", instead("second_start", die)
    ),
}

FAULTS["ready.sent"] = {
    "one-session": Subtle(
        "Never becomes Ready in a second session.",
        skip("load", from_connection(2)),
        needs=TCP,
    ),
}

FAULTS["framing.segmentation"] = {
    "later-pieces-lost": Subtle(
        "Loses separate pieces of a line, except its end, from the second session on.",
        skip("receive", from_connection(2) & (lambda _, data: b"\n" not in data)),
        needs=TCP,
    ),
}


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
    violates="setup.default-competition",
    subtle=True,
    needs={"transport": "tcp"},
)
class CompetitionOutlivesSession(Remembering):
    """Begins a further session in the last competition mode of the previous session."""

    def keep(self, old: Robot, new: Robot) -> None:
        new.competition = old.competition


@fault("disabled-outlives-session", violates="setup.default-competition", subtle=True, needs=TCP)
class DisabledOutlivesSession(Remembering):
    """Begins a further session disabled if the previous session ended disabled."""

    def keep(self, old: Robot, new: Robot) -> None:
        new.competition["enabled"] = old.competition["enabled"]


@fault(
    "battery-outlives-session",
    violates="battery.default",
    subtle=True,
    needs={"transport": "tcp"},
)
class BatteryOutlivesSession(Remembering):
    """Begins a further session with the energy that the battery had in the previous session."""

    def keep(self, old: Robot, new: Robot) -> None:
        new.capacity = old.capacity


@fault(
    "card-outlives-session",
    violates="session.independent",
    subtle=True,
    needs={"transport": "tcp"},
)
class CardOutlivesSession(Remembering):
    """Begins a further session with the SD card of the previous session."""

    def keep(self, old: Robot, new: Robot) -> None:
        new.card = old.card


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


@fault("second-start-restarts", violates="robustness.second-start", subtle=True)
class SecondStartRestarts(Simulator):
    """Starts the program again at a StartExecution while the program runs."""

    def second_start(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self.execute()


@fault("outlives-input-before-handshake", violates="robustness.input-end", subtle=True)
class OutlivesInputBeforeHandshake(OutlivesInput, Simulator):
    """Continues if the frontend closes the stream instead of sending its Handshake."""

    def lingers(self) -> bool:
        return not self.handshaken


@fault("outlives-input-while-running", violates="robustness.input-end", subtle=True)
class OutlivesInputWhileRunning(OutlivesInput, Simulator):
    """Continues if the frontend closes the stream while the program runs."""

    def lingers(self) -> bool:
        return self.started
