"""Faults of the server in the states for monitors, and in their timing."""

from collections.abc import Callable
from typing import Any

from mocks.deviations import Fault, Subtle, Table, fault
from mocks.simspark.faults.server.bases import (
    FULL_AT_TIMES,
    LATER,
    in_each_session,
    is_listed_later,
    is_update,
)
from mocks.simspark.monitor_port import Monitor
from mocks.simspark.server import Server
from mocks.simspark.settings import PLAY_MODES
from mocks.steps import (
    Change,
    Function,
    When,
    alter,
    before,
    first,
    having,
    instead,
    note,
    noted,
    only,
    put,
    returning,
    skip,
    then,
)

GREETING = noted("greeting")
"""During the first messages to a monitor."""
NOTES_GREETING = (
    before("welcome", put("greeting", True)),
    then("welcome", put("greeting", False)),
)


def without(word: str) -> Callable[[list[str]], list[str]]:
    """Omit the pairs whose names begin with a word."""
    return lambda pairs: [pair for pair in pairs if not pair.startswith(f"({word}")]


def value(name: str, text: Callable[[Server], str]) -> Change:
    """Write a value of the game state in another form."""
    return Change("state", lambda usual, server: {**usual(server), name: text(server)})


def _send_state_first(server: Server, monitor: Monitor) -> None:
    server.send_full(monitor)
    server.send_environment(monitor)


def _send_one_list(server: Server, monitor: Monitor) -> None:
    pairs = [*server.environment(), *server.full_state()]
    server.send_state(monitor, pairs, server.full())


def _send_with_update(server: Server, monitor: Monitor) -> None:
    server.send_state(monitor, server.full_state(), server.partial())


def _send_with_graph(server: Server, monitor: Monitor) -> None:
    server.send_state(monitor, server.environment(), server.full_graph())


def _send_with_header(server: Server, monitor: Monitor) -> None:
    server.send_state(monitor, server.environment(), server.header_full())


def _add_fourth_part(_: Server, monitor: Monitor, pairs: list[str], scene: str) -> Any:
    return monitor, pairs, f"{scene}(changed)"


def _has_new_structure(server: Server) -> bool:
    return server.structure_told != server.world.structure


def _without_changes(_: Server, monitor: Monitor, pairs: list[str], scene: str) -> Any:
    return monitor, pairs[:1], scene


def _take_same_sum_for_told(server: Server) -> None:
    now, told = server.state(), server.state_told
    keys = ("score_left", "score_right")
    if sum(int(now[key]) for key in keys) == sum(int(told.get(key, -1)) for key in keys):
        server.state_told = told | {key: now[key] for key in keys}


def _without_goals(pairs: list[str]) -> list[str]:
    return [f"{pair.split()[0]} 0)" if "score" in pair else pair for pair in pairs]


def _minutes(server: Server) -> str:
    minutes, seconds = divmod(server.world.time, 60)
    return f"{minutes:.0f}:{seconds:05.2f}"


def _half_goals(server: Server) -> str:
    goals = server.world.score["right"]
    return f"{goals}.5" if goals else "0"


def _jittering_time(server: Server) -> str:
    late = 0.1 if server.cycles % 14 == 0 and server.world.time > 0.1 else 0.0
    return f"{server.world.time - late:.6g}"


def _only_with_a_new_time(usual: Function, server: Server) -> Any:
    time = server.state()["time"]
    return [f"(time {time})"] if server.state_told.get("time") == time else usual(server)


FAULTS = Table(Server)

FAULTS["monitors.environment-first"] = {
    "state-first": Fault(
        "Sends the game state before the environment.", instead("welcome", _send_state_first)
    ),
    "second-without-environment": Subtle(
        "Sends the environment only to its first monitor.", skip("send_environment", LATER)
    ),
}

FAULTS["monitors.apart"] = {
    "second-monitor-in-one-list": Subtle(
        "Sends environment and game state in one list to all monitors except the first.",
        instead("welcome", _send_one_list, LATER),
    ),
}

