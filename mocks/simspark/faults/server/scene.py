"""Faults of the server in the contents of scene graphs."""

import re
from collections.abc import Callable
from math import dist
from typing import Any

from mocks.deviations import Fault, Subtle, Table
from mocks.simspark.faults.server.bases import (
    FULL_AT_TIMES,
    adds_inside,
    is_listed_later,
    is_update,
    no_robots,
    rewrites,
    with_robots,
)
from mocks.simspark.monitor_port import Tree
from mocks.simspark.robot import Robot
from mocks.simspark.server import Server
from mocks.steps import Change, Function, When, alter, instead, returning

TRANSFORM = re.compile(r"\(SLT [^)]*\)")


def transform(change: Callable[[list[str]], list[str]]) -> Change:
    """Write a transform with the numbers that a function makes of the usual ones."""
    return alter(
        "transform_node", lambda _, numbers, below: (" ".join(change(numbers.split())), below)
    )


def predefined(change: Callable[[str], str]) -> Change:
    """Write another type of predefined mesh."""
    return alter("predefined", lambda _, kind, size, material: (change(kind), size, material))


def ball_update(enough: float, forget: bool = False) -> Change:
    """Update the ball only after a movement of so many metres.

    `forget`: count the movement from the last message, and not from the last update.
    """

    def play(usual: Function, server: Server) -> Any:
        now = server.world.ball_node()
        told = server.ball_told
        places = [list(map(float, text.split()))[12:14] for text in (now, told) if text]
        if len(places) < 2 or dist(*places) >= enough:
            return usual(server)
        if forget:
            server.ball_told = now
        return f"{server.transform_update(now, now)}{server.empty_mesh('StaticMesh')})"

    return Change("ball_update", play)


def _without_hanging(_: Server, robot: Robot, told: list[str], limb: Tree) -> Any:
    return robot, told, (limb[0], [])


def _moved_by_its_mesh(text: str) -> str:
    begin, slt, rest = text.partition("(SLT ")
    numbers, end, mesh = rest.partition(")")
    return f"{begin}{mesh[:-2]}{slt}{numbers}{end}))" if slt else text


MOVES_FOR_THE_FIRST = alter(
    "tell_monitor",
    lambda _, monitor, pairs, scene: (monitor, pairs, TRANSFORM.sub("", scene)),
    When(is_listed_later) & is_update,
)


def _has_a_resting_torso(server: Server, robot: Robot) -> bool:
    told = server.nodes_told.get(id(robot), [""])
    return told[0] == robot.nodes[0]


def _with_word(nodes: list[str]) -> list[str]:
    first, *rest = nodes
    return [first[:-1] + " field)", *rest]


def _with_node_below_torso(text: str) -> str:
    end = text.index(")(nd TRF (SLT", 20)
    return f"{text[:end]}(nd BN){text[end:]}"


FAULTS = Table(Server)

FAULTS["header.partial-fits"] = {
    "trailing-nodes-left-out": Fault("Omits the robots in updates.", no_robots("partial_graph")),
    "unchanged-robots-empty": Subtle(
        "Writes a single empty node for an unchanged robot.",
        instead("unchanged_robot", lambda _: "(nd)"),
    ),
    "still-limbs-left-out": Subtle(
        "Omits the parts attached to one limb in the update of a moving robot.",
        alter("limb_update", _without_hanging, lambda _, robot, told, limb: limb[0] == 4),
    ),
    "ball-moved-by-its-mesh": Subtle(
        "Writes the transform of a moving ball into its mesh node.",
        returning("ball_update", _moved_by_its_mesh),
    ),
}

FAULTS["header.partial-carries-changes"] = {
    "updates-in-another-order": Subtle(
        "Writes the robots of an update in reverse order.",
        with_robots("partial_graph", lambda robots: robots[::-1]),
    ),
    "first-monitor-sees": Subtle(
        "Sends movements only to the first monitor of its list.", MOVES_FOR_THE_FIRST
    ),
    "first-monitor-sees-until-full": Subtle(
        "Sends movements only to the first monitor, "
        "and everything to all monitors every 60 cycles.",
        MOVES_FOR_THE_FIRST,
        FULL_AT_TIMES,
    ),
    "coarse-updates": Subtle(
        "Updates the ball only after a movement of half a metre.", ball_update(0.5)
    ),
    "rises-not-updated": Subtle(
        "Updates the ball only after a horizontal movement.", ball_update(0.001)
    ),
    "ball-not-updated": Fault("Updates the ball only in full graphs.", ball_update(1000.0)),
    "steps-not-added-up": Subtle(
        "Updates the ball only after a movement of 4 cm since the last message.",
        ball_update(0.04, forget=True),
    ),
    "small-steps-not-added-up": Subtle(
        "Updates the ball only after a movement of 4 mm since the last message.",
        ball_update(0.004, forget=True),
    ),
    "limbs-not-updated": Fault(
        "Never updates the transforms of limbs.",
        alter("limb_update", lambda _, robot, told, limb: (robot, list(robot.nodes), limb)),
    ),
    "only-torsos-wake-limbs": Subtle(
        "Updates the limbs of a robot only if its torso has moved.",
        instead("robot_update", "unchanged_robot", _has_a_resting_torso),
    ),
}

FAULTS["header.updates-bare"] = {
    "typed-robots": Subtle(
        "Keeps the types of torsos in updates.", rewrites("robot_update", "(nd ", "(nd TRF ", 1)
    ),
}

FAULTS["graph.nodes"] = {
    "node": Fault(
        "Begins predefined meshes with node instead of nd.",
        rewrites("full_graph", "(nd SMN", "(node SMN"),
    ),
    "light-unwrapped": Subtle(
        "Writes a bare word into the first node of the field.", returning("field", _with_word)
    ),
}

