"""Faults of the server in the states for monitors, and in their timing."""

from mocks.deviations import fault
from mocks.simspark.monitor_port import HEADER_PARTIAL, Monitor
from mocks.simspark.server import Server


@fault("state-first", violates="monitors.environment-first")
class StateFirst(Server):
    """Sends the game state before the environment."""

    def welcome(self, monitor: Monitor) -> None:
        self.send_full(monitor)
        self.send_environment(monitor)


@fault("second-without-environment", violates="monitors.environment-first", subtle=True)
class SecondWithoutEnvironment(Server):
    """Sends the environment only to its first monitor."""

    def send_environment(self, monitor: Monitor) -> None:
        if monitor.number == 1:
            super().send_environment(monitor)


@fault("second-monitor-in-one-list", violates="monitors.apart", subtle=True)
class SecondMonitorInOneList(Server):
    """Sends environment and game state in one list to all monitors except the first."""

    def welcome(self, monitor: Monitor) -> None:
        if monitor.number == 1:
            super().welcome(monitor)
        else:
            self.send_state(monitor, [*self.environment(), *self.full_state()], self.full())


@fault("no-second-state", violates="monitors.state-second")
class NoSecondState(Server):
    """Sends updates directly after the environment."""

    def send_full(self, monitor: Monitor) -> None:
        pass


@fault("second-state-partial", violates="monitors.state-second", subtle=True)
class SecondStatePartial(Server):
    """Sends the full game state with an update to all monitors except the first."""

    def send_full(self, monitor: Monitor) -> None:
        if monitor.number == 1:
            super().send_full(monitor)
        else:
            self.send_state(monitor, self.full_state(), self.partial())


@fault("says-no-more", violates="monitors.keeps-sending")
class SaysNoMore(Server):
    """Sends only ten messages to a monitor."""

    def tell_monitor(self, monitor: Monitor, pairs: list[str], scene: str) -> None:
        if monitor.sent < 10:
            super().tell_monitor(monitor, pairs, scene)


@fault("says-no-more-to-trainers", violates="monitors.keeps-sending", subtle=True)
class SaysNoMoreToTrainers(Server):
    """Sends only five more messages to a monitor after its first command."""

    def hear_command(self, monitor: Monitor, expression: object) -> None:
        monitor.memory.setdefault("until", monitor.sent + 5)
        super().hear_command(monitor, expression)

    def tell_monitor(self, monitor: Monitor, pairs: list[str], scene: str) -> None:
        if monitor.sent < monitor.memory.get("until", monitor.sent + 1):
            super().tell_monitor(monitor, pairs, scene)


@fault("hundred-states", violates="monitors.keeps-sending", subtle=True)
class HundredStates(Server):
    """Stops sending to a monitor after a hundred states."""

    told: dict[int, int] | None = None

    def tell_monitor(self, monitor: Monitor, pairs: list[str], scene: str) -> None:
        self.told = self.told or {}
        self.told[id(monitor)] = self.told.get(id(monitor), 0) + 1
        if self.told[id(monitor)] <= 100:
            super().tell_monitor(monitor, pairs, scene)


@fault("slow", violates="monitors.rate")
class Slow(Server):
    """Sends a state only every 24 cycles, or 0.48 s."""

    def tell_monitors(self) -> None:
        if self.cycles % 24 == 0:
            super().tell_monitors()


@fault("first-monitor-commands", violates="monitors.commands")
class FirstMonitorCommands(Server):
    """Executes only the commands of its first monitor."""

    def hear_command(self, monitor: Monitor, expression: object) -> None:
        if monitor.number == 1:
            super().hear_command(monitor, expression)


@fault("one-command-each", violates="monitors.commands", subtle=True)
class OneCommandEach(Server):
    """Executes only one command of each monitor."""

    def hear_command(self, monitor: Monitor, expression: object) -> None:
        if "heard" not in monitor.memory:
            monitor.memory["heard"] = True
            super().hear_command(monitor, expression)


