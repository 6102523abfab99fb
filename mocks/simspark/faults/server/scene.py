"""Faults of the server in the contents of scene graphs."""

import re
from math import dist

from mocks.deviations import fault
from mocks.simspark.monitor_port import HEADER_PARTIAL, Monitor, Tree
from mocks.simspark.robot import Robot
from mocks.simspark.server import Server

_TRANSFORM = re.compile(r"\(SLT [^)]*\)")


@fault("trailing-nodes-left-out", violates="header.partial-fits")
class TrailingNodesLeftOut(Server):
    """Omits the robots in updates."""

    def partial_graph(self) -> str:
        robots, self.world.robots = self.world.robots, []
        text = super().partial_graph()
        self.world.robots = robots
        return text


@fault("unchanged-robots-empty", violates="header.partial-fits", subtle=True)
class UnchangedRobotsEmpty(Server):
    """Writes a single empty node for an unchanged robot."""

    def unchanged_robot(self) -> str:
        return "(nd)"


@fault("still-limbs-left-out", violates="header.partial-fits", subtle=True)
class StillLimbsLeftOut(Server):
    """Omits the parts attached to one limb in the update of a moving robot."""

    def limb_update(self, robot: Robot, told: list[str], limb: Tree) -> str:
        place, hanging = limb
        return super().limb_update(robot, told, (place, hanging[:0] if place == 4 else hanging))


@fault("ball-moved-by-its-mesh", violates="header.partial-fits", subtle=True)
class BallMovedByItsMesh(Server):
    """Writes the transform of a moving ball into its mesh node."""

    def ball_update(self) -> str:
        text = super().ball_update()
        begin, slt, rest = text.partition("(SLT ")
        numbers, end, mesh = rest.partition(")")
        return f"{begin}{mesh[:-2]}{slt}{numbers}{end}))" if slt else text


@fault("updates-in-another-order", violates="header.partial-carries-changes", subtle=True)
class UpdatesInAnotherOrder(Server):
    """Writes the robots of an update in reverse order."""

    def partial_graph(self) -> str:
        self.world.robots.reverse()
        text = super().partial_graph()
        self.world.robots.reverse()
        return text


@fault("first-monitor-sees", violates="header.partial-carries-changes", subtle=True)
class FirstMonitorSees(Server):
    """Sends movements only to the first monitor of its list."""

    def tell_monitor(self, monitor: Monitor, pairs: list[str], scene: str) -> None:
        if monitor is not self.monitors[0] and scene.startswith(HEADER_PARTIAL):
            scene = _TRANSFORM.sub("", scene)
        super().tell_monitor(monitor, pairs, scene)


@fault("first-monitor-sees-until-full", violates="header.partial-carries-changes", subtle=True)
class FirstMonitorSeesUntilFull(FirstMonitorSees):
    """Sends movements only to the first monitor, and everything to all monitors every 60 cycles."""

    def tell_monitors(self) -> None:
        self.full_wanted |= self.cycles % 60 == 0
        super().tell_monitors()


class _Unmoved(Server):
    """Base class: does not update the ball after a movement shorter than `enough`."""

    enough: float  # metres

    def ball_update(self) -> str:
        now = self.world.ball_node()
        places = [list(map(float, text.split()))[12:14] for text in (now, self.ball_told) if text]
        if len(places) < 2 or dist(*places) >= self.enough:
            return super().ball_update()
        self.leave(now)
        return f"{self.transform_update(now, now)}{self.empty_mesh('StaticMesh')})"

    def leave(self, now: str) -> None:
        """Called after a movement shorter than `enough`; `now` is the new transform."""


@fault("coarse-updates", violates="header.partial-carries-changes", subtle=True)
class CoarseUpdates(_Unmoved):
    """Updates the ball only after a movement of half a metre."""

    enough = 0.5


@fault("rises-not-updated", violates="header.partial-carries-changes", subtle=True)
class RisesNotUpdated(_Unmoved):
    """Updates the ball only after a horizontal movement."""

    enough = 0.001


@fault("ball-not-updated", violates="header.partial-carries-changes")
class BallNotUpdated(_Unmoved):
    """Updates the ball only in full graphs."""

    enough = 1000.0


@fault("steps-not-added-up", violates="header.partial-carries-changes", subtle=True)
class StepsNotAddedUp(_Unmoved):
    """Updates the ball only after a movement of 4 cm since the last message."""

    enough = 0.04

    def leave(self, now: str) -> None:
        self.ball_told = now