FAULTS["monitors.state-second"] = {
    "no-second-state": Fault("Sends updates directly after the environment.", skip("send_full")),
    "second-state-partial": Subtle(
        "Sends the full game state with an update to all monitors except the first.",
        instead("send_full", _send_with_update, LATER),
    ),
}

FAULTS["monitors.keeps-sending"] = {
    "hundred-states": Subtle(
        "Stops sending to a monitor after a hundred states.",
        only("tell_monitor", in_each_session(first(100))),
    ),
    "says-no-more": Fault(
        "Sends only ten messages to a monitor.",
        skip("tell_monitor", lambda _, monitor, *rest: monitor.sent >= 10),
    ),
}

FAULTS["monitors.rate"] = {
    "slow": Fault(
        "Sends a state only every 24 cycles, or 0.48 s.",
        only("tell_monitors", lambda server: server.cycles % 24 == 0),
    ),
}

FAULTS["monitors.commands"] = {
    "one-command-each": Subtle(
        "Executes only one command of each monitor.",
        only("hear_command", in_each_session(first(1))),
    ),
    "fifty-commands-each": Subtle(
        "Executes only the first fifty commands of each monitor.",
        only("hear_command", in_each_session(first(50))),
    ),
    "first-monitor-commands": Fault(
        "Executes only the commands of its first monitor.", skip("hear_command", LATER)
    ),
}

FAULTS["environment.structure"] = {
    "environment-without-header": Fault(
        "Sends no scene graph header after the environment.",
        instead("send_environment", _send_with_graph),
    ),
    "environment-alone": Subtle(
        "Sends the environment without a scene graph, from the second monitor on.",
        instead("send_environment", _send_with_header, LATER),
    ),
}

FAULTS["environment.pairs"] = {
    "flat-environment": Fault(
        "Writes names and values without brackets around each pair.",
        returning(
            "environment_pair",
            lambda pair: f"{pair[1:-1]} ",
            lambda _, name, value: name != "FieldLength",
        ),
    ),
    "stray-word-in-the-environment": Subtle(
        "Ends the environment with a word outside of any pair.",
        returning("play_modes", lambda text: f"{text}end"),
    ),
}

FAULTS["environment.numbers"] = {
    "sizes-with-units": Fault(
        "Writes a unit after the sizes of the field.",
        instead(
            "environment_pair",
            lambda _, name, value: f"({name} {value:g}m)",
            lambda _, name, value: name.startswith("Field"),
        ),
    ),
    "half-time-in-minutes": Subtle(
        "Writes the length of a half in minutes and seconds.",
        instead(
            "environment_pair",
            lambda _, name, value: f"({name} {value // 60:g}:{value % 60:02g})",
            lambda _, name, value: name == "RuleHalfTime",
        ),
    ),
}

FAULTS["environment.parameters"] = {
    "no-goal-depth": Subtle(
        "Omits the depth of the goals.",
        instead("environment_pair", lambda *_: "", lambda _, name, value: name == "GoalDepth"),
    ),
}

FAULTS["environment.play-modes"] = {
    "no-play-modes": Fault("Sends no list of play modes.", instead("play_modes", lambda _: "")),
    "empty-play-modes": Subtle(
        "Sends an empty list of play modes.", instead("play_modes", lambda _: "(play_modes)")
    ),
}

FAULTS["state.structure"] = {
    "graph-without-state": Subtle(
        "Sends the full scene graph without a state when nodes were added or removed.",
        before("tell_monitors", note("alone", _has_new_structure)),
        then("tell_monitors", put("alone", False)),
        instead("send_state", lambda _, monitor, pairs, scene: monitor.send(scene), noted("alone")),
    ),
    "state-without-graph": Fault(
        "Sends partial states without a scene graph.", instead("partial", "header_partial")
    ),
    "fourth-part": Subtle(
        "Sends a fourth part after the scene graph when one value has changed.",
        alter("send_state", _add_fourth_part, lambda _, monitor, pairs, scene: len(pairs) == 2),
    ),
}

