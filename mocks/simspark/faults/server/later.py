"""Faults of the server in the first messages to later monitors."""

from mocks.deviations import fault
from mocks.simspark.monitor_port import Monitor
from mocks.simspark.server import Server
from mocks.simspark.settings import PLAY_MODES


class _Greets(Server):
    """Notes if a full state is sent as part of an introduction."""

    greeting = False

    def welcome(self, monitor: Monitor) -> None:
        self.greeting = True
        super().welcome(monitor)
        self.greeting = False


@fault("first-score-for-later-monitors", violates="state.complete", subtle=True)
class FirstScoreForLaterMonitors(_Greets):
    """Sends a score of 0 in the introduction of every monitor."""

    def full_state(self) -> list[str]:
        pairs = super().full_state()
        if not self.greeting:
            return pairs
        return [f"{pair.split()[0]} 0)" if "score" in pair else pair for pair in pairs]


@fault("no-mode-for-late-monitors", violates="state.complete", subtle=True)
class NoModeForLateMonitors(_Greets):
    """Omits the play mode in the introduction of a monitor that connects after four seconds."""

    def full_state(self) -> list[str]:
        late = self.greeting and self.world.now > 4
        pairs = super().full_state()
        return [pair for pair in pairs if not (late and pair.startswith("(play_mode"))]


@fault("first-mode-for-later-monitors", violates="state.complete", subtle=True)
class FirstModeForLaterMonitors(_Greets):
    """Sends the first play mode in the introduction of every monitor."""

    def play_mode_index(self) -> int:
        return 0 if self.greeting else super().play_mode_index()


@fault("play-modes-turned-round", violates="state.play-mode", subtle=True)
class PlayModesTurnedRound(_Greets):
    """Lists the play modes in reverse order to all monitors except the first."""

    def play_modes(self) -> str:
        modes = PLAY_MODES[::-1] if self.greeting and self.monitors else PLAY_MODES
        return f"(play_modes {' '.join(modes)})"