@fault("limbs-not-updated", violates="header.partial-carries-changes")
class LimbsNotUpdated(Server):
    """Never updates the transforms of limbs."""

    def limb_update(self, robot: Robot, told: list[str], limb: Tree) -> str:
        return super().limb_update(robot, list(robot.nodes), limb)


@fault("only-torsos-wake-limbs", violates="header.partial-carries-changes", subtle=True)
class OnlyTorsosWakeLimbs(Server):
    """Updates the limbs of a robot only if its torso has moved."""

    def robot_update(self, robot: Robot) -> str:
        told = self.nodes_told.get(id(robot), [""])
        return self.unchanged_robot() if told[0] == robot.nodes[0] else super().robot_update(robot)


@fault("node", violates="graph.nodes")
class WordNode(Server):
    """Begins predefined meshes with node instead of nd."""

    def full_graph(self) -> str:
        return super().full_graph().replace("(nd SMN", "(node SMN")


@fault("light-unwrapped", violates="graph.nodes", subtle=True)
class LightUnwrapped(Server):
    """Writes a bare word into the first node of the field."""

    def field(self) -> list[str]:
        first, *rest = super().field()
        return [first[:-1] + " field)", *rest]


@fault("long-types", violates="graph.types")
class LongTypes(Server):
    """Writes the type of transforms unabbreviated."""

    def transform_node(self, numbers: str, below: str) -> str:
        return super().transform_node(numbers, below).replace("nd TRF", "nd Transform", 1)


@fault("camera", violates="graph.types", subtle=True)
class Camera(Server):
    """Adds a node of an unknown type to each robot."""

    def robot(self, robot: Robot) -> str:
        return super().robot(robot)[:-1] + "(nd Camera))"

    def robot_update(self, robot: Robot) -> str:
        return super().robot_update(robot)[:-1] + "(nd))"


@fault("long-leaves", violates="graph.leaves")
class LongLeaves(Server):
    """Writes the scale of meshes unabbreviated."""

    def mesh(self, path: str, size: float, *materials: str) -> str:
        return super().mesh(path, size, *materials).replace("sSc", "setScale")


@fault("named-torsos", violates="graph.leaves", subtle=True)
class NamedTorsos(Server):
    """Adds a leaf with the name of the player to the torso of a robot."""

    def robot(self, robot: Robot) -> str:
        return super().robot(robot)[:-1] + f"(name player{robot.unum}))"


@fault("absolute-poses", violates="graph.poses", subtle=True)
class AbsolutePoses(Server):
    """Writes the position on the field for a ball below another transform."""

    def ball(self) -> str:
        return self.transform_node("1 0 0 0 0 1 0 0 0 0 1 0 2 1 0 1", super().ball())

    def ball_update(self) -> str:
        return f"{self.empty_transform()}{super().ball_update()})"


@fault("named-base-nodes", violates="nodes.base")
class NamedBaseNodes(Server):
    """Puts each robot below a base node that has a name."""

    def robot(self, robot: Robot) -> str:
        return f"(nd BN (name player{robot.unum}){super().robot(robot)})"

    def robot_update(self, robot: Robot) -> str:
        return f"(nd {super().robot_update(robot)})"


@fault("twelve-numbers", violates="nodes.transform")
class TwelveNumbers(Server):
    """Omits the last row of transforms."""

    def transform_node(self, numbers: str, below: str) -> str:
        entries = numbers.split()
        kept = [entry for place, entry in enumerate(entries) if place % 4 != 3]
        return super().transform_node(" ".join(kept), below)


@fault("short-updates", violates="nodes.transform", subtle=True)
class ShortUpdates(Server):
    """Omits the rotation of the ball in updates."""

    def ball_update(self) -> str:
        return re.sub(r"\(SLT (\S+ ){12}", "(SLT ", super().ball_update())


@fault("row-by-row", violates="nodes.matrix-by-columns")
class RowByRow(Server):
    """Writes transforms row by row."""

    def transform_node(self, numbers: str, below: str) -> str:
        entries = numbers.split()
        rows = [entries[column + row] for row in range(4) for column in (0, 4, 8, 12)]
        return super().transform_node(" ".join(rows), below)


@fault("last-number-zero", violates="nodes.matrix-by-columns", subtle=True)
class LastNumberZero(Server):
    """Ends the transforms of updates with 0."""

    def transform_update(self, numbers: str, told: str) -> str:
        return super().transform_update(numbers, told).replace(" 1 )", " 0 )")


