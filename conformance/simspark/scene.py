"""The scene graph: its nodes, how an update is applied, and the poses of nodes.

Nodes are kept in the order in which they are written, each with the indices of its children.
Therefore no function here recurses.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from math import isfinite
from typing import Any

Matrix = tuple[float, ...]
"""Sixteen numbers in column order: three axes, each followed by 0, a translation in metres, and 1.
"""

IDENTITY: Matrix = (1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0)

_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_NUMBERS = re.compile(rf"(?:{_NUMBER.pattern}(?: (?!$)|$))*")


def number(text: Any) -> float | None:
    """Return the finite number that an atom spells, or None."""
    if not isinstance(text, str) or not _NUMBER.fullmatch(text):
        return None
    value = float(text)
    return value if isfinite(value) else None


def numbers(values: Sequence[Any], count: int) -> bool:
    return len(values) == count and finite(tuple(values)) is not None


def finite(atoms: tuple[Any, ...]) -> Matrix | None:
    """Return the finite numbers that the atoms spell, or None if one is invalid."""
    try:
        return _known(atoms)
    except TypeError:  # the atoms contain a list
        return None


@lru_cache(1 << 11)
def _known(atoms: tuple[str, ...]) -> tuple[float, ...] | None:
    # Most of a scene does not move, and each transform is read several times. The cache has room
    # for twice the transforms of a full match. An entry takes about 2 kB.
    if not _NUMBERS.fullmatch(" ".join(atoms)):
        return None
    values = tuple(map(float, atoms))
    return values if all(map(isfinite, values)) else None


@dataclass(slots=True)
class Node:
    """A node as written: its type (None if omitted), leaves and child indices."""

    kind: str | None
    leaves: list[list[Any]]
    children: list[int] = field(default_factory=list)
    written: bool = True
    """False for a root node that the text leaves out."""
    stray: list[Any] = field(default_factory=list)
    """Other items: further words, empty lists, lists of lists."""
    items: Sequence[Any] = ()
    """The list that the node is written as.

    For a root node that is left out, this is the list of its children.
    """


_NODE = "nd"
_BARE = Node(None, [])
"""An empty node, shared by most places of an update; it must never be changed."""


def parse(graph: Any) -> list[Node]:
    """Return all nodes of a graph, parents before children.

    The first node is the root, even if the text leaves it out.
    """
    if not isinstance(graph, list):
        return [Node("BN", [], stray=[graph])]
    written = graph[:1] == [_NODE]
    nodes: list[Node] = []
    waiting: list[tuple[list[Any], Node | None]] = [
        (graph if written else [_NODE, "BN", *graph], None)
    ]
    while waiting:
        items, above = waiting.pop()
        if above is not None:
            above.children.append(len(nodes))
            if len(items) == 1:
                nodes.append(_BARE)
                continue
        kind = items[1] if len(items) > 1 and isinstance(items[1], str) else None
        stands = written or above is not None
        node = Node(kind, [], [], stands, [], items if stands else graph)
        nodes.append(node)
        below = []
        for item in items[1 if kind is None else 2 :]:
            if not isinstance(item, list) or not item or not isinstance(item[0], str):
                node.stray.append(item)
            elif item[0] == _NODE:
                below.append((item, node))
            else:
                node.leaves.append(item)
        if below:
            below.reverse()
            waiting += below
    return nodes


def path(nodes: Sequence[Node], number: int) -> tuple[int, ...]:
    """Return the path to the node with this index.

    The path begins at the root node, or at the list of nodes if the text leaves the root out.
    """
    steps: list[int] = []
    for above in range(number - 1, -1, -1):
        node = nodes[above]
        if number in node.children:
            below = (place for place, item in enumerate(node.items) if item[:1] == [_NODE])
            steps.append(list(below)[node.children.index(number)])
            number = above
    return (*reversed(steps),)


def matrix(node: Node) -> Matrix:
    """Return the transform of a node; the identity if it has no valid SLT."""
    for name, *values in node.leaves:
        if name == "SLT" and len(values) == 16 and (found := finite(tuple(values))):
            return found
    return IDENTITY


def product(one: Matrix, other: Matrix) -> Matrix:
    a0, a1, a2, a3, b0, b1, b2, b3, c0, c1, c2, c3, d0, d1, d2, d3 = one
    found: list[float] = []
    for column in (0, 4, 8, 12):
        x, y, z, w = other[column : column + 4]
        found += (
            a0 * x + b0 * y + c0 * z + d0 * w,
            a1 * x + b1 * y + c1 * z + d1 * w,
            a2 * x + b2 * y + c2 * z + d2 * w,
            a3 * x + b3 * y + c3 * z + d3 * w,
        )
    return tuple(found)


class Scene:
    """A full graph, kept up to date by the updates that follow it.

    `nodes` are the nodes as written in the full graph. `locals` are their current transforms,
    relative to the parent.
    """

    def __init__(self, graph: Any) -> None:
        self.nodes = parse(graph)
        self.locals = [matrix(node) for node in self.nodes]
        self._shape = [node.children for node in self.nodes]
        self._last: Any = None
        self._poses: list[Matrix] = []

    def update(self, graph: Any) -> list[Node]:
        """Apply an update and return its nodes.

        Transforms change only if the update has the shape of the full graph. An update that equals
        the previous one returns an empty list, which is the usual case if nothing moves.
        """
        if graph == self._last:
            return []
        self._last = graph
        self._poses = []
        written = parse(graph)
        if [node.children for node in written] == self._shape:
            for place, node in enumerate(written):
                if node.leaves and any(leaf[0] == "SLT" for leaf in node.leaves):
                    self.locals[place] = matrix(node)
        return written

    def poses(self) -> list[Matrix]:
        """Return the pose of every node in the coordinates of the root."""
        if not self._poses:
            found = [IDENTITY] * len(self.nodes)
            found[0] = self.locals[0]
            for place, node in enumerate(self.nodes):
                for child in node.children:
                    local = self.locals[child]
                    found[child] = (
                        found[place] if local is IDENTITY else product(found[place], local)
                    )
            self._poses = found
        return self._poses
