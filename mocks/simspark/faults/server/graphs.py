"""Faults of the server in the kind of its scene graphs, and in their timing."""

from collections.abc import Callable

from mocks.deviations import fault
from mocks.simspark.monitor_port import Monitor
from mocks.simspark.server import Server


@fault("version-with-point", violates="header.form")
class VersionWithPoint(Server):
    """Writes version and subversion as one number."""

    def header_partial(self) -> str:
        return "(RDS 0.1)"


@fault("version-of-letters", violates="header.form", subtle=True)
class VersionOfLetters(Server):
    """Writes a version that is not a number in the header of full graphs."""

    def header_full(self) -> str:
        return "(RSG v0 1)"


@fault("long-header", violates="header.name")
class LongHeader(Server):
    """Writes an unabbreviated name in the header of updates."""

    def header_partial(self) -> str:
        return "(RubyDeltaScene 0 1)"


@fault("full-called-update", violates="header.name", subtle=True)
class FullCalledUpdate(Server):
    """Writes the header of an update before every full graph, except for a new monitor."""

    def tell_monitors(self) -> None:
        self.header_full = self.header_partial  # type: ignore[method-assign]
        super().tell_monitors()
        del self.header_full


@fault("update-called-full", violates="header.full-is-complete", subtle=True)
class UpdateCalledFull(Server):
    """Sends an update with the header of a full graph on request."""

    def full(self) -> str:
        if self.full_wanted_before:
            self.full_wanted_before = False
            return self.header_full() + self.partial_graph()
        return super().full()

    full_wanted_before = False

    def is_full_due(self) -> bool:
        self.full_wanted_before = self.full_wanted
        return super().is_full_due()


@fault("meshes-without-type", violates="header.full-is-complete")
class MeshesWithoutType(Server):
    """Omits the type of meshes in full graphs."""

    def mesh(self, path: str, size: float, *materials: str) -> str:
        return super().mesh(path, size, *materials).replace("nd StaticMesh", "nd", 1)


@fault("late-client-sees-the-beginning", violates="full.new-client", subtle=True)
class LateClientSeesTheBeginning(Server):
    """Sends every client the full graph of the first client's introduction."""

    first = ""

    def welcome(self, monitor: Monitor) -> None:
        self.first = self.first or self.full()
        self.send_state(monitor, self.environment(), self.first)
        self.send_state(monitor, self.full_state(), self.first)


@fault("second-agent-without-full", violates="full.node-added", subtle=True)
class SecondAgentWithoutFull(Server):
    """Sends no full graph when a second robot comes, and omits it in all graphs."""

    def is_full_due(self) -> bool:
        if len(self.world.robots) >= 2:
            self.structure_told = self.world.structure
        return super().is_full_due()

    def full_graph(self) -> str:
        return self.draw_one_robot(super().full_graph)

    def partial_graph(self) -> str:
        return self.draw_one_robot(super().partial_graph)

    def draw_one_robot(self, graph: Callable[[], str]) -> str:
        robots = self.world.robots
        self.world.robots = robots[:1]
        text = graph()
        self.world.robots = robots
        return text


@fault("full-to-one", violates="full.node-added", subtle=True)
class FullToOne(Server):
    """Sends the full graph of a new robot only to its first monitor."""

    def tell_monitor(self, monitor: Monitor, pairs: list[str], scene: str) -> None:
        if monitor.number == 1 or self.header_full() not in scene:
            super().tell_monitor(monitor, pairs, scene)


@fault("nothing-added", violates="full.node-added")
class NothingAdded(Server):
    """Omits all robots in all graphs."""

    def full_graph(self) -> str:
        robots, self.world.robots = self.world.robots, []
        text = super().full_graph()
        self.world.robots = robots
        return text

    def partial_graph(self) -> str:
        robots, self.world.robots = self.world.robots, []
        text = super().partial_graph()
        self.world.robots = robots
        return text


@fault("ghosts", violates="full.node-removed")
class Ghosts(Server):
    """Keeps the robots of agents that have left."""

    def agent_left(self, agent: object) -> None:
        self.agents.remove(agent)  # type: ignore[arg-type]


@fault("last-ghost", violates="full.node-removed", subtle=True)
class LastGhost(Server):
    """Keeps the last robot after its agent has left."""

    def agent_left(self, agent: object) -> None:
        if len(self.agents) > 1:
            super().agent_left(agent)  # type: ignore[arg-type]
        else:
            self.agents.clear()


@fault("no-full-on-request", violates="full.on-request")
class NoFullOnRequest(Server):
    """Ignores a request for the full graph."""

    def do_full_state(self, command: list[object]) -> None:
        pass


@fault("full-on-request-once", violates="full.on-request", subtle=True)
class FullOnRequestOnce(Server):
    """Executes only one request for the full graph."""

    requests = 0

    def do_full_state(self, command: list[object]) -> None:
        self.requests += 1
        self.full_wanted = self.requests == 1


@fault("full-on-request-to-one", violates="full.on-request", subtle=True)
class FullOnRequestToOne(Server):
    """Sends a requested full graph only to its first monitor."""

    requested = False

    def is_full_due(self) -> bool:
        self.requested = self.full_wanted
        return super().is_full_due()

    def tell_monitor(self, monitor: Monitor, pairs: list[str], scene: str) -> None:
        if monitor.number == 1 or not self.requested:
            super().tell_monitor(monitor, pairs, scene)


@fault("goal-posts-come-late", violates="header.partial-fits", subtle=True)
class GoalPostsComeLate(Server):
    """Adds the goal posts late, after half a second, without a full graph for monitors."""

    CYCLES = 25

    def field(self) -> list[str]:
        return super().field() if self.cycles > self.CYCLES else super().field()[:1]
