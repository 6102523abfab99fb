"""The messages that the suite sends as a server: perceptors to agents, states to monitors.

They are written out by hand, so that they do not depend on the encoder of a mock. Scene graphs are
lists of nodes without a root node, as in the published server.
"""

from typing import Any

MODES = (
    *("BeforeKickOff", "KickOff_Left", "KickOff_Right", "PlayOn", "KickIn_Left", "KickIn_Right"),
    *("corner_kick_left", "corner_kick_right", "goal_kick_left", "goal_kick_right"),
    *("offside_left", "offside_right", "GameOver", "Goal_Left", "Goal_Right"),
    *("free_kick_left", "free_kick_right"),
)
ENVIRONMENT = (
    "(FieldLength 30)(FieldWidth 20)(FieldHeight 40)(GoalWidth 2.1)(GoalDepth 0.6)(GoalHeight 0.8)"
    "(FreeKickDistance 2)(WaitBeforeKickOff 30)(AgentRadius 0.4)(BallRadius 0.042)(BallMass 0.026)"
    "(RuleGoalPauseTime 3)(RuleKickInPauseTime 1)(RuleHalfTime 300)"
    f"(play_modes {' '.join(MODES)})"
)
UPRIGHT = "1 0 0 0 0 1 0 0 0 0 1 0"
QUARTER = "0 1 0 0 -1 0 0 0 0 0 1 0"
"""A rotation by 90 degrees about the vertical axis.

The local x axis becomes the y axis of the parent.
"""
CYCLE = "0 1 0 0 0 0 1 0 1 0 0 0"
"""A rotation that moves each axis to the next one: x to y, y to z and z to x.

It contains no negative number.
"""
LIGHT = "(nd Light (setDiffuse 1 1 1 1) (setAmbient 0.8 0.8 0.8 1) (setSpecular 0.1 0.1 0.1 1))"
FIELD = (
    "(nd StaticMesh (load models/naosoccerfield.obj) (sSc 2.5 1 2.5) (setVisible 1)"
    "(resetMaterials None_rcs-naofield.png))"
)
BALL = (
    "(nd StaticMesh (load models/soccerball.obj) (sSc 0.042 0.042 0.042)"
    "(resetMaterials soccerball_rcs-soccerball.png))"
)
POLE = "(nd SMN (load StdUnitCylinder 0.015 0.08) (sSc 1 1 1) (sMat matDarkGrey))"


def transform(x: float, y: float, z: float, below: str = "", turned: str = UPRIGHT) -> str:
    """Write a transform node with its type, as in a full graph. Lengths are in metres."""
    return f"(nd TRF (SLT {turned} {x:g} {y:g} {z:g} 1 ){below})"


def update(x: float, y: float, z: float, below: str = "", turned: str = UPRIGHT) -> str:
    """Write a transform node without its type, as in an update. Lengths are in metres."""
    return f"(nd (SLT {turned} {x:g} {y:g} {z:g} 1 ){below})"


def state(time: float, half: int = 1, left: int = 0, right: int = 0, mode: int = 0) -> str:
    """Write the pairs of a full game state; `time` is in seconds."""
    score = f"(score_left {left})(score_right {right})"
    return f"(time {time:g})(half {half}){score}(play_mode {mode})"


def full(pairs: str, graph: str) -> str:
    return f"({pairs})(RSG 0 1){graph}"


def partial(pairs: str, graph: str) -> str:
    return f"({pairs})(RDS 0 1){graph}"


def with_root(message: list[Any]) -> list[Any]:
    """Add a root node to the scene graph of a decoded message, if missing."""
    match message:
        case [pairs, [name, *_] as header, list(graph)] if graph[:1] != ["nd"]:
            root = ["nd", "BN"] if name == "RSG" else ["nd"]
            return [pairs, header, [*root, *graph]]
    return message


def scene(x: float, y: float, z: float = 0.042, more: str = "") -> str:
    """Write a full scene graph with the ball at (x, y, z) in metres.

    `more` contains further nodes for the end of the graph.
    """
    light, field = transform(0, 0, 10, LIGHT), transform(0, 0, 0, FIELD)
    return f"({light}{field}{transform(x, y, z, BALL)}{more})"


def moved(x: float, y: float, z: float = 0.042, more: str = "") -> str:
    """Write an update of `scene()` that moves the ball to (x, y, z) in metres."""
    return f"((nd (nd))(nd (nd)){update(x, y, z, '(nd)')}{more})"


STILL = "((nd (nd))(nd (nd))(nd (nd)))"
"""An update of `scene()` in which nothing has changed."""


def robot(x: float, y: float, unum: int = 1, team: str = "Left") -> str:
    """Write a robot of two parts, the second attached to the first."""
    body = (
        "(nd StaticMesh (load models/naobody.obj) (sSc 0.1 0.1 0.1) (setVisible 1)"
        f"(resetMaterials matNum{unum} mat{team} naoblack naowhite))"
    )
    return transform(x, y, 0.35, body + transform(0, 0, 0.17, POLE))


def perceptors(
    now: str,
    hinge: str = "hj1",
    angle: float = 0.0,
    more: str = "",
    game: str = "(t 0.00) (pm BeforeKickOff)",
) -> str:
    """Write a group of perceptors as the published robots have them.

    `hinge` is at `angle` degrees, all other hinges are at 0.
    """
    others = "".join(
        f"(HJ (n {name}) (ax 0.00))" for name in ("hj1", "hj2", "raj1", "laj1") if name != hinge
    )
    return (
        f"(time (now {now}))(GS {game}){more}"
        "(GYR (n torso) (rt 0.00 0.00 0.00))(ACC (n torso) (a 0.00 -0.00 9.81))"
        f"(HJ (n {hinge}) (ax {angle:.2f})){others}"
        "(See (B (pol 8.51 -0.21 -0.17))(G1L (pol 3.50 12.01 4.31)))"
    )
