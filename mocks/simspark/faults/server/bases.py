"""Building blocks of the server's faults: conditions, and changes of steps."""

from collections.abc import Callable
from operator import attrgetter
from typing import Any

from conformance import codec
from mocks.simspark.agent_port import Agent
from mocks.simspark.monitor_port import HEADER_PARTIAL, Monitor
from mocks.simspark.robot import Robot
from mocks.simspark.server import Server
from mocks.steps import Change, Function, When, always, before, put, returning, then

LATER = When(lambda _, monitor, *rest: monitor.number > 1)
"""If the step is about a monitor that is not the first one."""
SECOND_HALF = When(lambda server, *rest: server.world.half == 2)


FULL_AT_TIMES = before(
    "tell_monitors", put("full_wanted", True), lambda server: server.cycles % 60 == 0
)
"""Send everything to all monitors every 60 cycles."""


def is_update(server: Server, monitor: Monitor, pairs: list[str], scene: str) -> bool:
    return scene.startswith(HEADER_PARTIAL)


def is_listed_later(server: Server, monitor: Monitor, *rest: Any) -> bool:
    """True if the step is not about the first monitor in the list."""
    return monitor is not server.monitors[0]


def wants(*commands: Any) -> When:
    """If the step is about one of these commands."""
    return When(lambda _, command: command in commands)


def in_each_session(condition: Function) -> When:
    """Count the times of a condition for each client of a step."""
    return When(lambda _, client, *rest: condition(client))


def temporarily(step: str, path: str, change: Callable[[Any], Any]) -> Change:
    """Do a step with another value of an attribute, made by a function."""

    def play(usual: Function, server: Server, *args: Any) -> Any:
        value = attrgetter(path)(server)
        put(path, change(value))(server)
        result = usual(server, *args)
        put(path, value)(server)
        return result

    return Change(step, play)


def with_robots(step: str, chosen: Callable[[list[Robot]], list[Robot]]) -> Change:
    """Do a step as if these were the robots."""
    return temporarily(step, "world.robots", chosen)


def no_robots(step: str) -> Change:
    """Do a step as if there were no robots."""
    return with_robots(step, lambda robots: [])


def for_all(step: str) -> Change:
    """Do a step that is about a robot for all robots."""

    def play(usual: Function, server: Server, robot: Robot, values: list[Any]) -> None:
        for each in server.world.robots:
            usual(server, each, values)

    return Change(step, play)


def keeps(
    step: str, path: str, merge: Callable[[Any, Any], Any], when: Function = always
) -> Change:
    """Set an attribute after a step, by a function of its old and new values."""

    def play(usual: Function, server: Server, *args: Any) -> None:
        old = attrgetter(path)(server)
        usual(server, *args)
        if when(server, *args):
            put(path, merge(old, attrgetter(path)(server)))(server)

    return Change(step, play)


def undoes(step: str, undo: Callable[..., Callable[[], None]]) -> tuple[Change, Change]:
    """Revert a change after one state has shown it.

    `undo` is called before the step, with its arguments. It returns what reverts the step.
    """

    def revert(server: Server) -> None:
        vars(server).pop("undo", lambda: None)()

    return (
        before(step, lambda *args: vars(args[0]).update(undo=undo(*args))),
        then("tell_monitors", revert),
    )


def rewrites(step: str, old: str, new: str, count: int = -1) -> Change:
    """Write another text instead of a part of the usual text."""
    return returning(step, lambda text: text.replace(old, new, count))


def adds_inside(step: str, more: str) -> Change:
    """Write more before the last bracket."""
    return returning(step, lambda text: f"{text[:-1]}{more})")


def agents_read(make: Callable[[], codec.Decoder]) -> Change:
    """Read the messages of agents with another decoder."""
    return returning("new_agent", lambda agent: _with_decoder(agent, make()))


def monitors_read(make: Callable[[], codec.Decoder], first: int = 1) -> Change:
    """Read the messages of monitors with another decoder, from a connection's number on."""
    return returning(
        "new_monitor",
        lambda monitor: _with_decoder(monitor, make()) if monitor.number >= first else monitor,
    )


def _with_decoder(client: Agent | Monitor, decoder: codec.Decoder) -> Agent | Monitor:
    client.decoder = decoder
    return client


def stop_perceptors(server: Server, robot: Robot, text: str) -> None:
    for agent in server.agents:
        agent.gone = agent.gone or agent.robot is robot


def close_all(server: Server, *args: Any) -> None:
    """Close the connections of all monitors."""
    for monitor in server.monitors:
        monitor.close()
