"""The passive judge of a SimSpark session: message order and consistent values.

The oracle sees both directions of one connection, of an agent or of a monitor. It does not know
which side is the IUT, and it has no clock. A connection goes through the phases of COURSES. The
oracle keeps the scene graph and checks each update against the last full graph.

Rules for this module:

- A message changes a phase only through COURSES.
- A finding is about the current message.
- There is no rule for anything that the specification leaves open. In particular, a full scene
  graph can come at any time, and environment information can come again.
"""

from collections import deque
from collections.abc import Iterator
from dataclasses import replace
from enum import StrEnum
from typing import Any

from conformance.course import ANY, Course, Violates, Walk
from conformance.judging.judge import Finding
from conformance.simspark import nodes
from conformance.simspark.clock import MAX_ENTRIES, Clock, Commands
from conformance.simspark.codec import COMMANDS, PERCEPTORS, STATES, TRUNCATED
from conformance.simspark.scene import Scene, number

SERVER, AGENT, MONITOR = "server", "agent", "monitor"

STATE = ("time", "half", "score_left", "score_right", "play_mode")
"""The values of a full game state. Source: GameState Message."""


class Phase(StrEnum):
    """The progress of one sender on a connection."""

    CONNECTED = "connected"
    CREATED = "agent created"
    READY = "ready"
    INTRODUCED = "environment sent"
    RUNNING = "state sent"


NAMED = {
    "agent": ("move-agent.unum-and-team", ("unum", "team")),
    "score": ("score.form", ("left", "right")),
}
"""The parts that a command must name, in any order, with the requirement."""

_GROUPS_BEFORE_INIT = 50  # groups of perceptors, one second; then an init must have been sent
_INSTEAD = "received {words} instead"
_TOGETHER = "the environment information and the game state are in one list"

SIDES = {
    AGENT: Course(
        "the expressions of an agent",
        {
            Phase.CONNECTED: {
                (AGENT, "scene"): Phase.CREATED,
                (AGENT, ANY): Violates("agents.create-first", _INSTEAD, Phase.READY),
            },
            Phase.CREATED: {
                (AGENT, "init"): Phase.READY,
                (AGENT, ANY): Violates("agents.init-second", _INSTEAD, Phase.READY),
            },
            Phase.READY: {},
        },
    ),
    SERVER: Course(
        "the messages of a server to a monitor",
        {
            Phase.CONNECTED: {
                (SERVER, "environment"): Phase.INTRODUCED,
                (SERVER, "environment and state"): Violates(
                    "monitors.apart", _TOGETHER, Phase.RUNNING
                ),
                (SERVER, "environment and some state"): Violates(
                    "monitors.apart", _TOGETHER, Phase.INTRODUCED
                ),
                (SERVER, ANY): Violates("monitors.environment-first", _INSTEAD, Phase.RUNNING),
            },
            Phase.INTRODUCED: {
                (SERVER, "full state"): Phase.RUNNING,
                (SERVER, "environment and state"): Violates(
                    "monitors.apart", _TOGETHER, Phase.RUNNING
                ),
                (SERVER, "full state with gaps"): Violates(
                    "state.complete", "the full game state has no {missing}", Phase.RUNNING
                ),
                (SERVER, ANY): Violates("monitors.state-second", _INSTEAD, Phase.RUNNING),
            },
            Phase.RUNNING: {},
        },
        to=(MONITOR,),
    ),
}
"""The course of each sender.

After a wrong step, the course continues in the phase that the correct steps would have reached.
Each mistake then gives a single finding. Each expression of an agent is a step, and each message
from a server to a monitor is a step.
"""
COURSES = tuple(SIDES.values())


class Conversation:
    """State that all connections of one implementation share: the commands of its trainers."""

    def __init__(self, running: bool = False) -> None:
        self.commands = Commands()


