"""Faults of the monitor in reading scene graphs."""

from math import dist
from typing import Any

from conformance.simspark.messages import UPRIGHT
from conformance.simspark.scene import Matrix, Scene
from conformance.simspark.view import View
from mocks.deviations import fault
from mocks.simspark.faults.monitor.following import Viewing


class _Changing(View):
    """Changes every list of the graphs after one header name, before it reads them."""

    header: str

    def take(self, value: Any) -> None:
        if value[1:2] and value[1][:1] == [self.header]:
            value = [*value[:2], self._change_lists(value[2])]
        super().take(value)

    def _change_lists(self, graph: Any) -> Any:
        return self.change([*map(self._change_lists, graph)]) if isinstance(graph, list) else graph

    def change(self, parts: list[Any]) -> list[Any]:
        """Return the replacement of a list whose parts are changed already."""
        raise NotImplementedError


class _OneScene(View):
    def take(self, value: Any) -> None:
        later = self.scene is not None and value[1:2] and value[1][:1] == ["RSG"]
        super().take(value[:1] if later else value)


@fault("first-scene-only", violates="header.full-applied")
class FirstSceneOnly(Viewing):
    """Keeps the first full graph, ignores later ones, and applies updates to the first."""

    view_of_its_own = _OneScene


class _EarlyScenes(View):
    came = 0

    def take(self, value: Any) -> None:
        self.came += 1
        late = self.came > 100 and value[1:2] and value[1][:1] == ["RSG"]
        super().take(value[:1] if late else value)


@fault("no-late-scenes", violates="header.full-applied", subtle=True)
class NoLateScenes(Viewing):
    """Ignores full graphs after the first hundred messages."""

    view_of_its_own = _EarlyScenes


class _BallByPlace(View):
    place: int | None = None

    def ball(self) -> tuple[float, float, float] | None:
        if self.place is None and (found := super().ball()):
            self.place = next(i for i, at in enumerate(self.poses) if at[12:15] == found)
        if self.place is None or self.place >= self.nodes:
            return None
        at = self.poses[self.place]
        return at[12], at[13], at[14]


@fault("ball-by-place", violates="header.full-applied", subtle=True)
class BallByPlace(Viewing):
    """Finds the ball once, and later uses only the index of its node."""

    view_of_its_own = _BallByPlace


class _NoUpdates(_Changing):
    header = "RDS"

    def change(self, parts: list[Any]) -> list[Any]:
        return []


@fault("updates-not-applied", violates="header.partial-applied")
class UpdatesNotApplied(Viewing):
    """Ignores updates, so the scene stays as in the last full graph."""

    view_of_its_own = _NoUpdates


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


@fault("empty-nodes-reset", violates="header.partial-applied", subtle=True)
class EmptyNodesReset(Viewing):
    """Resets nodes that an update leaves empty to their state in the last full graph."""

    view_of_its_own = _Resetting


class _PassingOver(_Changing):
    header = "RDS"

    def change(self, parts: list[Any]) -> list[Any]:
        return sorted(parts, key=lambda part: part == ["nd"])


@fault("empty-nodes-passed-over", violates="header.partial-applied", subtle=True)
class EmptyNodesPassedOver(Viewing):
    """Ignores empty nodes, so updated nodes after them change the wrong nodes."""

    view_of_its_own = _PassingOver


class _HiddenNotCounted(_Changing):
    header = "RDS"

    def change(self, parts: list[Any]) -> list[Any]:
        return [part for part in parts if part != ["nd", ["setVisible", "0"]]]


@fault("hidden-nodes-not-counted", violates="header.partial-applied", subtle=True)
class HiddenNodesNotCounted(Viewing):
    """Ignores nodes that become invisible, so updates after them change the wrong nodes."""

    view_of_its_own = _HiddenNotCounted


class _Unturned(_Changing):
    header = "RDS"

    def change(self, parts: list[Any]) -> list[Any]:
        return ["SLT", *UPRIGHT.split(), *parts[13:]] if parts[:1] == ["SLT"] else parts


@fault("updates-never-turn", violates="header.partial-applied", subtle=True)
class UpdatesNeverTurn(Viewing):
    """Reads only the translation of a transform in an update, not the rotation."""

    view_of_its_own = _Unturned


class _Coarse(View):
    def take(self, value: Any) -> None:
        before = list(self.scene.locals) if self.scene else []
        super().take(value)
        now = self.scene.locals if self.scene else []
        if value[1][:1] == ["RDS"] and len(now) == len(before):
            for place, old in enumerate(before):
                if dist(old[12:15], now[place][12:15]) < 0.1:
                    now[place] = old


@fault("small-moves-passed-over", violates="header.partial-applied", subtle=True)
class SmallMovesPassedOver(Viewing):
    """Ignores movements of less than ten centimetres."""

    view_of_its_own = _Coarse


class _Local(View):
    @property
    def poses(self) -> list[Matrix]:
        return list(self.scene.locals) if self.scene else []


@fault("own-transforms-only", violates="graph.poses-known")
class OwnTransformsOnly(Viewing):
    """Takes the transform directly above a node for the pose of the node."""

    view_of_its_own = _Local

    def state(self) -> dict[str, Any]:
        told = super().state()
        scene = self.view.scene
        for number, node in enumerate(scene.nodes if scene else []):
            for child in node.children:
                if scene and any("ball" in str(leaf) for leaf in scene.nodes[child].leaves):
                    told["ball"] = list(scene.locals[number][12:15])
        return told


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


@fault("sums-of-places", violates="graph.poses-known", subtle=True)
class SumsOfPlaces(Viewing):
    """Adds up the translations along the path, and ignores rotations."""

    view_of_its_own = _Sums


class _Unlit(_Changing):
    header = "RSG"

    def change(self, parts: list[Any]) -> list[Any]:
        return [part for part in parts if part[:2] != ["nd", "Light"]]


@fault("lights-not-counted", violates="header.partial-applied", subtle=True)
class LightsNotCounted(Viewing):
    """Drops the lights of a full graph, so updates after them change the wrong nodes."""

    view_of_its_own = _Unlit


class _Few(View):
    @property
    def poses(self) -> list[Matrix]:
        found = super().poses
        return [*found[:512], *found[:1] * (len(found) - 512)]


@fault("five-hundred-nodes", violates="graph.poses-known", subtle=True)
class FiveHundredNodes(Viewing):
    """Knows the positions of only the first 512 nodes of a scene."""

    view_of_its_own = _Few


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


@fault("thirty-two-levels", violates="graph.poses-known", subtle=True)
class ThirtyTwoLevels(Viewing):
    """Ignores transforms more than 32 levels deep."""

    view_of_its_own = _Shallow


class _NoBaseNodes(_Changing):
    header = "RSG"

    def change(self, parts: list[Any]) -> list[Any]:
        return [part for part in parts if not (isinstance(part, list) and part[:2] == ["nd", "BN"])]


@fault("base-nodes-dropped", violates="nodes.base-kept")
class BaseNodesDropped(Viewing):
    """Drops base nodes below the root, with all their child nodes."""

    view_of_its_own = _NoBaseNodes


class _EmptyBaseNodes(_Changing):
    header = "RSG"

    def change(self, parts: list[Any]) -> list[Any]:
        return [part for part in parts if part != ["nd", "BN"]]


@fault("empty-base-nodes-not-counted", violates="nodes.base-kept", subtle=True)
class EmptyBaseNodesNotCounted(Viewing):
    """Drops base nodes without child nodes, so updates after them change the wrong nodes."""

    view_of_its_own = _EmptyBaseNodes
