"""Rules for the nodes of a scene graph, and for updates.

`schemas/simspark/nodes/` defines the nodes. The tables here repeat that definition in a form that
is fast enough for every message of a session.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import hypot
from typing import Any

from conformance.judging.judge import Finding
from conformance.simspark.scene import IDENTITY, Matrix, Node, finite, number, numbers, path

LOOSE = 0.02  # tolerance of axes and determinant; some servers write only two decimals

BOTTOM = (0, 0, 0, 1)  # the last row of a rigid transform

MESHES = ("StdUnitBox", "StdUnitCylinder", "StdUnitSphere", "StdCapsule")


def _atoms(values: Sequence[Any]) -> bool:
    return all(isinstance(value, str) for value in values)


@dataclass(frozen=True)
class Leaf:
    """The rule for one leaf.

    `requirement` is the id of the requirement, `holds` checks the values, and `words` describes
    valid values.
    """

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
"""The leaves that each type of node can have."""

NEEDED: dict[str, dict[str, str]] = {
    "BN": {},
    "TRF": {"SLT": "nodes.transform"},
    "StaticMesh": {"load": "nodes.mesh", "sSc": "nodes.mesh"},
    "SMN": {"load": "nodes.predefined", "sSc": "nodes.predefined"},
    "Light": dict.fromkeys(("setDiffuse", "setAmbient", "setSpecular"), "nodes.light"),
}
"""The required leaves of each type of node in a full graph, with the requirement."""

MATERIALS = {"StaticMesh": "resetMaterials", "SMN": "sMat"}
"""The leaf that names the materials of each type of mesh."""

NO_CHILDREN = {
    "StaticMesh": "nodes.geometry-has-no-children",
    "SMN": "nodes.geometry-has-no-children",
    "Light": "graph.nodes",
}


def _wrong_leaves(node: Node, kind: str) -> Iterator[Finding]:
    """Yield findings about the contents of a node. Paths are relative to the node."""
    known = LEAVES[kind]
    seen = set()
    for leaf in node.leaves:
        name = leaf[0]
        if name in seen and name in known:
            what = f"a node {kind} has the leaf {name} twice"
            yield _in(node.items, leaf, Finding(known[name].requirement, what))
        seen.add(name)
        if not _is_sound(kind, leaf):
            for finding in _wrong_leaf(kind, leaf):
                yield _in(node.items, leaf, finding)
    for item in node.stray:
        what = f"a node {kind} contains {_quote(item)}, which is neither a leaf nor a node"
        yield _in(node.items, item, Finding("graph.nodes", what))


def _in(items: Sequence[Any], part: Any, finding: Finding) -> Finding:
    """Make the path of a finding about `part` relative to the list `items`.

    `items` contains `part`.
    """
    # The list is empty if an atom replaces the whole graph.
    at = [place for place, item in enumerate(items) if item is part][:1]
    return replace(finding, path=(*at, *finding.path))


def _is_sound(kind: str, leaf: list[Any]) -> bool:
    try:
        return _is_known_sound(kind, tuple(leaf))
    except TypeError:  # the values contain a list
        return False


@lru_cache(1 << 14)
def _is_known_sound(kind: str, leaf: tuple[Any, ...]) -> bool:
    # Most of a scene stays the same, and is repeated in every full graph.
    return not any(_wrong_leaf(kind, leaf))


def _wrong_leaf(kind: str, written: Sequence[Any]) -> Iterator[Finding]:
    name, *values = written
    leaf = LEAVES[kind].get(name)
    if leaf is None and any(isinstance(value, list) for value in values):
        yield Finding("graph.nodes", f"a node begins with {name!r:.40}, not with nd")
    elif leaf is None:
        at = "nodes.base" if kind == "BN" else "graph.leaves"
        yield Finding(at, f"a node {kind} has the unknown leaf {name}")
    elif not leaf.holds(values):
        odd = _odd(values)
        has = f"the value {values[odd[0] - 1]} among {len(values)}" if odd else _quote(values)
        what = f"{name} of a node {kind} must have {leaf.words}; it has {has}"
        yield Finding(leaf.requirement, what, path=odd)
    elif name == "SLT":
        yield from _wrong_matrix(finite(tuple(values)) or IDENTITY)
    elif values[:1] == ["StdUnitCylinder"] and not numbers(values[1:], 2):
        what = f"a StdUnitCylinder has the parameters {_quote(values[1:])}, not two numbers"
        yield Finding("nodes.cylinder", what)


def _odd(values: Sequence[Any]) -> tuple[int, ...]:
    """Return the position of the only value that is not a number.

    The result is a path with one index into the leaf. It is empty if several values, or none, are
    not numbers.
    """
    odd = [place for place, value in enumerate(values, 1) if number(value) is None]
    return tuple(odd) if len(odd) == 1 < len(values) else ()


def _wrong_matrix(m: Matrix) -> Iterator[Finding]:
    bottom = (m[3], m[7], m[11], m[15])
    if bottom != BOTTOM and any(
        abs(entry - wanted) > LOOSE for entry, wanted in zip(bottom, BOTTOM, strict=True)
    ):
        how = " (is it written row by row?)" if not any(m[12:15]) else ""
        what = f"the numbers 4, 8, 12 and 16 of SLT must be 0, 0, 0 and 1; they are {bottom}{how}"
        yield Finding("nodes.matrix-by-columns", what)
        return
    axes = (m[0:3], m[4:7], m[8:11])
    for name, axis in zip("noa", axes, strict=True):
        if abs(hypot(*axis) - 1) > LOOSE:
            yield Finding(
                "nodes.matrix-rigid",
                f"the axis {name} of SLT is {axis}; its length is {hypot(*axis):.4g}, not 1",
            )
            return
    (a, b, c), (d, e, f), (g, h, i) = axes
    determinant = a * (e * i - f * h) - d * (b * i - c * h) + g * (b * f - c * e)
    if abs(determinant - 1) > LOOSE:
        what = "mirrored" if determinant < 0 else "not at right angles"
        yield Finding("nodes.matrix-rigid", f"the axes of SLT, {axes}, are {what}")


def find_wrong_nodes(nodes: Sequence[Node]) -> Iterator[Finding]:
    """Yield all findings about a full graph.

    Paths begin at the root node, or at the list of nodes if the graph has no root node.
    """
    for place, node in enumerate(nodes):
        for finding in _wrong(node):
            yield _of(nodes, place, finding)


def _of(nodes: Sequence[Node], place: int, finding: Finding) -> Finding:
    """Make the path of a finding about one node relative to the whole graph."""
    return replace(finding, path=(*path(nodes, place), *finding.path))


def _wrong(node: Node) -> Iterator[Finding]:
    """Yield findings about one node of a full graph."""
    if node.kind is None:
        yield Finding("header.full-is-complete", "a node of a full graph has no type")
        return
    if node.kind not in LEAVES:
        yield Finding("graph.types", f"a node has the type {node.kind!r:.60}")
        return
    yield from _wrong_leaves(node, node.kind)
    if node.children and node.kind in NO_CHILDREN:
        yield Finding(NO_CHILDREN[node.kind], f"a node {node.kind} has child nodes")
    names = _names(node)
    for name, requirement in NEEDED[node.kind].items():
        if name not in names:
            at = "header.full-is-complete" if not names else requirement
            yield Finding(at, f"a node {node.kind} of a full graph has no {name}")
    material = MATERIALS.get(node.kind)
    if names and material is not None and material not in names:
        what = f"a node {node.kind} of a full graph has no {material}"
        yield Finding("nodes.materials-given", what)


def is_complete(nodes: Sequence[Node]) -> bool:
    """Return True if the nodes form a full graph, regardless of the header."""
    return len(nodes) > 1 and all(
        node.kind in LEAVES and NEEDED[node.kind].keys() <= _names(node) for node in nodes
    )


def find_misfits(full: Sequence[Node], update: Sequence[Node]) -> Iterator[Finding]:
    """Yield findings about an update that does not fit the last full graph.

    Paths begin at the root node of the update, or at the list of nodes if the update has no root
    node.
    """
    typed = next((at for at, new in enumerate(update) if new.written and new.kind), None)
    if typed is not None:
        what = f"nodes of an update have types, for example {update[typed].kind!r:.40}"
        yield _of(update, typed, Finding("header.updates-bare", what))
    for place, (node, new) in enumerate(zip(full, update, strict=False)):
        if what := _misfit(node, new):
            yield _of(update, place, Finding("header.partial-fits", f"node {place} {what}"))
            return
        if (new.leaves or new.stray) and node.kind in LEAVES:
            for finding in _wrong_leaves(new, node.kind):
                yield _of(update, place, finding)


def _misfit(node: Node, new: Node) -> str:
    """Explain why a node of an update does not match the full graph.

    Returns an empty string if the two nodes match.
    """
    if len(node.children) != len(new.children):
        below, before = len(new.children), len(node.children)
        return f"({node.kind}) has {below} children in the update and {before} in the full graph"
    if new.kind is not None and new.kind != node.kind:
        return f"is {new.kind!r:.60} in the update and {node.kind} in the full graph"
    if node.kind != "TRF" and "SLT" in _names(new) - _names(node):
        return f"is {node.kind} in the full graph and has the SLT of a TRF in the update"
    return ""


def _names(node: Node) -> set[str]:
    return {str(leaf[0]) for leaf in node.leaves}


def _quote(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 80 else f"{text[:79]}…"
