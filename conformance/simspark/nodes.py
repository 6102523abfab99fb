"""What the nodes of a scene graph must be, and how an update must fit the last full one.

What a node may have is what `schemas/simspark/nodes/` says; the tables here say it once more in a
form that is quick enough for every message of a session.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import hypot
from typing import Any

from conformance.judging.judge import Finding
from conformance.simspark.scene import IDENTITY, Matrix, Node, finite, number, numbers, path

LOOSE = 0.02  # how far an axis may be from a unit at right angles: some write two decimals

BOTTOM = (0, 0, 0, 1)  # the last row of a transform

MESHES = ("StdUnitBox", "StdUnitCylinder", "StdUnitSphere", "StdCapsule")


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

MATERIALS = {"StaticMesh": "resetMaterials", "SMN": "sMat"}
"""By type of mesh: the leaf that names its materials."""

NO_CHILDREN = {
    "StaticMesh": "nodes.geometry-has-no-children",
    "SMN": "nodes.geometry-has-no-children",
    "Light": "graph.nodes",
}


def _wrong_leaves(node: Node, kind: str) -> Iterator[Finding]:
    """What is wrong with what stands in a node; paths lead from there."""
    known = LEAVES[kind]
    seen = set()
    for leaf in node.leaves:
        name = leaf[0]
        if name in seen and name in known:
            what = f"a node {kind} has {name} twice"
            yield _in(node.items, leaf, Finding(known[name].requirement, what))
        seen.add(name)
        if not _sound(kind, leaf):
            for finding in _wrong_leaf(kind, leaf):
                yield _in(node.items, leaf, finding)
    for item in node.stray:
        what = f"{_shown(item)} stands in a node {kind}, and is not a node"
        yield _in(node.items, item, Finding("graph.nodes", what))


def _in(items: Sequence[Any], part: Any, finding: Finding) -> Finding:
    """A finding about a part, as one about the items among which it stands."""
    # None, where an atom stands in the place of the whole graph.
    at = [place for place, item in enumerate(items) if item is part][:1]
    return replace(finding, path=(*at, *finding.path))


def _sound(kind: str, leaf: list[Any]) -> bool:
    try:
        return _known_sound(kind, tuple(leaf))
    except TypeError:  # a list among its values
        return False


@lru_cache(1 << 14)
def _known_sound(kind: str, leaf: tuple[Any, ...]) -> bool:
    # Most of a scene stays as it is, and comes again with every full graph.
    return not any(_wrong_leaf(kind, leaf))


def _wrong_leaf(kind: str, written: Sequence[Any]) -> Iterator[Finding]:
    name, *values = written
    leaf = LEAVES[kind].get(name)
    if leaf is None and any(isinstance(value, list) for value in values):
        yield Finding("graph.nodes", f"{name!r:.40} stands where nd begins a node")
    elif leaf is None:
        at = "nodes.base" if kind == "BN" else "graph.leaves"
        yield Finding(at, f"a node {kind} has the leaf {name}")
    elif not leaf.holds(values):
        odd = _odd(values)
        has = f"{values[odd[0] - 1]} among its {len(values)} values" if odd else _shown(values)
        what = f"{name} of a node {kind} has {has}, not {leaf.words}"
        yield Finding(leaf.requirement, what, path=odd)
    elif name == "SLT":
        yield from _wrong_matrix(finite(tuple(values)) or IDENTITY)
    elif values[:1] == ["StdUnitCylinder"] and not numbers(values[1:], 2):
        what = f"a StdUnitCylinder has the parameters {_shown(values[1:])}, not two numbers"
        yield Finding("nodes.cylinder", what)


def _odd(values: Sequence[Any]) -> tuple[int, ...]:
    """The place in its leaf of the only value that is no number, where the others are."""
    odd = [place for place, value in enumerate(values, 1) if number(value) is None]
    return tuple(odd) if len(odd) == 1 < len(values) else ()


def _wrong_matrix(m: Matrix) -> Iterator[Finding]:
    bottom = (m[3], m[7], m[11], m[15])
    if bottom != BOTTOM and any(
        abs(entry - wanted) > LOOSE for entry, wanted in zip(bottom, BOTTOM, strict=True)
    ):
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
    """What is wrong with a full graph; paths lead from its root, or from the list that lacks it."""
    for place, node in enumerate(nodes):
        for finding in _wrong(node):
            yield _of(nodes, place, finding)


def _of(nodes: Sequence[Node], place: int, finding: Finding) -> Finding:
    """A finding about one of the nodes, as one about all of them."""
    return replace(finding, path=(*path(nodes, place), *finding.path))


def _wrong(node: Node) -> Iterator[Finding]:
    """What is wrong with a node of a full graph."""
    if node.kind is None:
        yield Finding("header.full-is-complete", "a node of a full graph has no type")
        return
    if node.kind not in LEAVES:
        yield Finding("graph.types", f"a node has the type {node.kind!r:.60}")
        return
    yield from _wrong_leaves(node, node.kind)
    if node.children and node.kind in NO_CHILDREN:
        yield Finding(NO_CHILDREN[node.kind], f"a node {node.kind} has nodes below it")
    names = _names(node)
    for name, requirement in NEEDED[node.kind].items():
        if name not in names:
            at = "header.full-is-complete" if not names else requirement
            yield Finding(at, f"a node {node.kind} of a full graph has no {name}")
    material = MATERIALS.get(node.kind)
    if names and material is not None and material not in names:
        what = f"a node {node.kind} of a full graph has no {material}"
        yield Finding("nodes.materials-given", what)


def complete(nodes: Sequence[Node]) -> bool:
    """Whether these are the nodes of a full graph, whatever its header says."""
    return len(nodes) > 1 and all(
        node.kind in LEAVES and NEEDED[node.kind].keys() <= _names(node) for node in nodes
    )


def misfits(full: Sequence[Node], update: Sequence[Node]) -> Iterator[Finding]:
    """What of an update does not fit the full graph before it; paths lead as in that."""
    typed = next((at for at, new in enumerate(update) if new.written and new.kind), None)
    if typed is not None:
        what = f"nodes keep their types in an update, such as {update[typed].kind!r:.40}"
        yield _of(update, typed, Finding("header.updates-bare", what))
    for place, (node, new) in enumerate(zip(full, update, strict=False)):
        if what := _misfit(node, new):
            yield _of(update, place, Finding("header.partial-fits", f"node {place} {what}"))
            return
        if (new.leaves or new.stray) and node.kind in LEAVES:
            for finding in _wrong_leaves(new, node.kind):
                yield _of(update, place, finding)


def _misfit(node: Node, new: Node) -> str:
    """Why a node of an update cannot be that of the full graph; empty if it can."""
    if len(node.children) != len(new.children):
        below, before = len(new.children), len(node.children)
        return (
            f"({node.kind}) has {below} nodes below it in an update, and {before} in the full graph"
        )
    if new.kind is not None and new.kind != node.kind:
        return f"is {new.kind!r:.60} in an update, and was {node.kind}"
    if node.kind != "TRF" and "SLT" in _names(new) - _names(node):
        return f"was {node.kind}, and has the SLT of a TRF in an update"
    return ""


def _names(node: Node) -> set[str]:
    return {str(leaf[0]) for leaf in node.leaves}


def _shown(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 80 else f"{text[:79]}…"
