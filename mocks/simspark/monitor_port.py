"""The side of the server for monitors: receives commands, sends states and scene graphs."""

from dataclasses import asdict

from conformance.codec import Frame
from mocks.simspark.connection import Connection, Endpoint
from mocks.simspark.robot import PARTS, Robot, transform
from mocks.simspark.settings import PLAY_MODES
from mocks.simspark.world import World

HEADER_FULL, HEADER_PARTIAL = "(RSG 0 1)", "(RDS 0 1)"

Tree = tuple[int, list["Tree"]]
"""An index of a part of the body, and the parts attached to it."""


def _parts_on(place: int) -> list[Tree]:
    return [(at, _parts_on(at)) for at, part in enumerate(PARTS) if part.on == place]


BODY = _parts_on(-1)


class Monitor(Connection):
    """A monitor. `missed` is True after a message was skipped because the monitor did not read."""

    missed = False

    def __init__(self, port: "MonitorPort", number: int) -> None:
        super().__init__(port, number)
        self._port = port

    def opened(self) -> None:
        self._port.welcome(self)
        self._port.monitors.append(self)

    def heed(self, frame: Frame) -> None:
        self._port.hear_monitor(self, frame)

    async def leave(self) -> None:
        self._port.monitor_left(self)
        await super().leave()


