"""The perceptions of a robot: objects in sight, heard words, and the game state."""

from math import atan2, degrees, hypot

from mocks.simspark.robot import Robot
from mocks.simspark.world import World

CONE = 60.0  # degrees of the field of view, to each side, up and down
EYES = 0.17  # metres above the middle of the torso
ABOVE = 0.2  # metres from the middle of another robot's torso to its head


def polar(robot: Robot, x: float, y: float, z: float) -> tuple[float, float, float] | None:
    """Return the distance in metres and the angles to the left and up in degrees.

    Returns None if the point is out of sight.
    """
    dx, dy, dz = x - robot.x, y - robot.y, z - robot.z - EYES
    flat = hypot(dx, dy)
    left = degrees(atan2(dy, dx)) - 90 - robot.heading - robot.angles[0]
    left = (left + 180) % 360 - 180
    up = degrees(atan2(dz, flat)) - robot.angles[1]
    if abs(left) > CONE or abs(up) > CONE:
        return None
    return hypot(flat, dz), left, up


def _pol(where: tuple[float, float, float]) -> str:
    return f"(pol {where[0]:.2f} {where[1]:.2f} {where[2]:.2f})"


def landmarks(world: World) -> list[tuple[str, float, float, float]]:
    """Return the corner flags and goal posts as (name, x, y, z), in metres."""
    environment = world.settings.environment
    length, width = environment.FieldLength / 2, environment.FieldWidth / 2
    post, high = environment.GoalWidth / 2, environment.GoalHeight
    return [
        (f"{kind}{number}{side}", own * length, across * y, z)
        for side, own in (("L", -1), ("R", 1))
        for kind, y, z in (("F", width, 0.0), ("G", post, high))
        for number, across in ((1, 1), (2, -1))
    ]


def see(world: World, robot: Robot, marks: list[tuple[str, float, float, float]]) -> str:
    """Write the See perceptor."""
    found = [
        f"({name} {_pol(where)})" for name, *at in marks if (where := polar(robot, *at)) is not None
    ]
    ball = world.ball
    if (where := polar(robot, ball.x, ball.y, ball.z)) is not None:
        found.append(f"(B {_pol(where)})")
    for other in world.robots:
        if other is not robot:
            where = polar(robot, other.x, other.y, other.z + ABOVE)
            if where is not None:
                who = f"(team {other.team or 'none'}) (id {other.unum})"
                found.append(f"(P {who} (head {_pol(where)}))")
    return f"(See {' '.join(found)})"


def hear(listener: Robot, speaker: Robot, time: float, text: str) -> str:
    """Write the hear perceptor of a listener.

    The source is self for own words, otherwise a direction in degrees.
    """
    if speaker is listener:
        whence = "self"
    else:
        turn = degrees(atan2(speaker.y - listener.y, speaker.x - listener.x))
        whence = f"{turn:.2f}"
    return f"(hear {speaker.team or 'none'} {time:.2f} {whence} {text})"


def game_state(world: World, own: str) -> str:
    """Write the GS perceptor.

    `own` are number and side of the agent, empty after the first time.
    """
    score = f"(sl {world.score['left']}) (sr {world.score['right']})"
    return f"(GS {own}{score} (t {world.time:.2f}) (pm {world.mode}))"
