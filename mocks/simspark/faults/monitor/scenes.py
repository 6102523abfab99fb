"""Faults of the monitor in reading scene graphs."""

from collections.abc import Callable
from math import dist
from typing import Any

from conformance.simspark.messages import UPRIGHT
from conformance.simspark.scene import Matrix, Scene, parse
from conformance.simspark.view import View
from mocks.deviations import Fault, Subtle, Table, fault
from mocks.simspark.faults.monitor.following import views
from mocks.simspark.monitor import Monitor
from mocks.steps import Change


def graphs(header: str, change: Callable[[list[Any]], list[Any]]) -> Change:
    """Change every list of the graphs after one header name.

    `change` returns the replacement of a list whose parts are changed already.
    """

    def changed(graph: Any) -> Any:
        return change([*map(changed, graph)]) if isinstance(graph, list) else graph

    class Changing(View):
        def take(self, value: Any) -> None:
            if value[1:2] and value[1][:1] == [header]:
                value = [*value[:2], changed(value[2])]
            super().take(value)

    return views(Changing)


def drops(header: str, holds: Callable[[Any], bool]) -> Change:
    """Drop parts of the graphs after one header name."""
    return graphs(header, lambda parts: [part for part in parts if not holds(part)])


def _unturned(parts: list[Any]) -> list[Any]:
    return ["SLT", *UPRIGHT.split(), *parts[13:]] if parts[:1] == ["SLT"] else parts


def _without_children(parts: list[Any]) -> list[Any]:
    updated = any(part[:1] == ["SLT"] for part in parts)
    return [["nd"] if updated and part[:1] == ["nd"] else part for part in parts]


class _OneScene(View):
    def take(self, value: Any) -> None:
        later = self.scene is not None and value[1:2] and value[1][:1] == ["RSG"]
        super().take(value[:1] if later else value)


class _EarlyScenes(View):
    came = 0

    def take(self, value: Any) -> None:
        self.came += 1
        late = self.came > 100 and value[1:2] and value[1][:1] == ["RSG"]
        super().take(value[:1] if late else value)


class _BallByPlace(View):
    place: int | None = None

    def ball(self) -> tuple[float, float, float] | None:
        if self.place is None and (found := super().ball()):
            self.place = next(i for i, at in enumerate(self.poses) if at[12:15] == found)
        if self.place is None or self.place >= self.nodes:
            return None
        at = self.poses[self.place]
        return at[12], at[13], at[14]


class _Resetting(View):
    def take(self, value: Any) -> None:
        if self.scene is not None and value[1:2] and value[1][:1] == ["RDS"]:
            fresh = Scene([])
            fresh.nodes = self.scene.nodes
            fresh.locals = [self._written(node) for node in fresh.nodes]
            self.scene = fresh
        super().take(value)

    def _written(self, node: Any) -> Matrix:
        return Scene([["nd", node.kind or "BN", *node.leaves]]).locals[1]


class _Replacing(View):
    def take(self, value: Any) -> None:
        super().take(value)
        if self.scene is not None and value[1:2] and value[1][:1] == ["RDS"]:
            for node, update in zip(self.scene.nodes, parse(value[2]), strict=False):
                node.leaves[:] = update.leaves or node.leaves


class _Coarse(View):
    def take(self, value: Any) -> None:
        before = list(self.scene.locals) if self.scene else []
        super().take(value)
        now = self.scene.locals if self.scene else []
        if value[1][:1] == ["RDS"] and len(now) == len(before):
            for place, old in enumerate(before):
                if dist(old[12:15], now[place][12:15]) < 0.1:
                    now[place] = old


class _Local(View):
    @property
    def poses(self) -> list[Matrix]:
        return list(self.scene.locals) if self.scene else []


class _Sums(View):
    @property
    def poses(self) -> list[Matrix]:
        if self.scene is None:
            return []
        found = list(self.scene.locals)
        for place, node in enumerate(self.scene.nodes):
            for child in node.children:
                own, above = self.scene.locals[child], found[place]
                found[child] = (*own[:12], *(own[i] + above[i] for i in (12, 13, 14)), 1.0)
        return found