class MonitorPort(Endpoint):
    """Serves all monitors. Every monitor receives the same changes since the last message."""

    world: World
    monitors: list[Monitor]
    full_wanted: bool
    structure_told = 0
    state_told: dict[str, str]
    nodes_told: dict[int, list[str]]
    ball_told = ""

    # The game state

    def environment(self) -> list[str]:
        """Return the environment information as a list of pairs."""
        values = asdict(self.world.settings.environment)
        pairs = [self.environment_pair(name, value) for name, value in values.items()]
        return [*pairs, self.play_modes()]

    def environment_pair(self, name: str, value: float) -> str:
        return f"({name} {value:g})"

    def play_modes(self) -> str:
        return f"(play_modes {' '.join(PLAY_MODES)})"

    def state(self) -> dict[str, str]:
        """Return the game state, with every value as written on the wire."""
        world = self.world
        return {
            "time": f"{world.time:.6g}",
            "half": str(world.half),
            "score_left": str(world.score["left"]),
            "score_right": str(world.score["right"]),
            "play_mode": str(self.play_mode_index()),
        }

    def play_mode_index(self) -> int:
        return PLAY_MODES.index(self.world.mode)

    def full_state(self) -> list[str]:
        return [f"({key} {value})" for key, value in self.state().items()]

    def partial_state(self) -> list[str]:
        """Return the time and all values that have changed since the last message."""
        now = self.state()
        told = self.state_told
        self.state_told = now
        return [
            f"({key} {value})"
            for key, value in now.items()
            if key == "time" or told.get(key) != value
        ]

    # The scene graph

    def header_full(self) -> str:
        return HEADER_FULL

    def header_partial(self) -> str:
        return HEADER_PARTIAL

    def full_graph(self) -> str:
        nodes = [self.light(), *self.field(), self.banner(), self.ball()]
        nodes += [self.robot(robot) for robot in self.world.robots]
        return self.graph(nodes, "(nd BN ")

    def partial_graph(self) -> str:
        light, mesh = ("(nd TRF (nd Light))", self.empty_mesh("SMN"))
        if not self.world.settings.typed:
            light = "(nd (nd))"
        nodes = [light, *[f"{self.empty_transform()}{mesh})"] * len(self.field())]
        nodes += [self.banner_update(), self.ball_update()]
        nodes += [self.robot_update(robot) for robot in self.world.robots]
        return self.graph(nodes, "(nd BN " if self.world.settings.typed else "(nd ")

    def graph(self, nodes: list[str], root: str) -> str:
        written = root if self.world.settings.rooted else "("
        return f"{written}{''.join(nodes)})"

    def transform_node(self, numbers: str, below: str) -> str:
        return f"(nd TRF (SLT {numbers} ){below})"

    def mesh(self, path: str, size: float, *materials: str) -> str:
        scale = f"(sSc {size:g} {size:g} {size:g})"
        return f"(nd StaticMesh (load {path}) {scale}(resetMaterials {' '.join(materials)}))"

    def predefined(self, kind: str, size: tuple[float, float, float], material: str) -> str:
        scale = "(sSc {:g} {:g} {:g})".format(*size)
        return f"(nd SMN (load {kind}) {scale} (sMat {material}))"

    def light(self) -> str:
        colours = "(setDiffuse 1 1 1 1) (setAmbient 0.8 0.8 0.8 1) (setSpecular 0.1 0.1 0.1 1)"
        return self.transform_node(transform("z", 0, (0, 0, 30)), f"(nd Light {colours})")

    def field(self) -> list[str]:
        """Return the grass and the goal posts."""
        environment = self.world.settings.environment
        length, width = environment.FieldLength, environment.FieldWidth
        grass = self.predefined("StdUnitBox", (length, width, 0.01), "matGrass")
        nodes = [self.transform_node(transform("z", 0, (0, 0, -0.005)), grass)]
        high, post = environment.GoalHeight, environment.GoalWidth / 2
        for side in (-1, 1):
            for across in (-1, 1):
                at = (side * length / 2, across * post, high / 2)
                pole = self.predefined(self.cylinder(0.03, high), (1, 1, 1), "matWhite")
                nodes.append(self.transform_node(transform("z", 0, at), pole))
        return nodes

    def banner(self) -> str:
        """Return a pole next to the field, with every kind of leaf of a mesh.

        The pole is below a base node.
        """
        environment = self.world.settings.environment
        at = (0.0, environment.FieldWidth / 2 + 1, 0.5)
        look = "(sSc 1 1 1) (setVisible 1) (setTransparent) (sMat matYellow)"
        pole = f"(nd SMN (load StdCapsule 0.03 1) {look})"
        return f"(nd BN {self.transform_node(transform('z', 0, at), pole)})"

    def banner_update(self) -> str:
        base = "(nd BN " if self.world.settings.typed else "(nd "
        return f"{base}{self.empty_transform()}{self.empty_mesh('SMN')}))"

    def cylinder(self, radius: float, length: float) -> str:
        return f"StdUnitCylinder {radius:g} {length:g}"

    def ball(self) -> str:
        size = self.world.settings.environment.BallRadius
        below = self.mesh("models/soccerball.obj", size, "soccerball_rcs-soccerball.png")
        return self.transform_node(self.world.ball_node(), below)

    def robot(self, robot: Robot) -> str:
        """Write the torso and all parts attached to it."""
        team = f"mat{robot.side.capitalize() or 'Team'}"
        number = f"matNum{robot.unum or ''}"
        body = self.mesh("models/naobody.obj", 0.1, number, team, "naoblack", "naowhite")
        below = "".join(self.limb(robot, team, limb) for limb in BODY)
        return self.transform_node(robot.nodes[0], body + below)

    def limb(self, robot: Robot, team: str, limb: Tree) -> str:
        place, hanging = limb
        part = PARTS[place]
        if part.mesh:
            shape = self.mesh(part.mesh, part.size, team, "naowhite")
        else:
            shape = self.predefined("StdUnitSphere", (part.size,) * 3, "matDarkGrey")
        below = "".join(self.limb(robot, team, further) for further in hanging)
        return self.transform_node(robot.nodes[place + 1], shape + below)

    # Updates

    def empty_mesh(self, kind: str) -> str:
        return f"(nd {kind})" if self.world.settings.typed else "(nd)"

    def empty_transform(self) -> str:
        return "(nd TRF " if self.world.settings.typed else "(nd "

    def transform_update(self, numbers: str, told: str) -> str:
        """Write the beginning of a node, with its transform if that has changed."""
        return f"{self.empty_transform()}(SLT {numbers} )" if self.has_changed(numbers, told) else (
            self.empty_transform()
        )  # fmt: skip

    def has_changed(self, numbers: str, told: str) -> bool:
        return numbers != told

    def ball_update(self) -> str:
        told, self.ball_told = self.ball_told, self.world.ball_node()
        return f"{self.transform_update(self.ball_told, told)}{self.empty_mesh('StaticMesh')})"

    def robot_update(self, robot: Robot) -> str:
        told = self.nodes_told.get(id(robot), [])
        self.nodes_told[id(robot)] = list(robot.nodes)
        if told == robot.nodes:
            return self.unchanged_robot()
        told = told or [""] * len(robot.nodes)
        below = "".join(self.limb_update(robot, told, limb) for limb in BODY)
        begin = self.transform_update(robot.nodes[0], told[0])
        return f"{begin}{self.empty_mesh('StaticMesh')}{below})"

    def limb_update(self, robot: Robot, told: list[str], limb: Tree) -> str:
        place, hanging = limb
        kind = "StaticMesh" if PARTS[place].mesh else "SMN"
        below = "".join(self.limb_update(robot, told, further) for further in hanging)
        begin = self.transform_update(robot.nodes[place + 1], told[place + 1])
        return f"{begin}{self.empty_mesh(kind)}{below})"

    def unchanged_robot(self) -> str:
        return self.empty_limbs(BODY, "StaticMesh")

    def empty_limbs(self, limbs: list[Tree], kind: str) -> str:
        below = "".join(
            self.empty_limbs(hanging, "StaticMesh" if PARTS[place].mesh else "SMN")
            for place, hanging in limbs
        )
        return f"{self.empty_transform()}{self.empty_mesh(kind)}{below})"

    # Messages

    def welcome(self, monitor: Monitor) -> None:
        """Send the first messages to a monitor: the environment and the full game state."""
        if self.world.settings.merged:
            self.send_state(monitor, [*self.environment(), *self.full_state()], self.full())
        else:
            self.send_environment(monitor)
            self.send_full(monitor)

    def send_environment(self, monitor: Monitor) -> None:
        self.send_state(monitor, self.environment(), self.full())

    def send_full(self, monitor: Monitor) -> None:
        self.send_state(monitor, self.full_state(), self.full())

    def full(self) -> str:
        return self.header_full() + self.full_graph()

    def partial(self) -> str:
        return self.header_partial() + self.partial_graph()

    def send_state(self, monitor: Monitor, pairs: list[str], scene: str) -> None:
        end = "\n" if self.world.settings.lines else ""
        monitor.send(f"({''.join(pairs)}){scene}{end}")

    def tell_monitors(self) -> None:
        """Send the changes, or everything, to each monitor that reads."""
        if self.is_full_due():
            self.structure_told, self.full_wanted = self.world.structure, False
            self.partial_state()
            pairs, scene = self.full_state(), self.full()
            self.nodes_told = {id(robot): list(robot.nodes) for robot in self.world.robots}
            self.ball_told = self.world.ball_node()
        else:
            pairs, scene = self.partial_state(), self.partial()
        for monitor in self.monitors:
            self.tell_monitor(monitor, pairs, scene)

    def is_full_due(self) -> bool:
        return self.full_wanted or self.structure_told != self.world.structure

    def tell_monitor(self, monitor: Monitor, pairs: list[str], scene: str) -> None:
        if monitor.stream.congested:
            monitor.missed = True
        elif monitor.missed:
            monitor.missed = False
            self.send_full(monitor)
        else:
            self.send_state(monitor, pairs, scene)

    def monitor_left(self, monitor: Monitor) -> None:
        self.monitors.remove(monitor)

    def hear_monitor(self, monitor: Monitor, frame: Frame) -> None:
        for expression in frame.value if isinstance(frame.value, list) else ():
            self.hear_command(monitor, expression)

    def hear_command(self, monitor: Monitor, expression: object) -> None:
        self.execute(expression)

    def execute(self, command: object) -> None:
        raise NotImplementedError