@fault("fifty-commands-each", violates="monitors.commands", subtle=True)
class FiftyCommandsEach(Server):
    """Executes only the first fifty commands of each monitor."""

    def hear_command(self, monitor: Monitor, expression: object) -> None:
        monitor.memory["count"] = monitor.memory.get("count", 0) + 1
        if monitor.memory["count"] <= 50:
            super().hear_command(monitor, expression)


# The environment


@fault("environment-without-header", violates="environment.structure")
class EnvironmentWithoutHeader(Server):
    """Sends no scene graph header after the environment."""

    def send_environment(self, monitor: Monitor) -> None:
        self.send_state(monitor, self.environment(), self.full_graph())


@fault("environment-alone", violates="environment.structure", subtle=True)
class EnvironmentAlone(Server):
    """Sends the environment without a scene graph, from the second monitor on."""

    def send_environment(self, monitor: Monitor) -> None:
        if monitor.number == 1:
            super().send_environment(monitor)
        else:
            self.send_state(monitor, self.environment(), self.header_full())


@fault("flat-environment", violates="environment.pairs")
class FlatEnvironment(Server):
    """Writes names and values without brackets around each pair."""

    def environment_pair(self, name: str, value: float) -> str:
        pair = super().environment_pair(name, value)
        return pair if name == "FieldLength" else f"{pair[1:-1]} "


@fault("stray-word-in-the-environment", violates="environment.pairs", subtle=True)
class StrayWordInTheEnvironment(Server):
    """Ends the environment with a word outside of any pair."""

    def play_modes(self) -> str:
        return f"{super().play_modes()}end"


@fault("sizes-with-units", violates="environment.numbers")
class SizesWithUnits(Server):
    """Writes a unit after the sizes of the field."""

    def environment_pair(self, name: str, value: float) -> str:
        return f"({name} {value:g}m)" if name.startswith("Field") else f"({name} {value:g})"


@fault("half-time-in-minutes", violates="environment.numbers", subtle=True)
class HalfTimeInMinutes(Server):
    """Writes the length of a half in minutes and seconds."""

    def environment_pair(self, name: str, value: float) -> str:
        if name == "RuleHalfTime":
            return f"({name} {value // 60:g}:{value % 60:02g})"
        return super().environment_pair(name, value)


@fault("no-goal-depth", violates="environment.parameters", subtle=True)
class NoGoalDepth(Server):
    """Omits the depth of the goals."""

    def environment_pair(self, name: str, value: float) -> str:
        return "" if name == "GoalDepth" else super().environment_pair(name, value)


@fault("no-play-modes", violates="environment.play-modes")
class NoPlayModes(Server):
    """Sends no list of play modes."""

    def play_modes(self) -> str:
        return ""


@fault("empty-play-modes", violates="environment.play-modes", subtle=True)
class EmptyPlayModes(Server):
    """Sends an empty list of play modes."""

    def play_modes(self) -> str:
        return "(play_modes)"


# The game state


@fault("state-without-graph", violates="state.structure")
class StateWithoutGraph(Server):
    """Sends partial states without a scene graph."""

    def partial(self) -> str:
        return self.header_partial()


@fault("graph-without-state", violates="state.structure", subtle=True)
class GraphWithoutState(Server):
    """Sends the full scene graph without a state when nodes were added or removed."""

    def tell_monitors(self) -> None:
        self.alone = self.structure_told != self.world.structure
        super().tell_monitors()
        self.alone = False

    alone = False

    def send_state(self, monitor: Monitor, pairs: list[str], scene: str) -> None:
        if self.alone:
            monitor.send(scene)
        else:
            super().send_state(monitor, pairs, scene)


@fault("fourth-part", violates="state.structure", subtle=True)
class FourthPart(Server):
    """Sends a fourth part after the scene graph when one value has changed."""

    def send_state(self, monitor: Monitor, pairs: list[str], scene: str) -> None:
        more = "(changed)" if len(pairs) == 2 else ""
        super().send_state(monitor, pairs, scene + more)


