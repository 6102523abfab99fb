"""Lawful variants of the server in states and scene graphs."""

import re
from typing import Any

from mocks.deviations import Table, Variant, variant
from mocks.simspark.faults.server.bases import adds_inside, rewrites
from mocks.simspark.faults.server.states import value
from mocks.simspark.monitor_port import Monitor
from mocks.simspark.server import Server
from mocks.simspark.settings import PLAY_MODES
from mocks.simspark.variants.bases import has
from mocks.steps import Change, Function, alter, instead, returning


def first_node(old: str, new: str) -> Change:
    """Write the first node of the field with another transform."""
    return returning("field", lambda nodes: [nodes[0].replace(old, new, 1), *nodes[1:]])


def _spaced(_: Server, monitor: Monitor, pairs: list[str], scene: str) -> tuple[Any, ...]:
    spaced = scene.replace("(", "( ").replace(")", " )\n")
    return monitor, [f" {pair}\r\n" for pair in pairs], f"\t{spaced}"


def _full_state(usual: Function, server: Server) -> list[str]:
    usual(server)
    return server.full_state()


def _with_points(state: dict[str, str]) -> dict[str, str]:
    return {name: text if name == "time" else f"{text}.0" for name, text in state.items()}


VARIANTS = Table(Server)

VARIANTS["monitors.apart"] = {
    "merged": Variant(
        "Sends environment and game state in one list, as the published server does.",
        has(merged=True),
    ),
}

VARIANTS["graph.nodes"] = {
    "rooted": Variant("Writes the root of the scene graph as a node.", has(rooted=True)),
}

VARIANTS["header.updates-bare"] = {
    "typed-updates": Variant(
        "Keeps the types of nodes in updates, as the published server does with meshes.",
        has(typed=True),
    ),
}

VARIANTS["text.white-space"] = {
    "line-ends": Variant("Ends each message to a monitor with a line end.", has(lines=True)),
    "spacious": Variant(
        "Writes blanks and line ends at all places where they have no meaning.",
        alter("send_state", _spaced),
    ),
}

VARIANTS["state.partial"] = {
    "full-states": Variant(
        "Sends every value of the game state in each message, also with updates.",
        Change("partial_state", _full_state),
    ),
}

VARIANTS["state.complete"] = {
    "states-in-another-order": Variant(
        "Writes the values of the game state in another order, with additional values.",
        returning("full_state", lambda pairs: ["(team_left Lefts)", *reversed(pairs)]),
        returning("partial_state", lambda pairs: [*reversed(pairs), "(wind 0.5 0 0)"]),
    ),
}

VARIANTS["state.values"] = {
    "exponents": Variant(
        "Writes the time with an exponent.",
        value("time", lambda server: f"{server.world.time:.6e}"),
    ),
    "scores-with-a-point": Variant(
        "Writes a point and a zero after whole numbers of the game state.",
        returning("state", _with_points),
    ),
}

VARIANTS["nodes.base"] = {
    "base-nodes": Variant(
        "Puts each robot below two base nodes, next to an empty base node.",
        returning("robot", lambda text: f"(nd BN (nd BN)(nd BN {text}))"),
        returning("robot_update", lambda text: f"(nd (nd)(nd {text}))"),
    ),
}

VARIANTS["nodes.materials-given"] = {
    "no-materials": Variant(
        "Omits materials, as the published server does for meshes without materials.",
        returning(
            "full_graph",
            lambda text: re.sub(r" ?\((?:resetMaterials|sMat) [^)]*\)", "", text),
        ),
    ),
}

VARIANTS["nodes.visible"] = {
    "visible": Variant(
        "Writes visibility and transparency of a mesh, before its model.",
        returning(
            "full_graph",
            lambda text: re.sub(
                r"(?=\(load (?!StdCapsule))", "(setVisible 1) (setTransparent)", text
            ),
        ),
    ),
}

VARIANTS["nodes.predefined"] = {
    "capsules": Variant(
        "Uses capsules for the goal posts.", rewrites("cylinder", "StdUnitCylinder", "StdCapsule")
    ),
}

VARIANTS["graph.leaves"] = {
    "ball-with-a-name": Variant(
        "Gives the ball an additional leaf.", adds_inside("ball", "(name ball)")
    ),
}

VARIANTS["nodes.matrix-rigid"] = {
    "scaled": Variant(
        "Puts the scale of the field into its transform.", first_node("(SLT 1 ", "(SLT 30 ")
    ),
    "mirrored": Variant("Mirrors the field by its transform.", first_node("(SLT 1 ", "(SLT -1 ")),
}

VARIANTS["header.partial-carries-changes"] = {
    "robots-of-one-piece": Variant(
        "Shows only torsos, so no limb can be seen turning.",
        instead("limb", lambda *_: ""),
        instead("limb_update", lambda *_: ""),
        instead("unchanged_robot", lambda server: server.empty_limbs([], "StaticMesh")),
    ),
}


@variant("more-play-modes", of="environment.play-modes")
class MorePlayModes(Server):
    """Has four more play modes and one more parameter."""

    MORE = ("direct_free_kick_left", "direct_free_kick_right", "pass_left", "pass_right")

    def play_modes(self) -> str:
        return f"(BorderSize 0)(play_modes {' '.join((*PLAY_MODES, *self.MORE))})"

    def play_mode_index(self) -> int:
        return (*PLAY_MODES, *self.MORE).index(self.world.mode)

    def do_play_mode(self, command: list[str]) -> None:
        if command[1:2] and command[1] in self.MORE:
            self.world.become(command[1])
        else:
            super().do_play_mode(command)


@variant("a-plain-sphere", of="nodes.mesh")
class APlainSphere(Server):
    """Shows the ball as a sphere without a name."""

    def ball(self) -> str:
        size = self.world.settings.environment.BallRadius
        below = self.predefined("StdUnitSphere", (size,) * 3, "matWhite")
        return self.transform_node(self.world.ball_node(), below)

    def ball_update(self) -> str:
        return super().ball_update().replace("StaticMesh", "SMN")