FAULTS["state.complete"] = {
    "no-half": Subtle(
        "Omits the half in the full game state.", returning("full_state", without("half"))
    ),
    "first-score-for-later-monitors": Subtle(
        "Sends a score of 0 in the introduction of every monitor.",
        *NOTES_GREETING,
        returning("full_state", _without_goals, GREETING),
    ),
    "no-mode-for-late-monitors": Subtle(
        "Omits the play mode in the introduction of a monitor that connects after four seconds.",
        *NOTES_GREETING,
        returning(
            "full_state", without("play_mode"), GREETING & (lambda server: server.world.now > 4)
        ),
    ),
    "first-mode-for-later-monitors": Subtle(
        "Sends the first play mode in the introduction of every monitor.",
        *NOTES_GREETING,
        instead("play_mode_index", lambda _: 0, GREETING),
    ),
    "state-without-scores": Fault(
        "Omits the scores in the full game state.", returning("full_state", without("score"))
    ),
}

FAULTS["state.partial"] = {
    "changes-for-one": Subtle(
        "Sends changes only to one monitor.",
        alter("tell_monitor", _without_changes, is_listed_later),
    ),
    "changes-for-one-until-full": Subtle(
        "Sends changes only to one monitor, and everything to all monitors every 60 cycles.",
        FULL_AT_TIMES,
        alter("tell_monitor", _without_changes, When(is_listed_later) & is_update),
    ),
    "changes-lost-with-full-graphs": Subtle(
        "Sends only the time before the full graph that follows a change of the scene.",
        alter("tell_monitor", _without_changes, ~When(is_update)),
    ),
    "changes-wait-for-the-time": Subtle(
        "Sends changes only together with a new time, and keeps them while the time stands.",
        Change("partial_state", _only_with_a_new_time),
    ),
    "same-sum-untold": Subtle(
        "Sends new goals only if their sum has changed.",
        before("partial_state", _take_same_sum_for_told),
    ),
    "one-change-a-state": Subtle(
        "Sends one change in each partial state, and everything every 60 cycles.",
        FULL_AT_TIMES,
        returning("partial_state", lambda pairs: pairs[:2]),
    ),
    "changes-taken-for-told": Subtle(
        "Counts a change as sent to all monitors after sending it to a new monitor.",
        then("welcome", lambda server, _: server.partial_state()),
    ),
    "changes-without-time": Subtle(
        "Omits the time when another value has changed.",
        returning("partial_state", lambda pairs: pairs[1:] or pairs),
    ),
    "half-untold": Subtle(
        "Omits the half in partial states.", returning("partial_state", without("half"))
    ),
}

FAULTS["state.values"] = {
    "time-of-day": Fault("Writes the time in minutes and seconds.", value("time", _minutes)),
    "fractions-of-goals": Subtle(
        "Counts half a goal more for the right team once it has scored.",
        value("score_right", _half_goals),
    ),
}

FAULTS["state.play-mode"] = {
    "play-mode-by-name": Fault(
        "Sends the name of the play mode instead of its index.",
        value("play_mode", lambda server: server.world.mode),
    ),
    "play-modes-turned-round": Subtle(
        "Lists the play modes in reverse order to all monitors except the first.",
        *NOTES_GREETING,
        instead(
            "play_modes",
            lambda _: f"(play_modes {' '.join(PLAY_MODES[::-1])})",
            GREETING & having("monitors"),
        ),
    ),
    "play-modes-from-one": Subtle(
        "Counts play modes from 1.", returning("play_mode_index", lambda index: index + 1)
    ),
}

FAULTS["state.time-goes-on"] = {
    "time-jitters": Subtle(
        "Sends a time that is 0.1 s too early in every seventh message.",
        value("time", _jittering_time),
    ),
}


@fault("says-no-more-to-trainers", violates="monitors.keeps-sending", subtle=True)
class SaysNoMoreToTrainers(Server):
    """Sends only five more messages to a monitor after its first command."""

    def hear_command(self, monitor: Monitor, expression: object) -> None:
        monitor.memory.setdefault("until", monitor.sent + 5)
        super().hear_command(monitor, expression)

    def tell_monitor(self, monitor: Monitor, pairs: list[str], scene: str) -> None:
        if monitor.sent < monitor.memory.get("until", monitor.sent + 1):
            super().tell_monitor(monitor, pairs, scene)
