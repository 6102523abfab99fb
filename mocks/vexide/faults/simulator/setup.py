"""Faults of the simulator in setup, Ready, start and competition mode."""

from typing import Any

from mocks.deviations import Fault, Subtle, Table, fault
from mocks.steps import (
    after,
    alter,
    before,
    having,
    instead,
    later,
    note,
    noted,
    put,
    send,
    skip,
    then,
)
from mocks.vexide.faults.bases import RUNNING, named
from mocks.vexide.simulator import Simulator

READY = having("ready")
START = named("StartExecution")
LOADING = having("_timer")
"""While the program loads, or later: a step of the simulator is scheduled."""


def _cancel(simulator: Simulator, *_: Any) -> None:
    """Cancel the next scheduled step: Ready, or a step of the program."""
    if simulator._timer is not None:
        simulator._timer.cancel()


def _drive(simulator: Simulator) -> None:
    """Apply a voltage to the motors, and report only their states."""
    robot = simulator.robot
    for motor in robot.motors.values():
        motor.voltage = 6.0
    robot.step(simulator.settings.tick)
    robot.events[:] = [each for each in robot.events if "DeviceUpdate" in each]
    simulator.report()


def _crash(*_: Any) -> None:
    raise RuntimeError("no state is kept of a disabled robot")


def _disables(_: Simulator, mode: dict[str, Any]) -> bool:
    return not mode["enabled"]


def _old_mode(simulator: Simulator, mode: dict[str, Any]) -> dict[str, Any]:
    return {**mode, "mode": simulator.robot.competition["mode"]}


FAULTS = Table(Simulator)

FAULTS["setup.default-competition"] = {
    "starts-disabled": Fault(
        "Begins disabled if no CompetitionMode was sent.",
        then("opened", lambda sim: sim.robot.competition.update(enabled=False)),
    ),
    "starts-in-competition": Subtle(
        "Begins inside a competition if no CompetitionMode was sent.",
        then("opened", lambda sim: sim.robot.competition.update(is_competition=True)),
    ),
}

FAULTS["setup.commands-handled"] = {
    "setup-stalls": Fault(
        "Never becomes Ready if a setup command comes before Ready.",
        then("handle", _cancel, ~READY & ~START),
    ),
    "setup-overflows": Subtle(
        "Ends the session at the fifth command before Ready.",
        then("handle", "close", ~READY & after(4)),
    ),
    "waits-for-start-only": Subtle(
        "Ignores commands between Ready and StartExecution.",
        skip("handle", READY & ~RUNNING & ~START),
    ),
    "last-port-deafens": Subtle(
        "Ignores all commands after Smart port 20 is configured; its own events continue.",
        skip("handle", noted("deaf")),
        then("configure", note("deaf"), lambda _, device: device["port"] == ("Smart", 20)),
    ),
    "eight-motors": Subtle(
        "Ignores the configuration of more than eight motors.",
        skip("configure", lambda sim, _: len(sim.robot.motors) >= 8),
    ),
    "thirty-commands": Subtle(
        "Ignores all commands after the first thirty, unless the program runs by then.",
        skip("handle", ~RUNNING & after(30)),
    ),
}

FAULTS["ready.sent"] = {
    "never-ready": Fault("Does not send Ready.", skip("load")),
    "slow-load-given-up": Subtle(
        "Sends no Ready if the program needs half a second or more to load.",
        skip("load", lambda sim: sim.settings.load_time >= 0.5),
    ),
    "ready-when-asked": Subtle(
        "Sends Ready only after a command has come.",
        skip("load", ~noted("asked")),
        then("handle", "load", ~LOADING),
        before("handle", note("asked")),
    ),
}

FAULTS["ready.once"] = {
    "ready-twice": Fault("Sends Ready twice.", then("become_ready", send("Ready"))),
    "ready-again": Subtle(
        "Sends Ready again when the competition mode changes while the program runs.",
        then("compete", send("Ready"), RUNNING),
    ),
}

FAULTS["start.ignored-before-ready"] = {
    "starts-early": Fault(
        "Starts the program after Ready because of an earlier StartExecution.",
        instead("early_start", note("early")),
        then("become_ready", "execute", noted("early")),
    ),
    "runs-before-ready": Subtle(
        "Runs the program at a StartExecution before Ready; Ready comes as usual.",
        instead("early_start", "execute"),
    ),
    "early-start-blocks": Subtle(
        "Accepts only the first StartExecution, even if it comes before Ready.",
        instead("early_start", put("started", True)),
    ),
}

FAULTS["start.begins-execution"] = {
    "never-starts": Fault("Ignores StartExecution.", instead("execute", put("started", True))),
    "starts-when-configured": Subtle(
        "Starts only if a device has been configured.", skip("execute", ~having("robot.motors"))
    ),
    "gives-up-waiting": Subtle(
        "Unloads its program if StartExecution does not come within a second after Ready.",
        then("become_ready", later(1.0, put("ready", False))),
    ),
}

FAULTS["start.not-before"] = {
    "starts-by-itself": Fault(
        "Runs the program as soon as the program is loaded.",
        then("become_ready", "execute"),
    ),
    "drives-before-start": Subtle(
        "Applies a voltage to the motors as soon as the program is loaded.",
        then("become_ready", _drive),
    ),
    "starts-by-competition": Subtle(
        "Runs the program at a CompetitionMode after Ready, without StartExecution.",
        then("compete", "execute", READY & ~RUNNING),
    ),
}

FAULTS["competition.update"] = {
    "competition-ignored": Fault(
        "Keeps the competition mode from the program's start.", skip("compete", RUNNING)
    ),
    "competition-once": Subtle(
        "Accepts only one change of the competition mode while the program runs.",
        skip("compete", RUNNING & after(1)),
    ),
    "dies-when-disabled": Subtle(
        "Crashes at a CompetitionMode that disables the robot while the program runs.",
        before("compete", _crash, RUNNING & _disables),
    ),
    "hundred-commands": Subtle(
        "Accepts the first hundred commands while the program runs and ignores the others.",
        skip("handle", RUNNING & after(100)),
    ),
    "deaf-while-running": Fault(
        "Ignores all commands while the program runs.", skip("handle", RUNNING)
    ),
    "deaf-after-a-while": Subtle(
        "Ignores all commands after the program has run for a second.",
        skip("handle", noted("late")),
        then("execute", later(1.0, note("late"))),
    ),
    "mode-lost-when-disabled": Subtle(
        "Ignores the mode in a CompetitionMode that disables the robot.",
        alter("compete", _old_mode, _disables),
    ),
}


@fault("starved-by-commands", violates="start.begins-execution", subtle=True)
class StarvedByCommands(Simulator):
    """Runs its program only after a pause of the commands."""

    QUIET = 0.2  # seconds without a command
    starting = False

    def execute(self) -> None:
        self.starting = True

    def begin(self) -> None:
        self.starting = False
        super().execute()

    def receive(self, data: bytes) -> None:
        super().receive(data)
        if self.starting and not self.ended:
            if self._timer is not None:
                self._timer.cancel()
            self.schedule(self.QUIET, self.begin)


@fault("ready-after-a-pause", violates="ready.sent", subtle=True)
class ReadyAfterAPause(Simulator):
    """Loads its program again with all commands that come before Ready."""

    def receive(self, data: bytes) -> None:
        loading = self.handshaken and not self.ready
        super().receive(data)
        if loading and not self.ended:
            _cancel(self)
            self.load()