@fault("no-half", violates="state.complete", subtle=True)
class NoHalf(Server):
    """Omits the half in the full game state."""

    def full_state(self) -> list[str]:
        return [pair for pair in super().full_state() if not pair.startswith("(half")]


@fault("state-without-scores", violates="state.complete")
class StateWithoutScores(Server):
    """Omits the scores in the full game state."""

    def full_state(self) -> list[str]:
        return [pair for pair in super().full_state() if not pair.startswith("(score")]


@fault("changes-without-time", violates="state.partial", subtle=True)
class ChangesWithoutTime(Server):
    """Omits the time when another value has changed."""

    def partial_state(self) -> list[str]:
        pairs = super().partial_state()
        return pairs[1:] if len(pairs) > 1 else pairs


@fault("half-untold", violates="state.partial", subtle=True)
class HalfUntold(Server):
    """Omits the half in partial states."""

    def partial_state(self) -> list[str]:
        return [pair for pair in super().partial_state() if not pair.startswith("(half")]


@fault("changes-for-one", violates="state.partial", subtle=True)
class ChangesForOne(Server):
    """Sends changes only to one monitor."""

    def tell_monitor(self, monitor: Monitor, pairs: list[str], scene: str) -> None:
        told = pairs if monitor is self.monitors[0] else pairs[:1]
        super().tell_monitor(monitor, told, scene)


@fault("changes-for-one-until-full", violates="state.partial", subtle=True)
class ChangesForOneUntilFull(ChangesForOne):
    """Sends changes only to one monitor, and everything to all monitors every 60 cycles."""

    def tell_monitors(self) -> None:
        self.full_wanted |= self.cycles % 60 == 0
        super().tell_monitors()

    def tell_monitor(self, monitor: Monitor, pairs: list[str], scene: str) -> None:
        if scene.startswith(HEADER_PARTIAL):
            super().tell_monitor(monitor, pairs, scene)
        else:
            self.send_state(monitor, pairs, scene)


@fault("one-change-a-state", violates="state.partial", subtle=True)
class OneChangeAState(Server):
    """Sends one change in each partial state, and everything every 60 cycles."""

    def tell_monitors(self) -> None:
        self.full_wanted |= self.cycles % 60 == 0
        super().tell_monitors()

    def partial_state(self) -> list[str]:
        return super().partial_state()[:2]


@fault("time-of-day", violates="state.values")
class TimeOfDay(Server):
    """Writes the time in minutes and seconds."""

    def state(self) -> dict[str, str]:
        minutes, seconds = divmod(self.world.time, 60)
        return {**super().state(), "time": f"{minutes:.0f}:{seconds:05.2f}"}


@fault("fractions-of-goals", violates="state.values", subtle=True)
class FractionsOfGoals(Server):
    """Counts half a goal more for the right team once it has scored."""

    def state(self) -> dict[str, str]:
        goals = self.world.score["right"]
        return {**super().state(), "score_right": f"{goals}.5" if goals else "0"}


@fault("play-mode-by-name", violates="state.play-mode")
class PlayModeByName(Server):
    """Sends the name of the play mode instead of its index."""

    def state(self) -> dict[str, str]:
        return {**super().state(), "play_mode": self.world.mode}


@fault("play-modes-from-one", violates="state.play-mode", subtle=True)
class PlayModesFromOne(Server):
    """Counts play modes from 1."""

    def play_mode_index(self) -> int:
        return super().play_mode_index() + 1


@fault("time-jitters", violates="state.time-goes-on", subtle=True)
class TimeJitters(Server):
    """Sends a time that is 0.1 s too early in every seventh message."""

    def state(self) -> dict[str, str]:
        late = 0.1 if self.cycles % 14 == 0 and self.world.time > 0.1 else 0.0
        return {**super().state(), "time": f"{self.world.time - late:.6g}"}
