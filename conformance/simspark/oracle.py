"""The passive judge of a SimSpark session: what may follow what, and what values must agree.

It sees both sides of one connection, be that an agent's or a monitor's, does not know which of them
is under test, and has no clock. A connection goes through the phases of COURSE; the scene graph is
kept, so that each update is held against the last full one. Rules for this module:

- A message changes a phase only through COURSE.
- A finding is about the message at hand.
- Wherever the specification leaves something open there is no rule. In particular the full scene
  graph may come at any time, and environment information again.
"""

from collections.abc import Iterator
from enum import StrEnum
from typing import Any

from conformance.judge import Finding
from conformance.simspark import nodes
from conformance.simspark.codec import COMMANDS
from conformance.simspark.scene import Scene, number, parse

SERVER, AGENT, MONITOR = "server", "agent", "monitor"

STATE = ("time", "half", "score_left", "score_right", "play_mode")
"""What a full game state has. Source: GameState Message."""


class Phase(StrEnum):
    """How far one side of a connection has come with what it sends."""

    CONNECTED = "connected"
    CREATED = "agent created"
    READY = "ready"
    INTRODUCED = "environment sent"
    RUNNING = "state sent"


ANY = "anything else"

NAMED = {
    "agent": ("move-agent.unum-and-team", ("unum", "team")),
    "score": ("score.form", ("left", "right")),
}
"""By command: what it must name, in any order, and the requirement that says so."""

COURSE: dict[str, dict[Phase, dict[str, Phase | str]]] = {
    AGENT: {
        Phase.CONNECTED: {"scene": Phase.CREATED, ANY: "agents.create-first"},
        Phase.CREATED: {"init": Phase.READY, ANY: "agents.init-second"},
        Phase.READY: {ANY: Phase.READY},
    },
    SERVER: {
        Phase.CONNECTED: {
            "environment": Phase.INTRODUCED,
            "environment and state": Phase.RUNNING,
            ANY: "monitors.environment-first",
        },
        Phase.INTRODUCED: {
            "full state": Phase.RUNNING,
            "environment and state": Phase.RUNNING,
            ANY: "monitors.state-second",
        },
        Phase.RUNNING: {ANY: Phase.RUNNING},
    },
}
"""By side and phase: what a message is, and the next phase, or the requirement that it violates.

Of an agent that is each expression that it sends; of a server each message to a monitor.
"""