class Oracle:
    """The state of one connection, and the rules for it."""

    def __init__(self, conversation: Conversation | None = None) -> None:
        self.exercised: set[str] = set()
        self.scene: Scene | None = None
        self.play_modes: list[str] = []
        self.state: dict[str, Any] = {}
        """The latest value of each item of the game state, as written on the wire."""
        self._gone: set[str] = set()
        self._broken: set[str] = set()
        """Senders that have sent bytes that are not a message."""
        self._reset: set[str] = set()
        self._waited = 0
        """The number of messages with perceptors before the init message of an agent."""
        self._walks = {side: Walk(course) for side, course in SIDES.items()}
        self._cookies: deque[str] = deque(maxlen=MAX_ENTRIES)
        self._commands = (conversation or Conversation()).commands
        self._clock = Clock(self._commands)

    def message(self, sender: str, name: str, value: Any) -> Iterator[Finding]:
        self.exercised |= {"text.s-expressions", "text.ascii", "frame.length-prefix"}
        if sender == AGENT:
            yield from self._agent(value)
        elif sender == MONITOR and name != "Empty":
            yield from self._monitor(value)
        elif sender == SERVER and name in STATES:
            yield from self._state(name, value)
        elif sender == SERVER and name == "Ack":
            yield from self._ack(value)
        elif sender == SERVER and name in PERCEPTORS:
            self.exercised |= {"agents.perceptors", "text.predicates"}
            if name == "Perceptors" and self._walks[AGENT].state is Phase.CONNECTED:
                yield Finding("agents.perceptors", "received perceptors before the scene message")
            self._waited += self._walks[AGENT].state is Phase.CREATED

    def unknown(self, sender: str, name: str, value: Any, foreign: bool) -> Iterator[Finding]:
        match value:
            case [[["time", str()]]] if sender == MONITOR:
                # This command in a list of its own looks like a game state without a scene graph.
                yield from self._monitor(value)
                return
        if sender == MONITOR and isinstance(value, list):
            # A server can take any unknown list for a command.
            for item in value:
                if isinstance(item, list) and item:
                    self._commands.append(item)
        if name == TRUNCATED:
            # A sender can leave a message unfinished if its peer has left, or if the peer has sent
            # bytes that it cannot read. A reset can lose the end of a message.
            if not self._gone and sender not in self._reset and not self._broken - {sender}:
                of = (
                    "its length field"
                    if value["announced"] is None
                    else f"{value['announced']} bytes"
                )
                what = f"the stream ended inside a message: received {value['came']} bytes of {of}"
                yield Finding("frame.length-prefix", what)
        elif sender == AGENT and name == "Commands":
            yield Finding("monitors.only-commands-of-trainers", "an agent sent a trainer command")
        elif foreign:
            yield Finding("text.predicates", f"the {sender} sent {name}, a message of another role")

    def broken(self, sender: str) -> None:
        self._broken.add(sender)

    def reset(self, sender: str) -> None:
        self._reset.add(sender)

    def closed(self, sender: str) -> Iterator[Finding]:
        created = sender == AGENT and self._walks[AGENT].state is Phase.CREATED
        if created and not self._gone and self._waited:
            what = f"the agent left without init, after {self._waited} messages with perceptors"
            early = self._waited < _GROUPS_BEFORE_INIT
            yield Finding("agents.init-second", what, inconclusive=early)
        self._gone.add(sender)

    # The agent side

    def _agent(self, value: Any) -> Iterator[Finding]:
        for item in value:
            word = item[0] if isinstance(item, list) and item else item
            if word != "syn" and isinstance(word, str):
                yield from self._walks[AGENT].step(AGENT, word, words=f"{word[:60]!r}")
        self.exercised |= {"monitors.only-commands-of-trainers", "text.predicates"}
        if self._walks[AGENT].state is not Phase.CONNECTED:
            self.exercised.add("agents.create-first")
        if self._walks[AGENT].state is Phase.READY:
            self.exercised.add("agents.init-second")

    # The monitor side

    def _monitor(self, value: Any) -> Iterator[Finding]:
        self.exercised |= {"trainer.known-commands", "text.predicates"}
        commands = [item for item in value if isinstance(item, list) and item]
        if len(commands) == 1 and isinstance(commands[0][0], list):
            commands = [item for item in commands[0] if isinstance(item, list) and item]
        for place, command in enumerate(commands):
            yield from self._command(command, alone=place == 0)

    def _command(self, command: list[Any], alone: bool) -> Iterator[Finding]:
        word = command[0]
        self._commands.append(command)
        if word not in COMMANDS and command != ["init"]:
            yield Finding("trainer.known-commands", f"received the unknown command {word!r:.60}")
        elif command == ["agent"]:
            yield Finding("move-agent.not-bare", "received the command agent without unum and team")
        elif word in NAMED and len(command) > 1:
            requirement, keys = NAMED[word]
            names = [part[0] for part in command[1:] if isinstance(part, list) and part]
            if missing := [key for key in keys if key not in names]:
                yield Finding(
                    requirement, f"received the command {word} without {' and '.join(missing)}"
                )
        elif word == "getAck":
            self._cookies += [str(cookie) for cookie in command[1:2]]
            if alone:
                yield Finding("ack.appended", "received getAck without another command before it")
        elif word == "playMode" and self.play_modes and len(command) > 1:
            self.exercised.add("play-mode.known")
            if command[1] not in self.play_modes:
                what = f"the play mode {command[1]!r:.60} is not in play_modes of the server"
                yield Finding("play-mode.known", what)

    # The server side, to a monitor

    def _ack(self, value: Any) -> Iterator[Finding]:
        self.exercised.add("ack.form")
        cookie = value[0][1] if isinstance(value[0], list) and len(value[0]) > 1 else None
        if cookie is not None and cookie in self._cookies:
            self._cookies.remove(cookie)
        else:
            yield Finding(
                "ack.form", f"the ack has the cookie {cookie!r:.60}, which no getAck requested"
            )

    def _state(self, name: str, value: Any) -> Iterator[Finding]:
        items = {
            item[0]: item[1:]
            for item in (value[0] if isinstance(value[0], list) else ())
            if isinstance(item, list) and item and isinstance(item[0], str)
        }
        header = value[1] if len(value) > 1 and isinstance(value[1], list) else []
        full = header[:1] == ["RSG"]
        yield from self._check_introduction(name, items, full)
        yield from self._values(items)
        if len(value) == 3 and header[:1] in (["RSG"], ["RDS"]):
            for finding in self._graph(value[2], full):
                # A trainer can put something at a place that is no finite number.
                if not (self._commands.extreme and finding.requirement in _OF_NUMBERS):
                    yield replace(finding, path=(2, *finding.path))

    def _check_introduction(
        self, name: str, items: dict[str, Any], full: bool
    ) -> Iterator[Finding]:
        """Check the place of a message in the course of the connection."""
        walk = self._walks[SERVER]
        phase = walk.state
        missing = [key for key in STATE if key not in items]
        if name == "Environment":
            what = "partial environment"
            if full:
                some = "environment and some state" if len(missing) < len(STATE) else "environment"
                what = some if missing else "environment and state"
            words = "environment information" + ("" if full else " with a partial scene graph")
            if "play_modes" not in items and phase is Phase.CONNECTED:
                yield Finding(
                    "environment.play-modes", "the environment information has no play_modes"
                )
        else:
            what = "full state" if full and not missing else "state"
            if full and missing and name == "FullState":
                what = "full state with gaps"
            words = f"a {'full' if full else 'partial'} scene graph with {', '.join(items)}"
        yield from walk.step(SERVER, what, words=words, missing=", ".join(missing))
        self.exercised |= {"monitors.environment-first", "environment.structure"}
        self.exercised |= {"monitors.apart"} if name == "Environment" else set()
        if phase is not Phase.CONNECTED:
            self.exercised |= {"monitors.keeps-sending", "state.structure"}
        if walk.state is Phase.RUNNING:
            self.exercised |= {"monitors.state-second", "state.complete"}
            if phase is Phase.RUNNING and name != "Environment" and "time" not in items:
                yield Finding("state.partial", "a game state has no time")

    def _values(self, items: dict[str, Any]) -> Iterator[Finding]:
        """Check the values of the game state, singly and against the values before."""
        if "play_modes" in items:
            self.play_modes = [name for name in items["play_modes"] if isinstance(name, str)]
        before = dict(self.state)
        self.state.update({key: items[key][0] for key in STATE if items.get(key)})
        index = number(items["play_mode"][0]) if items.get("play_mode") else None
        if index is not None and self.play_modes:
            self.exercised.add("state.play-mode")
            if index >= len(self.play_modes):
                what = f"play_mode is {index:g}, outside the list of {len(self.play_modes)} modes"
                yield Finding("state.play-mode", what)
        earlier, later = number(before.get("time")), number(self.state.get("time"))
        if earlier is None or later is None or "time" not in items:
            return
        self.exercised.add("state.time-goes-on")
        turned = any(before.get(key) != self.state.get(key) for key in ("half", "play_mode"))
        if not self._clock.is_allowed(earlier, later, turned):
            what = f"the time went back from {earlier:g} to {later:g}"
            yield Finding("state.time-goes-on", what)

    def _graph(self, graph: Any, full: bool) -> Iterator[Finding]:
        self.exercised |= _OF_EVERY_GRAPH
        if full:
            self.scene = Scene(graph)
            self.exercised.add("header.full-is-complete")
            self.exercised |= {
                requirement
                for node in self.scene.nodes
                for word in (node.kind, *(word for leaf in node.leaves for word in leaf[:2]))
                for requirement in _SHOWN_BY.get(str(word), ())
            }
            yield from nodes.find_wrong_nodes(self.scene.nodes)
        elif self.scene is not None:
            self.exercised |= {"header.partial-fits", "header.updates-bare"}
            update = self.scene.update(graph)
            if nodes.is_complete(update):
                yield Finding(
                    "header.name", f"a full graph of {len(update)} nodes has the header RDS"
                )
                self.scene = Scene(graph)
            else:
                yield from nodes.find_misfits(self.scene.nodes, update)


_OF_NUMBERS = {"nodes.transform", "nodes.matrix-by-columns", "nodes.matrix-rigid"}
"""Requirements about the numbers of transforms."""
_OF_EVERY_GRAPH = {"graph.nodes", "graph.types", "graph.leaves", "header.form", "header.name"}
_SHOWN_BY = {
    "BN": ("nodes.base",),
    "TRF": ("nodes.transform", "nodes.matrix-by-columns", "nodes.matrix-rigid"),
    "StaticMesh": ("nodes.mesh", "nodes.geometry-has-no-children", "nodes.materials-given"),
    "SMN": ("nodes.predefined", "nodes.geometry-has-no-children", "nodes.materials-given"),
    "Light": ("nodes.light",),
    "StdUnitCylinder": ("nodes.cylinder",),
    "setVisible": ("nodes.visible",),
    "sMat": ("nodes.materials",),
    "resetMaterials": ("nodes.materials",),
}
"""The requirements that each type of node, leaf or mesh exercises."""