class _Few(View):
    @property
    def poses(self) -> list[Matrix]:
        found = super().poses
        return [*found[:512], *found[:1] * (len(found) - 512)]


class _Shallow(View):
    @property
    def poses(self) -> list[Matrix]:
        found = super().poses
        depth = [0] * len(found)
        for place, node in enumerate(self.scene.nodes if self.scene else ()):
            for child in node.children:
                depth[child] = depth[place] + 1
                if depth[child] > 32:
                    found[child] = found[place]
        return found


FAULTS = Table(Monitor)

FAULTS["header.full-applied"] = {
    "first-scene-only": Fault(
        "Keeps the first full graph, ignores later ones, and applies updates to the first.",
        views(_OneScene),
    ),
    "no-late-scenes": Subtle(
        "Ignores full graphs after the first hundred messages.", views(_EarlyScenes)
    ),
    "ball-by-place": Subtle(
        "Finds the ball once, and later uses only the index of its node.", views(_BallByPlace)
    ),
}

FAULTS["header.partial-applied"] = {
    "updates-not-applied": Fault(
        "Ignores updates, so the scene stays as in the last full graph.",
        graphs("RDS", lambda parts: []),
    ),
    "stops-at-updated-nodes": Subtle(
        "Ignores the updates of nodes below an updated node.", graphs("RDS", _without_children)
    ),
    "empty-nodes-reset": Subtle(
        "Resets nodes that an update leaves empty to their state in the last full graph.",
        views(_Resetting),
    ),
    "empty-nodes-passed-over": Subtle(
        "Ignores empty nodes, so updated nodes after them change the wrong nodes.",
        graphs("RDS", lambda parts: sorted(parts, key=lambda part: part == ["nd"])),
    ),
    "hidden-nodes-not-counted": Subtle(
        "Ignores nodes that become invisible, so updates after them change the wrong nodes.",
        drops("RDS", lambda part: part == ["nd", ["setVisible", "0"]]),
    ),
    "updates-never-turn": Subtle(
        "Reads only the translation of a transform in an update, not the rotation.",
        graphs("RDS", _unturned),
    ),
    "leaves-replaced": Subtle(
        "Replaces all leaves of a node by those of an update, so a mesh loses its model.",
        views(_Replacing),
    ),
    "small-moves-passed-over": Subtle(
        "Ignores movements of less than ten centimetres.", views(_Coarse)
    ),
    "lights-not-counted": Subtle(
        "Drops the lights of a full graph, so updates after them change the wrong nodes.",
        drops("RSG", lambda part: part[:2] == ["nd", "Light"]),
    ),
}

FAULTS["graph.poses-known"] = {
    "sums-of-places": Subtle(
        "Adds up the translations along the path, and ignores rotations.", views(_Sums)
    ),
    "five-hundred-nodes": Subtle(
        "Knows the positions of only the first 512 nodes of a scene.", views(_Few)
    ),
    "thirty-two-levels": Subtle("Ignores transforms more than 32 levels deep.", views(_Shallow)),
}

FAULTS["nodes.base-kept"] = {
    "base-nodes-dropped": Fault(
        "Drops base nodes below the root, with all their child nodes.",
        drops("RSG", lambda part: part[:2] == ["nd", "BN"]),
    ),
    "empty-base-nodes-not-counted": Subtle(
        "Drops base nodes without child nodes, so updates after them change the wrong nodes.",
        drops("RSG", lambda part: part == ["nd", "BN"]),
    ),
}


@fault("own-transforms-only", violates="graph.poses-known")
class OwnTransformsOnly(Monitor):
    """Takes the transform directly above a node for the pose of the node."""

    def make_view(self) -> View:
        return _Local()

    def state(self) -> dict[str, Any]:
        told = super().state()
        scene = self.view.scene
        for number, node in enumerate(scene.nodes if scene else []):
            for child in node.children:
                if scene and any("ball" in str(leaf) for leaf in scene.nodes[child].leaves):
                    told["ball"] = list(scene.locals[number][12:15])
        return told
