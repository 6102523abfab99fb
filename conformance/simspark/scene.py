"""The scene graph: what its nodes must be, how an update fits the last full one, where things are.

Nodes are kept in the order in which they are written, each with its children, so nothing here
recurses. What a node may have is what `schemas/simspark/nodes/` says; the tables here say it once
more in a form that is quick enough for every message of a session.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from math import hypot, isfinite
from typing import Any

from conformance.judge import Finding

Matrix = tuple[float, ...]
"""Sixteen numbers, column by column: three axes, a 0 behind each, a translation in metres, a 1."""

IDENTITY: Matrix = (1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0)
LOOSE = 0.02  # how far an axis may be from a unit at right angles: some write two decimals

_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
MESHES = ("StdUnitBox", "StdUnitCylinder", "StdUnitSphere", "StdCapsule")


def number(text: Any) -> float | None:
    """The finite number that an atom is, or None."""
    if not isinstance(text, str) or not _NUMBER.fullmatch(text):
        return None
    value = float(text)
    return value if isfinite(value) else None


def numbers(values: Sequence[Any], count: int) -> bool:
    return len(values) == count and all(number(value) is not None for value in values)


def _atoms(values: Sequence[Any]) -> bool:
    return all(isinstance(value, str) for value in values)


@dataclass(frozen=True)
class Leaf:
    """What a leaf must be: the requirement, whether its values are right, and that in words."""

    requirement: str
    holds: Callable[[Sequence[Any]], bool]
    words: str


def _light(values: Sequence[Any]) -> bool:
    return numbers(values, 4)


LEAVES: dict[str, dict[str, Leaf]] = {
    "BN": {},
    "TRF": {
        "SLT": Leaf("nodes.transform", lambda v: numbers(v, 16), "16 numbers"),
    },
    "StaticMesh": {
        "load": Leaf("nodes.mesh", lambda v: bool(v) and _atoms(v), "the path of a model"),
        "sSc": Leaf("nodes.mesh", lambda v: numbers(v, 3), "three numbers"),
        "setVisible": Leaf("nodes.visible", lambda v: v in (["0"], ["1"]), "0 or 1"),
        "setTransparent": Leaf("graph.leaves", _atoms, "atoms"),
        "resetMaterials": Leaf("nodes.materials", _atoms, "names"),
    },
    "SMN": {
        "load": Leaf("nodes.predefined", lambda v: v[:1] != [] and v[0] in MESHES, "a known mesh"),
        "sSc": Leaf("nodes.predefined", lambda v: numbers(v, 3), "three numbers"),
        "setVisible": Leaf("nodes.visible", lambda v: v in (["0"], ["1"]), "0 or 1"),
        "setTransparent": Leaf("graph.leaves", _atoms, "atoms"),
        "sMat": Leaf("nodes.materials", lambda v: len(v) == 1 and _atoms(v), "one name"),
    },
    "Light": {
        "setDiffuse": Leaf("nodes.light", _light, "four numbers"),
        "setAmbient": Leaf("nodes.light", _light, "four numbers"),
        "setSpecular": Leaf("nodes.light", _light, "four numbers"),
    },
}
"""By type of node: the leaves that it may have."""

NEEDED: dict[str, dict[str, str]] = {
    "BN": {},
    "TRF": {"SLT": "nodes.transform"},
    "StaticMesh": {"load": "nodes.mesh", "sSc": "nodes.mesh"},
    "SMN": {"load": "nodes.predefined", "sSc": "nodes.predefined"},
    "Light": dict.fromkeys(("setDiffuse", "setAmbient", "setSpecular"), "nodes.light"),
}
"""By type of node: the leaves that it must have in a full graph, and what says so."""

NO_CHILDREN = {
    "StaticMesh": "nodes.geometry-has-no-children",
    "SMN": "nodes.geometry-has-no-children",
    "Light": "graph.nodes",
}


@dataclass(slots=True)
class Node:
    """One node as it is written: its type (None where that is left out) and what stands below."""

    kind: str | None
    leaves: list[list[Any]]
    children: list[int] = field(default_factory=list)
    stray: list[Any] = field(default_factory=list)
    """What is neither a leaf nor a node: further words, empty lists, lists of lists."""


def parse(graph: Any) -> list[Node]:
    """All nodes of a graph, each behind the one above it; the first is the root, written or not."""
    if not isinstance(graph, list):
        return [Node("BN", [], stray=[graph])]
    written = graph[:1] == ["nd"]
    nodes: list[Node] = []
    waiting: list[tuple[list[Any], int]] = [(graph if written else ["nd", "BN", *graph], -1)]
    while waiting:
        items, above = waiting.pop()
        kind = items[1] if len(items) > 1 and isinstance(items[1], str) else None
        node = Node(kind, [])
        if above >= 0:
            nodes[above].children.append(len(nodes))
        place = len(nodes)
        nodes.append(node)
        below = []
        for item in items[1 if kind is None else 2 :]:
            if not isinstance(item, list) or not item or not isinstance(item[0], str):
                node.stray.append(item)
            elif item[0] == "nd":
                below.append((item, place))
            else:
                node.leaves.append(item)
        waiting.extend(reversed(below))
    return nodes


def _wrong_leaves(node: Node, kind: str) -> Iterator[Finding]:
    known = LEAVES[kind]
    seen = set()
    for name, *values in node.leaves:
        leaf = known.get(name)
        if leaf is None:
            at = "nodes.base" if kind == "BN" else "graph.leaves"
            yield Finding(at, f"a node {kind} has the leaf {name}")
            continue
        if name in seen:
            yield Finding(leaf.requirement, f"a node {kind} has {name} twice")
        seen.add(name)
        if not leaf.holds(values):
            what = f"{name} of a node {kind} has {_shown(values)} where {leaf.words} belongs"
            yield Finding(leaf.requirement, what)
        elif name == "SLT":
            yield from _wrong_matrix(matrix(node))
        elif values[:1] == ["StdUnitCylinder"] and not numbers(values[1:], 2):
            what = f"a StdUnitCylinder has the parameters {_shown(values[1:])}, not two numbers"
            yield Finding("nodes.cylinder", what)
    for item in node.stray:
        yield Finding("graph.nodes", f"{_shown(item)} stands in a node {kind}, and is none itself")


def _wrong_matrix(m: Matrix) -> Iterator[Finding]:
    bottom = (m[3], m[7], m[11], m[15])
    if any(abs(entry - wanted) > LOOSE for entry, wanted in zip(bottom, (0, 0, 0, 1), strict=True)):
        how = " (written row by row?)" if not any(m[12:15]) else ""
        what = f"the 4th, 8th, 12th and 16th number of SLT are {bottom}, not 0, 0, 0 and 1{how}"
        yield Finding("nodes.matrix-by-columns", what)
        return
    axes = (m[0:3], m[4:7], m[8:11])
    for name, axis in zip("noa", axes, strict=True):
        if abs(hypot(*axis) - 1) > LOOSE:
            yield Finding(
                "nodes.matrix-rigid", f"{name} is {axis}, of the length {hypot(*axis):.4g}"
            )
            return
    (a, b, c), (d, e, f), (g, h, i) = axes
    determinant = a * (e * i - f * h) - d * (b * i - c * h) + g * (b * f - c * e)
    if abs(determinant - 1) > LOOSE:
        what = "mirrored" if determinant < 0 else "not at right angles"
        yield Finding("nodes.matrix-rigid", f"the axes {axes} are {what}")


def wrong(nodes: Sequence[Node]) -> Iterator[Finding]:
    """What is wrong with a full graph."""
    for node in nodes:
        if node.kind is None:
            yield Finding("header.full-is-complete", "a node of a full graph has no type")
            continue
        if node.kind not in LEAVES:
            yield Finding("graph.types", f"a node has the type {node.kind!r:.60}")
            continue
        yield from _wrong_leaves(node, node.kind)
        if node.children and node.kind in NO_CHILDREN:
            yield Finding(NO_CHILDREN[node.kind], f"a node {node.kind} has nodes below it")
        names = {leaf[0] for leaf in node.leaves}
        for name, requirement in NEEDED[node.kind].items():
            if name not in names:
                at = "header.full-is-complete" if not names else requirement
                yield Finding(at, f"a node {node.kind} of a full graph has no {name}")


def misfits(full: Sequence[Node], update: Sequence[Node]) -> Iterator[Finding]:
    """What of an update does not fit the full graph before it."""
    fits = "header.partial-fits"
    for place, (node, new) in enumerate(zip(full, update, strict=False)):
        if len(node.children) != len(new.children):
            what = f"node {place} ({node.kind}) has {len(new.children)} nodes below it"
            yield Finding(fits, f"{what} in an update, and {len(node.children)} in the full graph")
            return
        if new.kind is not None and new.kind != node.kind:
            yield Finding(
                fits, f"node {place} is {new.kind!r:.60} in an update, and was {node.kind}"
            )
            return
        if node.kind in LEAVES:
            yield from _wrong_leaves(new, node.kind)


def matrix(node: Node) -> Matrix:
    """The transform of a node; the identity where it has none that can be read."""
    for name, *values in node.leaves:
        if name == "SLT" and numbers(values, 16):
            return tuple(map(float, values))
    return IDENTITY


def product(one: Matrix, other: Matrix) -> Matrix:
    a, b = one, other
    return tuple(
        a[row] * b[column] + a[row + 4] * b[column + 1] + a[row + 8] * b[column + 2]
        + a[row + 12] * b[column + 3]
        for column in (0, 4, 8, 12)
        for row in (0, 1, 2, 3)
    )  # fmt: skip


class Scene:
    """A full graph, kept up to date by the updates that follow it.

    `nodes` are as they were written in the full graph; `locals` the transform of each by now.
    """

    def __init__(self, graph: Any) -> None:
        self.nodes = parse(graph)
        self.locals = [matrix(node) for node in self.nodes]

    def wrong(self) -> Iterator[Finding]:
        return wrong(self.nodes)

    def update(self, graph: Any) -> list[Finding]:
        """Take over an update; what of it does not fit is told, and then none of it is taken."""
        written = parse(graph)
        found = list(misfits(self.nodes, written))
        if not found:
            for place, node in enumerate(written):
                if any(leaf[0] == "SLT" for leaf in node.leaves):
                    self.locals[place] = matrix(node)
        return found

    def poses(self) -> list[Matrix]:
        """The pose of every node in the coordinates of the root."""
        found = [IDENTITY] * len(self.nodes)
        found[0] = self.locals[0]
        for place, node in enumerate(self.nodes):
            for child in node.children:
                found[child] = product(found[place], self.locals[child])
        return found


def _shown(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 80 else f"{text[:79]}…"
