"""Faults of the simulator in setup, Ready, start and competition mode."""

from typing import Any

from mocks.deviations import fault
from mocks.vexide.robot import Robot
from mocks.vexide.simulator import Simulator


@fault("starts-disabled", violates="setup.default-competition")
class StartsDisabled(Simulator):
    """Begins disabled if no CompetitionMode was sent."""

    def build(self) -> Robot:
        robot = super().build()
        robot.competition["enabled"] = False
        return robot


@fault("starts-in-competition", violates="setup.default-competition", subtle=True)
class StartsInCompetition(Simulator):
    """Begins inside a competition if no CompetitionMode was sent."""

    def build(self) -> Robot:
        robot = super().build()
        robot.competition["is_competition"] = True
        return robot


@fault("setup-stalls", violates="setup.commands-handled")
class SetupStalls(Simulator):
    """Never becomes Ready if a setup command comes before Ready."""

    def handle(self, name: str, content: Any) -> None:
        super().handle(name, content)
        if not self.ready and name != "StartExecution" and self._timer is not None:
            self._timer.cancel()


@fault("setup-overflows", violates="setup.commands-handled", subtle=True)
class SetupOverflows(Simulator):
    """Ends the session at the fifth command before Ready."""

    waiting = 0

    def handle(self, name: str, content: Any) -> None:
        super().handle(name, content)
        self.waiting += not self.ready
        if self.waiting >= 5:
            self.close()


@fault("waits-for-start-only", violates="setup.commands-handled", subtle=True)
class WaitsForStartOnly(Simulator):
    """Ignores commands between Ready and StartExecution."""

    def handle(self, name: str, content: Any) -> None:
        if self.started or not self.ready or name == "StartExecution":
            super().handle(name, content)


@fault("last-port-deafens", violates="setup.commands-handled", subtle=True)
class LastPortDeafens(Simulator):
    """Ignores all commands after Smart port 20 is configured; its own events continue."""

    deaf = False

    def handle(self, name: str, content: Any) -> None:
        if not self.deaf:
            super().handle(name, content)
        self.deaf |= name == "ConfigureDevice" and content["port"] == ("Smart", 20)


@fault("thirty-commands", violates="setup.commands-handled", subtle=True)
class ThirtyCommands(Simulator):
    """Ignores all commands after the first thirty, unless the program runs by then."""

    taken = 0

    def handle(self, name: str, content: Any) -> None:
        self.taken += not self.started
        if self.taken <= 30:
            super().handle(name, content)


@fault("never-ready", violates="ready.sent")
class NeverReady(Simulator):
    """Does not send Ready."""

    def load(self) -> None:
        pass


@fault("slow-load-given-up", violates="ready.sent", subtle=True)
class SlowLoadGivenUp(Simulator):
    """Sends no Ready if the program needs half a second or more to load."""

    def load(self) -> None:
        if self.settings.load_time < 0.5:
            super().load()


@fault("ready-when-asked", violates="ready.sent", subtle=True)
class ReadyWhenAsked(Simulator):
    """Sends Ready only after a command has come."""

    def load(self) -> None:
        pass

    def handle(self, name: str, content: Any) -> None:
        super().handle(name, content)
        if self._timer is None:
            super().load()


@fault("ready-twice", violates="ready.once")
class ReadyTwice(Simulator):
    """Sends Ready twice."""

    def become_ready(self) -> None:
        super().become_ready()
        self.send("Ready")


@fault("ready-again", violates="ready.once", subtle=True)
class ReadyAgain(Simulator):
    """Sends Ready again when the competition mode changes while the program runs."""

    def compete(self, content: dict[str, Any]) -> None:
        super().compete(content)
        if self.started:
            self.send("Ready")


@fault("starts-early", violates="start.ignored-before-ready")
class StartsEarly(Simulator):
    """Starts the program after Ready because of an earlier StartExecution."""

    early = False

    def early_start(self) -> None:
        self.early = True

    def become_ready(self) -> None:
        super().become_ready()
        if self.early:
            self.execute()


@fault("runs-before-ready", violates="start.ignored-before-ready", subtle=True)
class RunsBeforeReady(Simulator):
    """Runs the program at a StartExecution before Ready; Ready comes as usual."""

    def early_start(self) -> None:
        self.execute()