class Oracle:
    """The state of one connection and the rules that it obeys."""

    def __init__(self) -> None:
        self.exercised: set[str] = set()
        self.scene: Scene | None = None
        self.play_modes: list[str] = []
        self.state: dict[str, Any] = {}
        """The latest of each value of the game state, as it was written."""
        self._phases = {AGENT: Phase.CONNECTED, SERVER: Phase.CONNECTED}
        self._cookies: list[str] = []
        self._times_set = 0  # how often a trainer may have set the time back

    def message(self, sender: str, name: str, value: Any) -> Iterator[Finding]:
        self.exercised |= {"text.s-expressions", "text.ascii", "frame.length-prefix"}
        if sender == AGENT:
            yield from self._agent(value)
        elif sender == MONITOR and name != "Empty":
            yield from self._monitor(value)
        elif sender == SERVER and name in ("Environment", "FullState", "PartialState"):
            yield from self._state(name, value)
        elif sender == SERVER and name == "Ack":
            yield from self._ack(value)
        elif sender == SERVER and name in ("Perceptors", "Expressions"):
            self.exercised |= {"agents.perceptors", "text.predicates"}

    def unknown(self, sender: str, name: str, value: Any, foreign: bool) -> Iterator[Finding]:
        if sender == AGENT and name == "Commands":
            yield Finding("monitors.only-commands-of-trainers", "an agent sent a trainer's command")
        elif foreign:
            yield Finding("text.predicates", f"a {sender} sent {name}, which it does not have")

    def broken(self, sender: str) -> None:
        pass

    def closed(self, sender: str) -> Iterator[Finding]:
        yield from ()

    def _step(self, side: str, what: str, words: str) -> Iterator[Finding]:
        steps = COURSE[side][self._phases[side]]
        step = steps.get(what, steps[ANY])
        if isinstance(step, Phase):
            self._phases[side] = step
        else:
            yield Finding(step, f"{words} came instead")
            # One mistake, one finding.
            self._phases[side] = Phase.READY if side == AGENT else Phase.RUNNING

    # An agent

    def _agent(self, value: Any) -> Iterator[Finding]:
        for item in value:
            word = item[0] if isinstance(item, list) and item else item
            if word != "syn" and isinstance(word, str):
                yield from self._step(AGENT, word, f"{word[:60]!r}")
        self.exercised |= {"monitors.only-commands-of-trainers", "text.predicates"}
        if self._phases[AGENT] is not Phase.CONNECTED:
            self.exercised.add("agents.create-first")
        if self._phases[AGENT] is Phase.READY:
            self.exercised.add("agents.init-second")

    # A monitor

    def _monitor(self, value: Any) -> Iterator[Finding]:
        self.exercised |= {"trainer.known-commands", "text.predicates"}
        commands = [item for item in value if isinstance(item, list) and item]
        if len(commands) == 1 and isinstance(commands[0][0], list):
            commands = [item for item in commands[0] if isinstance(item, list) and item]
        for place, command in enumerate(commands):
            yield from self._command(command, alone=place == 0)

    def _command(self, command: list[Any], alone: bool) -> Iterator[Finding]:
        word = command[0]
        if word in ("time", "kickOff", "playMode"):
            self._times_set += 1
        if word not in COMMANDS and command != ["init"]:
            yield Finding("trainer.known-commands", f"the command {word!r:.60} came")
        elif word in NAMED and len(command) > 1:
            requirement, keys = NAMED[word]
            told = [part[0] for part in command[1:] if isinstance(part, list) and part]
            if missing := [key for key in keys if key not in told]:
                yield Finding(requirement, f"{word} came without {' and '.join(missing)}")
        elif word == "getAck":
            self._cookies += [str(cookie) for cookie in command[1:2]]
            if alone:
                yield Finding("ack.appended", "getAck came without another command before it")
        elif word == "playMode" and self.play_modes and len(command) > 1:
            self.exercised.add("play-mode.known")
            if command[1] not in self.play_modes:
                what = f"the play mode {command[1]!r:.60} is none of those that it was sent"
                yield Finding("play-mode.known", what)

    # A server, to a monitor

    def _ack(self, value: Any) -> Iterator[Finding]:
        self.exercised.add("ack.form")
        cookie = value[0][1] if isinstance(value[0], list) and len(value[0]) > 1 else None
        if cookie in self._cookies:
            self._cookies.remove(cookie)
        else:
            yield Finding(
                "ack.form", f"the answer has the cookie {cookie!r:.60}, which none awaits"
            )

    def _state(self, name: str, value: Any) -> Iterator[Finding]:
        items = {
            item[0]: item[1:]
            for item in (value[0] if isinstance(value[0], list) else ())
            if isinstance(item, list) and item and isinstance(item[0], str)
        }
        header = value[1] if len(value) > 1 and isinstance(value[1], list) else []
        full = header[:1] == ["RSG"]
        yield from self._introduced(name, items, full)
        yield from self._values(items)
        if len(value) == 3 and header[:1] in (["RSG"], ["RDS"]):
            yield from self._graph(value[2], full)

    def _introduced(self, name: str, items: dict[str, Any], full: bool) -> Iterator[Finding]:
        """What a message is in the course of the connection."""
        phase = self._phases[SERVER]
        complete = all(key in items for key in STATE)
        if name == "Environment":
            what = "environment and state" if complete and full else "environment"
            words = "environment information" + ("" if full else " with a partial scene graph")
            if "play_modes" not in items and phase is Phase.CONNECTED:
                yield Finding("environment.play-modes", "the environment has no play_modes")
        else:
            what = "full state" if full and complete else "state"
            words = f"a {'full' if full else 'partial'} scene graph with {', '.join(items)}"
        if what == "environment" and not full and phase is Phase.CONNECTED:
            what = ANY
        missing = [key for key in STATE if key not in items]
        if phase is Phase.INTRODUCED and full and name == "FullState" and missing:
            self._phases[SERVER] = Phase.RUNNING
            what = f"the full game state has no {', '.join(missing)}"
            yield Finding("state.complete", what)
        else:
            yield from self._step(SERVER, what, words)
        self.exercised |= {"monitors.environment-first", "environment.structure"}
        if phase is not Phase.CONNECTED:
            self.exercised |= {"monitors.keeps-sending", "state.structure"}
        if self._phases[SERVER] is Phase.RUNNING:
            self.exercised |= {"monitors.state-second", "state.complete"}
            if phase is Phase.RUNNING and "time" not in items:
                yield Finding("state.partial", "a game state has no time")

    def _values(self, items: dict[str, Any]) -> Iterator[Finding]:
        """The values of the game state, one by one and against those before."""
        if "play_modes" in items:
            self.play_modes = [name for name in items["play_modes"] if isinstance(name, str)]
        before = dict(self.state)
        self.state.update({key: items[key][0] for key in STATE if items.get(key)})
        index = number(items["play_mode"][0]) if items.get("play_mode") else None
        if index is not None and self.play_modes:
            self.exercised.add("state.play-mode")
            if index >= len(self.play_modes):
                what = f"play_mode is {index:g}, and there are {len(self.play_modes)} play modes"
                yield Finding("state.play-mode", what)
        earlier, later = number(before.get("time")), number(self.state.get("time"))
        if earlier is None or later is None or "time" not in items:
            return
        self.exercised.add("state.time-goes-on")
        turned = any(before.get(key) != self.state.get(key) for key in ("half", "play_mode"))
        if later < earlier and not turned:
            if not self._times_set:
                what = f"the time went back from {earlier:g} to {later:g}"
                yield Finding("state.time-goes-on", what)
            self._times_set = max(0, self._times_set - 1)

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
            yield from nodes.wrong(self.scene.nodes)
        elif self.scene is not None:
            self.exercised.add("header.partial-fits")
            written = parse(graph)
            yield from nodes.misfits(self.scene.nodes, written)
            self.scene.take(written)


_OF_EVERY_GRAPH = {"graph.nodes", "graph.types", "graph.leaves", "header.form", "header.name"}
_SHOWN_BY = {
    "BN": ("nodes.base",),
    "TRF": ("nodes.transform", "nodes.matrix-by-columns", "nodes.matrix-rigid"),
    "StaticMesh": ("nodes.mesh", "nodes.geometry-has-no-children"),
    "SMN": ("nodes.predefined", "nodes.geometry-has-no-children"),
    "Light": ("nodes.light",),
    "StdUnitCylinder": ("nodes.cylinder",),
    "setVisible": ("nodes.visible",),
    "sMat": ("nodes.materials",),
    "resetMaterials": ("nodes.materials",),
}
"""By type of a node, leaf or kind of mesh: the requirements that it puts to the test."""
