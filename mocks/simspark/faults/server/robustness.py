"""Faults of the server in surviving its clients."""

from typing import Any

from conformance.codec import Frame
from conformance.simspark.codec import LENGTH
from mocks.deviations import Fault, Subtle, Table
from mocks.simspark.agent_port import Agent
from mocks.simspark.faults import decoders
from mocks.simspark.faults.server.bases import agents_read, close_all, stop_perceptors
from mocks.simspark.monitor_port import Monitor
from mocks.simspark.robot import Robot
from mocks.simspark.server import Server
from mocks.simspark.trainer import parameters
from mocks.steps import When, before, die, instead, leave_file_open, noted, only, put, skip, then
from mocks.stream_readers import reads

UNKNOWN_COMMAND = When(lambda _, why: "there is no command" in why)
NOT_NUMBERS = When(lambda _, why: "are not numbers" in why)


def _mute(_: Server, connection: Monitor, error: str) -> None:
    connection.memory["mute"] = True


def _has_great_number(_: Server, agent: Agent, robot: Robot, values: list[Any]) -> bool:
    return float(parameters(values).get("unum", ["0"])[0]) > 11


def _is_reset_inside_a_message(_: Server, monitor: Monitor) -> bool:
    return monitor.stream.broken and bool(monitor.decoder.end())


def _no_agent_is_inside_a_length(server: Server, monitor: Monitor, frame: Frame) -> bool:
    held = [frame.raw for agent in server.agents for frame in agent.decoder.end()]
    return all(len(raw) >= LENGTH.size for raw in held)


def _is_selected(server: Server, agent: Agent) -> bool:
    return agent.robot is not None and agent.robot is server.world.selected


def _means_the_selected(server: Server, command: list[Any]) -> bool:
    return not server.world.selected and command[1:] == []


def _has_lost_its_robot(server: Server, agent: Agent, expression: Any) -> bool:
    return agent.robot is not None and agent.robot not in server.world.robots


FAULTS = Table(Server)

FAULTS["robustness.unknown-commands"] = {
    "dies-of-unknown-commands": Fault(
        "Dies of an unknown command.", before("complain", die, UNKNOWN_COMMAND)
    ),
    "dies-of-wrong-numbers": Subtle(
        "Dies of a value that is not a number.", before("complain", die, NOT_NUMBERS)
    ),
    "dies-of-long-words": Subtle("Dies of a word of 256 letters.", reads(decoders.LONG_WORDS_KILL)),
}

FAULTS["robustness.unknown-effectors"] = {
    "dies-of-unknown-effectors": Fault(
        "Dies of an unknown effector.", before("complain_of_effector", die)
    ),
    "drops-agents-that-talk-long": Subtle(
        "Stops serving an agent that has said a text of more than 20 characters.",
        then("say", stop_perceptors, lambda _, robot, text: len(text) > 20),
    ),
    "dies-of-great-numbers": Subtle(
        "Dies of an init with a number above 11.", before("initialise", die, _has_great_number)
    ),
}

FAULTS["robustness.malformed"] = {
    "dies-of-bytes": Subtle("Dies of a byte that is not ASCII.", reads(decoders.CharacterWise)),
    "deaf-to-malformed-agents": Subtle(
        "Reads nothing more from an agent after a malformed text.",
        agents_read(decoders.Offended),
    ),
    "mute-after-malformed": Subtle(
        "Sends nothing more to a monitor after a malformed text.",
        then("log_misread", _mute),
        skip("tell_monitor", lambda _, monitor, pairs, scene: "mute" in monitor.memory),
    ),
}

FAULTS["robustness.huge-length"] = {
    "agents-of-huge-lengths": Subtle(
        "Dies of a length of gigabytes from an agent.", agents_read(decoders.Greedy)
    ),
}

FAULTS["robustness.several-clients"] = {
    "last-words-kill": Subtle(
        "Dies when an agent disconnects inside a message.",
        before("agent_left", die, lambda _, agent: agent.decoder.end()),
    ),
    "twenty-connections": Subtle(
        "Closes every monitor connection after the twentieth, even if earlier ones have ended.",
        instead(
            "welcome", lambda _, monitor: monitor.close(), lambda _, monitor: monitor.number > 20
        ),
    ),
    "thousand-monitors": Subtle(
        "Serves no monitor after a thousand monitors, because it never frees their places.",
        instead(
            "welcome", lambda _, monitor: monitor.close(), lambda _, monitor: monitor.number > 1000
        ),
    ),
    "thousand-agents": Subtle(
        "Creates no robot after a thousand agents, because it never frees their places.",
        skip("create", lambda _, agent, expression: agent.number > 1000),
    ),
    "files-left-open": Subtle(
        "Leaves a file open for each agent.",
        then("agent_left", leave_file_open),
    ),
    "dies-of-resets": Subtle(
        "Dies when the connection of an agent is reset.",
        before("agent_left", die, lambda _, agent: agent.stream.broken),
    ),
    "agents-end-by-resets": Subtle(
        "Sends nothing more to agents after a monitor was reset inside a message.",
        then("monitor_left", put("ended", True), _is_reset_inside_a_message),
        skip("tell_agents", noted("ended")),
    ),
    "waits-for-a-length": Subtle(
        "Ignores monitors while an agent is inside a length.",
        only("hear_monitor", _no_agent_is_inside_a_length),
    ),
    "dies-of-a-gone-selection": Subtle(
        "Dies of a command for a selected agent that has left.",
        before("agent_left", put("lost", True), _is_selected),
        before("find_named_or_selected", die, noted("lost") & _means_the_selected),
    ),
    "dies-of-the-removed": Subtle(
        "Dies of an effector of an agent whose robot was removed.",
        before("effect", die, _has_lost_its_robot),
    ),
}

FAULTS["robustness.slow-monitor"] = {
    "unread-stops-all": Subtle(
        "Runs no cycle while a monitor has unread data.",
        skip("cycle", lambda server: any(monitor.stream.is_behind for monitor in server.monitors)),
    ),
    "unread-agents-stop-all": Subtle(
        "Runs no cycle while an agent has unread data.",
        skip("cycle", lambda server: any(agent.stream.is_behind for agent in server.agents)),
    ),
    "unread-changes-lost": Subtle(
        "Drops each message to a monitor that has not read the messages before.",
        skip("tell_monitor", lambda _, monitor, *rest: monitor.stream.is_behind),
    ),
}

FAULTS["monitors.keeps-sending"] = {
    "leaving-monitor-takes-all": Fault(
        "Closes the connections of all monitors when one monitor leaves.",
        then("monitor_left", close_all),
    ),
    "newest-monitor-only": Subtle(
        "Sends states only to the monitor that connected last.",
        only("tell_monitor", lambda server, monitor, *_: monitor is server.monitors[-1]),
        company=6,
    ),
}
