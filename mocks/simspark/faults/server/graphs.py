"""Faults of the server in the kind of its scene graphs, and in their timing."""

from typing import Any

from mocks.deviations import Fault, Subtle, Table
from mocks.simspark.faults.server.bases import LATER, no_robots, rewrites, with_robots
from mocks.simspark.monitor_port import HEADER_FULL, Monitor
from mocks.simspark.server import Server
from mocks.steps import after, before, having, instead, note, noted, put, returning, skip, then

LATE = 25  # cycles, half a second


def _greet_as_the_first(server: Server, monitor: Monitor) -> None:
    scene = vars(server)["first"] = vars(server).get("first") or server.full()
    server.send_state(monitor, server.environment(), scene)
    server.send_state(monitor, server.full_state(), scene)


def _partial_called_full(server: Server) -> str:
    vars(server)["requested"] = False
    return server.header_full() + server.partial_graph()


def _take_for_told(server: Server, *_: Any) -> None:
    server.structure_told = server.world.structure


def _disconnect_killed(server: Server, *_: Any) -> None:
    for agent in server.agents:
        if agent.robot and agent.robot not in server.world.robots:
            agent.close()


def _lose_agent(server: Server, agent: Any) -> None:
    server.agents.remove(agent)


NOTES_REQUEST = before("is_full_due", note("requested", having("full_wanted")))

FAULTS = Table(Server)

FAULTS["header.form"] = {
    "version-with-point": Fault(
        "Writes version and subversion as one number.",
        instead("header_partial", lambda _: "(RDS 0.1)"),
    ),
    "version-of-letters": Subtle(
        "Writes a version that is not a number in the header of full graphs.",
        instead("header_full", lambda _: "(RSG v0 1)"),
    ),
}

FAULTS["header.name"] = {
    "long-header": Fault(
        "Writes an unabbreviated name in the header of updates.",
        instead("header_partial", lambda _: "(RubyDeltaScene 0 1)"),
    ),
    "full-called-update": Subtle(
        "Writes the header of an update before every full graph, except for a new monitor.",
        before("tell_monitors", put("telling", True)),
        then("tell_monitors", put("telling", False)),
        instead("header_full", "header_partial", noted("telling")),
    ),
}


def _has_another_number(server: Server) -> bool:
    told: int = vars(server).get("counted", 0)
    now = vars(server)["counted"] = len(server.world.robots)
    return server.full_wanted or now != told


FAULTS["header.full-is-complete"] = {
    "update-called-full": Subtle(
        "Sends an update with the header of a full graph on request.",
        NOTES_REQUEST,
        instead("full", _partial_called_full, noted("requested")),
    ),
    "meshes-without-type": Fault(
        "Omits the type of meshes in full graphs.", rewrites("mesh", "nd StaticMesh", "nd", 1)
    ),
}

FAULTS["header.partial-fits"] = {
    "goal-posts-come-late": Subtle(
        "Adds the goal posts late, after half a second, without a full graph for monitors.",
        returning("field", lambda nodes: nodes[:1], lambda server: server.cycles <= LATE),
    ),
}

FAULTS["full.new-client"] = {
    "late-client-sees-the-beginning": Subtle(
        "Sends every client the full graph of the first client's introduction.",
        instead("welcome", _greet_as_the_first),
    ),
}

FAULTS["full.node-added"] = {
    "second-agent-without-full": Subtle(
        "Sends no full graph when a second robot comes, and omits it in all graphs.",
        before("is_full_due", _take_for_told, lambda server: len(server.world.robots) >= 2),
        with_robots("full_graph", lambda robots: robots[:1]),
        with_robots("partial_graph", lambda robots: robots[:1]),
    ),
    "full-to-one": Subtle(
        "Sends the full graph of a new robot only to its first monitor.",
        skip("tell_monitor", LATER & (lambda _, monitor, pairs, scene: HEADER_FULL in scene)),
    ),
    "counts-robots": Subtle(
        "Sends the full graph only if the number of robots has changed.",
        instead("is_full_due", _has_another_number),
    ),
    "nothing-added": Fault(
        "Omits all robots in all graphs.", no_robots("full_graph"), no_robots("partial_graph")
    ),
}

FAULTS["full.node-removed"] = {
    "ghosts": Fault(
        "Keeps the robots of agents that have left.", instead("agent_left", _lose_agent)
    ),
    "ghosts-of-the-broken-off": Subtle(
        "Keeps the robots of agents whose connections were reset.",
        instead("agent_left", _lose_agent, lambda _, agent: agent.stream.broken),
    ),
    "ghosts-without-a-team": Subtle(
        "Keeps the robots of agents that have left before their init.",
        instead("agent_left", _lose_agent, lambda _, agent: agent.robot and not agent.robot.unum),
    ),
    "last-ghost": Subtle(
        "Keeps the last robot after its agent has left.",
        instead("agent_left", _lose_agent, lambda server, _: len(server.agents) == 1),
    ),
    "no-full-after-a-kill": Subtle(
        "Sends no full graph when a trainer removes an agent, but updates without the robot.",
        then("do_kill", _take_for_told),
    ),
    "no-full-after-a-disconnecting-kill": Subtle(
        "Removes and disconnects an agent on request, and sends no full graph.",
        then("do_kill", _disconnect_killed),
        then("do_kill", _take_for_told),
    ),
}

FAULTS["full.on-request"] = {
    "no-full-on-request": Fault("Ignores a request for the full graph.", skip("do_full_state")),
    "full-on-request-once": Subtle(
        "Executes only one request for the full graph.", skip("do_full_state", after(1))
    ),
    "full-on-request-to-one": Subtle(
        "Sends a requested full graph only to its first monitor.",
        NOTES_REQUEST,
        skip("tell_monitor", LATER & noted("requested")),
    ),
}
