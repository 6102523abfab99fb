"""Lawful variants of the server in states and scene graphs."""

import re
from dataclasses import replace

from mocks.deviations import variant
from mocks.simspark.monitor_port import Monitor, Tree
from mocks.simspark.robot import Robot
from mocks.simspark.server import Server
from mocks.simspark.settings import PLAY_MODES, Settings
from mocks.simspark.variants.settings import OtherSettings


@variant("merged", of="monitors.apart")
class Merged(OtherSettings):
    """Sends environment and game state in one list, as the published server does."""

    def settings(self, usual: Settings) -> Settings:
        return replace(usual, merged=True)


@variant("rooted", of="graph.nodes")
class Rooted(OtherSettings):
    """Writes the root of the scene graph as a node."""

    def settings(self, usual: Settings) -> Settings:
        return replace(usual, rooted=True)


@variant("typed-updates", of="header.updates-bare")
class TypedUpdates(OtherSettings):
    """Keeps the types of nodes in updates, as the published server does with meshes."""

    def settings(self, usual: Settings) -> Settings:
        return replace(usual, typed=True)


@variant("line-ends", of="text.white-space")
class LineEnds(OtherSettings):
    """Ends each message to a monitor with a line end."""

    def settings(self, usual: Settings) -> Settings:
        return replace(usual, lines=True)


@variant("spacious", of="text.white-space")
class Spacious(Server):
    """Writes blanks and line ends at all places where they have no meaning."""

    def send_state(self, monitor: Monitor, pairs: list[str], scene: str) -> None:
        spaced = scene.replace("(", "( ").replace(")", " )\n")
        super().send_state(monitor, [f" {pair}\r\n" for pair in pairs], f"\t{spaced}")


@variant("full-states", of="state.partial")
class FullStates(Server):
    """Sends every value of the game state in each message, also with updates."""

    def partial_state(self) -> list[str]:
        super().partial_state()
        return self.full_state()


@variant("states-in-another-order", of="state.complete")
class StatesInAnotherOrder(Server):
    """Writes the values of the game state in another order, with additional values."""

    def full_state(self) -> list[str]:
        return ["(team_left Lefts)", *reversed(super().full_state())]

    def partial_state(self) -> list[str]:
        return [*reversed(super().partial_state()), "(wind 0.5 0 0)"]


@variant("exponents", of="state.values")
class Exponents(Server):
    """Writes the time with an exponent."""

    def state(self) -> dict[str, str]:
        return {**super().state(), "time": f"{self.world.time:.6e}"}


@variant("scores-with-a-point", of="state.values")
class ScoresWithAPoint(Server):
    """Writes a point and a zero after whole numbers of the game state."""

    def state(self) -> dict[str, str]:
        state = super().state()
        return {name: text if name == "time" else f"{text}.0" for name, text in state.items()}


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


@variant("base-nodes", of="nodes.base")
class BaseNodes(Server):
    """Puts each robot below two base nodes, next to an empty base node."""

    def robot(self, robot: Robot) -> str:
        return f"(nd BN (nd BN)(nd BN {super().robot(robot)}))"

    def robot_update(self, robot: Robot) -> str:
        return f"(nd (nd)(nd {super().robot_update(robot)}))"


@variant("no-materials", of="nodes.materials-given")
class NoMaterials(Server):
    """Omits materials, as the published server does for meshes without materials."""

    def full_graph(self) -> str:
        return re.sub(r" ?\((?:resetMaterials|sMat) [^)]*\)", "", super().full_graph())


@variant("visible", of="nodes.visible")
class Visible(Server):
    """Writes visibility and transparency of a mesh, before its model."""

    def full_graph(self) -> str:
        leaves = "(setVisible 1) (setTransparent)"
        return re.sub(r"(?=\(load (?!StdCapsule))", leaves, super().full_graph())


@variant("capsules", of="nodes.predefined")
class Capsules(Server):
    """Uses capsules for the goal posts."""

    def cylinder(self, radius: float, length: float) -> str:
        return f"StdCapsule {radius:g} {length:g}"


@variant("ball-with-a-name", of="graph.leaves")
class BallWithAName(Server):
    """Gives the ball an additional leaf."""

    def ball(self) -> str:
        return f"{super().ball()[:-1]}(name ball))"


@variant("scaled", of="nodes.matrix-rigid")
class Scaled(Server):
    """Puts the scale of the field into its transform."""

    def field(self) -> list[str]:
        first, *rest = super().field()
        return [first.replace("(SLT 1 ", "(SLT 30 ", 1), *rest]


@variant("mirrored", of="nodes.matrix-rigid")
class Mirrored(Server):
    """Mirrors the field by its transform."""

    def field(self) -> list[str]:
        first, *rest = super().field()
        return [first.replace("(SLT 1 ", "(SLT -1 ", 1), *rest]


@variant("robots-of-one-piece", of="header.partial-carries-changes")
class RobotsOfOnePiece(Server):
    """Shows only torsos, so no limb can be seen turning."""

    def limb(self, robot: Robot, team: str, limb: Tree) -> str:
        return ""

    def limb_update(self, robot: Robot, told: list[str], limb: Tree) -> str:
        return ""

    def unchanged_robot(self) -> str:
        return self.empty_limbs([], "StaticMesh")


@variant("a-plain-sphere", of="nodes.mesh")
class APlainSphere(Server):
    """Shows the ball as a sphere without a name."""

    def ball(self) -> str:
        size = self.world.settings.environment.BallRadius
        below = self.predefined("StdUnitSphere", (size,) * 3, "matWhite")
        return self.transform_node(self.world.ball_node(), below)

    def ball_update(self) -> str:
        return super().ball_update().replace("StaticMesh", "SMN")