@fault("mirrored-turns", violates="nodes.matrix-rigid", subtle=True)
class MirroredTurns(Server):
    """Mirrors the transform of a turned hinge."""

    def limb_update(self, robot: Robot, told: list[str], limb: Tree) -> str:
        text = super().limb_update(robot, told, limb)
        return text.replace(" 0 0 -0.", " 0 0 0.") if limb[0] == 0 else text


@fault("nodes-below-meshes", violates="nodes.geometry-has-no-children", subtle=True)
class NodesBelowMeshes(Server):
    """Puts a node below the mesh of the torso."""

    def robot(self, robot: Robot) -> str:
        text = super().robot(robot)
        end = text.index(")(nd TRF (SLT", 20)
        return f"{text[:end]}(nd BN){text[end:]}"


@fault("shadows-below-boxes", violates="nodes.geometry-has-no-children")
class ShadowsBelowBoxes(Server):
    """Puts a node below every predefined mesh."""

    def predefined(self, kind: str, size: tuple[float, float, float], material: str) -> str:
        return super().predefined(kind, size, material)[:-1] + "(nd BN))"


@fault("no-scale", violates="nodes.mesh")
class NoScale(Server):
    """Omits the scale of meshes."""

    def mesh(self, path: str, size: float, *materials: str) -> str:
        scale = f"(sSc {size:g} {size:g} {size:g})"
        return super().mesh(path, size, *materials).replace(scale, "")


@fault("one-scale", violates="nodes.mesh", subtle=True)
class OneScale(Server):
    """Writes the scale of the ball as one number."""

    def ball(self) -> str:
        size = self.world.settings.environment.BallRadius
        return super().ball().replace(f"{size:g} {size:g} {size:g}", f"{size:g}")


@fault("plane", violates="nodes.predefined")
class Plane(Server):
    """Uses an unknown type of predefined mesh."""

    def predefined(self, kind: str, size: tuple[float, float, float], material: str) -> str:
        return super().predefined(kind.replace("Box", "Plane"), size, material)


@fault("lower-case-spheres", violates="nodes.predefined", subtle=True)
class LowerCaseSpheres(Server):
    """Writes the type of the spheres of limbs in lower case."""

    def predefined(self, kind: str, size: tuple[float, float, float], material: str) -> str:
        return super().predefined(kind.replace("Sphere", "sphere"), size, material)


@fault("cylinder-of-one", violates="nodes.cylinder")
class CylinderOfOne(Server):
    """Writes cylinders with their length only."""

    def cylinder(self, radius: float, length: float) -> str:
        return f"StdUnitCylinder {length:g}"


@fault("cylinder-with-units", violates="nodes.cylinder", subtle=True)
class CylinderWithUnits(Server):
    """Writes the radius of cylinders with a unit."""

    def cylinder(self, radius: float, length: float) -> str:
        return f"StdUnitCylinder {100 * radius:g}cm {length:g}"


@fault("visible-true", violates="nodes.visible", subtle=True)
class VisibleTrue(Server):
    """Writes true for a visible mesh."""

    def mesh(self, path: str, size: float, *materials: str) -> str:
        return super().mesh(path, size, *materials).replace("(load", "(setVisible true)(load")


@fault("two-materials", violates="nodes.materials", subtle=True)
class TwoMaterials(Server):
    """Writes two names after sMat."""

    def predefined(self, kind: str, size: tuple[float, float, float], material: str) -> str:
        return super().predefined(kind, size, f"{material} matShadow")


@fault("light-of-three", violates="nodes.light")
class LightOfThree(Server):
    """Writes colours with three numbers."""

    def light(self) -> str:
        return super().light().replace("1 1 1 1)", "1 1 1)").replace("0.8 1)", "0.8)")


@fault("no-specular", violates="nodes.light", subtle=True)
class NoSpecular(Server):
    """Omits the specular light."""

    def light(self) -> str:
        return super().light().replace(" (setSpecular 0.1 0.1 0.1 1)", "")


@fault("typed-robots", violates="header.updates-bare", subtle=True)
class TypedRobots(Server):
    """Keeps the types of torsos in updates."""

    def robot_update(self, robot: Robot) -> str:
        return super().robot_update(robot).replace("(nd ", "(nd TRF ", 1)


@fault("ball-without-material", violates="nodes.materials-given", subtle=True)
class BallWithoutMaterial(Server):
    """Omits the materials of the ball."""

    def ball(self) -> str:
        return re.sub(r"\(resetMaterials [^)]*\)", "", super().ball())