@fault("early-start-blocks", violates="start.ignored-before-ready", subtle=True)
class EarlyStartBlocks(Simulator):
    """Accepts only the first StartExecution, even if it comes before Ready."""

    def early_start(self) -> None:
        self.started = True


@fault("never-starts", violates="start.begins-execution")
class NeverStarts(Simulator):
    """Ignores StartExecution."""

    def execute(self) -> None:
        self.started = True


@fault("starts-when-configured", violates="start.begins-execution", subtle=True)
class StartsWhenConfigured(Simulator):
    """Starts only if a device has been configured."""

    def execute(self) -> None:
        if self.robot.motors:
            super().execute()


@fault("starts-by-itself", violates="start.not-before")
class StartsByItself(Simulator):
    """Runs the program as soon as the program is loaded."""

    def become_ready(self) -> None:
        super().become_ready()
        self.execute()


@fault("drives-before-start", violates="start.not-before", subtle=True)
class DrivesBeforeStart(Simulator):
    """Applies a voltage to the motors as soon as the program is loaded."""

    def become_ready(self) -> None:
        super().become_ready()
        for motor in self.robot.motors.values():
            motor.voltage = 6.0
        self.robot.step(self.settings.tick)
        self.robot.events[:] = [each for each in self.robot.events if "DeviceUpdate" in each]
        self.report()


@fault("starts-by-competition", violates="start.not-before", subtle=True)
class StartsByCompetition(Simulator):
    """Runs the program at a CompetitionMode after Ready, without StartExecution."""

    def compete(self, content: dict[str, Any]) -> None:
        super().compete(content)
        if self.ready and not self.started:
            self.execute()


@fault("competition-ignored", violates="competition.update")
class CompetitionIgnored(Simulator):
    """Keeps the competition mode from the program's start."""

    def compete(self, content: dict[str, Any]) -> None:
        if not self.started:
            super().compete(content)


@fault("competition-once", violates="competition.update", subtle=True)
class CompetitionOnce(Simulator):
    """Accepts only one change of the competition mode while the program runs."""

    changes = 0

    def compete(self, content: dict[str, Any]) -> None:
        self.changes += self.started
        if self.changes < 2:
            super().compete(content)


@fault("dies-when-disabled", violates="competition.update", subtle=True)
class DiesWhenDisabled(Simulator):
    """Crashes at a CompetitionMode that disables the robot while the program runs."""

    def compete(self, content: dict[str, Any]) -> None:
        if self.started and not content["enabled"]:
            raise RuntimeError("no state is kept of a disabled robot")
        super().compete(content)


@fault("hundred-commands", violates="competition.update", subtle=True)
class HundredCommands(Simulator):
    """Accepts the first hundred commands while the program runs and ignores the others."""

    taken = 0

    def handle(self, name: str, content: Any) -> None:
        self.taken += self.started
        if self.taken <= 100:
            super().handle(name, content)


@fault("deaf-while-running", violates="competition.update")
class DeafWhileRunning(Simulator):
    """Ignores all commands while the program runs."""

    def handle(self, name: str, content: Any) -> None:
        if not self.started:
            super().handle(name, content)


@fault("deaf-after-a-while", violates="competition.update", subtle=True)
class DeafAfterAWhile(Simulator):
    """Ignores all commands after the program has run for a second."""

    steps = 0

    def step(self) -> None:
        self.steps += 1
        super().step()

    def handle(self, name: str, content: Any) -> None:
        if self.steps * self.settings.tick < 1:
            super().handle(name, content)


@fault("mode-lost-when-disabled", violates="competition.update", subtle=True)
class ModeLostWhenDisabled(Simulator):
    """Ignores the mode in a CompetitionMode that disables the robot."""

    def compete(self, content: dict[str, Any]) -> None:
        if not content["enabled"]:
            content["mode"] = self.robot.competition["mode"]
        super().compete(content)


@fault("gives-up-waiting", violates="start.begins-execution", subtle=True)
class GivesUpWaiting(Simulator):
    """Unloads its program if StartExecution does not come within a second after Ready."""

    def become_ready(self) -> None:
        super().become_ready()
        self.schedule(1.0, self.unload)

    def unload(self) -> None:
        self.ready = False


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