FAULTS["graph.types"] = {
    "long-types": Fault(
        "Writes the type of transforms unabbreviated.",
        rewrites("transform_node", "nd TRF", "nd Transform", 1),
    ),
    "camera": Subtle(
        "Adds a node of an unknown type to each robot.",
        adds_inside("robot", "(nd Camera)"),
        adds_inside("robot_update", "(nd)"),
    ),
}

FAULTS["graph.leaves"] = {
    "long-leaves": Fault(
        "Writes the scale of meshes unabbreviated, in addition to the abbreviated one.",
        returning("mesh", lambda text: re.sub(r"\(sSc ([^)]*)\)", r"\g<0>(setScale \1)", text)),
    ),
    "named-torsos": Subtle(
        "Adds a leaf with the name of the player to the torso of a robot.",
        Change(
            "robot",
            lambda usual, server, robot: f"{usual(server, robot)[:-1]}(name player{robot.unum}))",
        ),
    ),
}

FAULTS["graph.poses"] = {
    "absolute-poses": Subtle(
        "Writes the position on the field for a ball below another transform.",
        Change(
            "ball",
            lambda usual, server: server.transform_node(
                "1 0 0 0 0 1 0 0 0 0 1 0 2 1 0 1", usual(server)
            ),
        ),
        Change("ball_update", lambda usual, server: f"{server.empty_transform()}{usual(server)})"),
    ),
}

FAULTS["nodes.base"] = {
    "named-base-nodes": Fault(
        "Puts each robot below a base node that has a name.",
        Change(
            "robot",
            lambda usual, server, robot: f"(nd BN (name player{robot.unum}){usual(server, robot)})",
        ),
        returning("robot_update", lambda text: f"(nd {text})"),
    ),
}

FAULTS["nodes.transform"] = {
    "twelve-numbers": Fault(
        "Omits the last row of transforms.",
        transform(lambda entries: [text for at, text in enumerate(entries) if at % 4 != 3]),
    ),
    "short-updates": Subtle(
        "Omits the rotation of the ball in updates.",
        returning("ball_update", lambda text: re.sub(r"\(SLT (\S+ ){12}", "(SLT ", text)),
    ),
}

FAULTS["nodes.matrix-by-columns"] = {
    "row-by-row": Fault(
        "Writes transforms row by row.",
        transform(
            lambda entries: [entries[column + row] for row in range(4) for column in (0, 4, 8, 12)]
        ),
    ),
    "last-number-zero": Subtle(
        "Ends the transforms of updates with 0.", rewrites("transform_update", " 1 )", " 0 )")
    ),
}

FAULTS["nodes.matrix-rigid"] = {
    "mirrored-turns": Subtle(
        "Mirrors the transform of a turned hinge.",
        returning(
            "limb_update",
            lambda text: text.replace(" 0 0 -0.", " 0 0 0."),
            lambda _, robot, told, limb: limb[0] == 0,
        ),
    ),
}

FAULTS["nodes.geometry-has-no-children"] = {
    "nodes-below-meshes": Subtle(
        "Puts a node below the mesh of the torso.", returning("robot", _with_node_below_torso)
    ),
    "shadows-below-boxes": Fault(
        "Puts a node below every predefined mesh.", adds_inside("predefined", "(nd BN)")
    ),
}

FAULTS["nodes.mesh"] = {
    "no-scale": Fault(
        "Omits the scale of meshes.",
        returning("mesh", lambda text: re.sub(r"\(sSc [^)]*\)", "", text)),
    ),
    "one-scale": Subtle(
        "Writes the scale of the ball as one number.",
        returning("ball", lambda text: re.sub(r"\(sSc (\S+) [^)]*\)", r"(sSc \1)", text)),
    ),
}

FAULTS["nodes.predefined"] = {
    "plane": Fault(
        "Uses an unknown type of predefined mesh.",
        predefined(lambda kind: kind.replace("Box", "Plane")),
    ),
    "lower-case-spheres": Subtle(
        "Writes the type of the spheres of limbs in lower case.",
        predefined(lambda kind: kind.replace("Sphere", "sphere")),
    ),
}

FAULTS["nodes.cylinder"] = {
    "cylinder-of-one": Fault(
        "Writes cylinders with their length only.",
        instead("cylinder", lambda _, radius, length: f"StdUnitCylinder {length:g}"),
    ),
    "cylinder-with-units": Subtle(
        "Writes the radius of cylinders with a unit.",
        instead(
            "cylinder", lambda _, radius, length: f"StdUnitCylinder {100 * radius:g}cm {length:g}"
        ),
    ),
}

FAULTS["nodes.visible"] = {
    "visible-true": Subtle(
        "Writes true for a visible mesh.", rewrites("mesh", "(load", "(setVisible true)(load")
    ),
}

FAULTS["nodes.materials"] = {
    "two-materials": Subtle(
        "Writes two names after sMat.",
        alter("predefined", lambda _, kind, size, name: (kind, size, f"{name} matShadow")),
    ),
}

FAULTS["nodes.materials-given"] = {
    "ball-without-material": Subtle(
        "Omits the materials of the ball.",
        returning("ball", lambda text: re.sub(r"\(resetMaterials [^)]*\)", "", text)),
    ),
}

FAULTS["nodes.light"] = {
    "light-of-three": Fault(
        "Writes colours with three numbers.",
        rewrites("light", "1 1 1 1)", "1 1 1)"),
        rewrites("light", "0.8 1)", "0.8)"),
    ),
    "no-specular": Subtle(
        "Omits the specular light.", rewrites("light", " (setSpecular 0.1 0.1 0.1 1)", "")
    ),
}
