"""Settings of a simulation: field, rules, and choices that the specification leaves open."""

from dataclasses import dataclass

PLAY_MODES = (
    *("BeforeKickOff", "KickOff_Left", "KickOff_Right", "PlayOn", "KickIn_Left", "KickIn_Right"),
    *("corner_kick_left", "corner_kick_right", "goal_kick_left", "goal_kick_right"),
    *("offside_left", "offside_right", "GameOver", "Goal_Left", "Goal_Right"),
    *("free_kick_left", "free_kick_right"),
)
"""Play modes in the order of their indices. Source: Environment Information Message."""

AGENTS, MONITORS = 3100, 3200
"""The default ports. Source: Server/Agent and Server/Monitor Communication."""

CYCLE = 0.02  # seconds of simulation between two groups of perceptors


@dataclass(frozen=True)
class Environment:
    """The parameters of the environment information, in metres, seconds and kilograms."""

    FieldLength: float = 30.0
    FieldWidth: float = 20.0
    FieldHeight: float = 40.0
    GoalWidth: float = 2.1
    GoalDepth: float = 0.6
    GoalHeight: float = 0.8
    FreeKickDistance: float = 2.0
    WaitBeforeKickOff: float = 30.0
    AgentRadius: float = 0.4
    BallRadius: float = 0.042
    BallMass: float = 0.026
    RuleGoalPauseTime: float = 3.0
    RuleKickInPauseTime: float = 1.0
    RuleHalfTime: float = 300.0


@dataclass(frozen=True)
class Settings:
    """Behaviour of the server where the specification leaves a choice.

    - `merged`: environment and game state are in one list, as in the published server.
    - `rooted`: the root is written as a base node.
    - `typed`: updates keep the types of their nodes.
    - `lines`: each message ends with a line end.
    - `steps`: cycles between two messages to monitors.
    """

    environment: Environment = Environment()
    merged: bool = False
    rooted: bool = False
    typed: bool = False
    lines: bool = False
    steps: int = 2
    pace: float = 1.0
    """Seconds of simulation in one second of real time."""
