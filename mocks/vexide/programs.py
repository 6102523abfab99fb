"""The robot programs that the simulator mock can run, each a generator that yields once a step.

A program that returns has exited, as has one that raises `Exit`; any other exception is its crash.
"""

import contextlib
import itertools
from collections.abc import Callable, Iterator

from mocks.vexide.messages import AXES, BUTTONS
from mocks.vexide.robot import Robot, circle, pixel, rectangle

Program = Callable[[Robot], Iterator[None]]

WHITE, RED, GREEN, BLUE, BLACK = 0xFFFFFF, 0xFF0000, 0x00FF00, 0x0000FF, 0x000000


class Exit(Exception):
    """The program has called the exit function of the SDK."""


def idle(robot: Robot) -> Iterator[None]:
    """Nothing, until the session ends."""
    while True:
        yield


def greet(robot: Robot) -> Iterator[None]:
    """Writes a greeting on serial channel 1."""
    robot.serial(1, b"Hello World!\n")
    yield from idle(robot)


def write_bytes(robot: Robot) -> Iterator[None]:
    """Writes each of the 256 byte values on serial channel 1."""
    robot.serial(1, bytes(range(256)))
    yield from idle(robot)


def drive(robot: Robot) -> Iterator[None]:
    """Gives every motor 6 V."""
    while True:
        for motor in robot.motors.values():
            motor.voltage = 6.0
        yield


def leave(robot: Robot) -> Iterator[None]:
    """Returns at once."""
    yield from ()


def crash(robot: Robot) -> Iterator[None]:
    """Dies of an error."""
    yield
    raise RuntimeError("panicked at src/main.rs:14: attempt to divide by zero")


def call_exit(robot: Robot) -> Iterator[None]:
    """Calls the SDK's exit function."""
    yield
    raise Exit


def draw(robot: Robot) -> Iterator[None]:
    """Draws shapes and pixels, behind a double buffer."""
    _picture(robot)
    yield from idle(robot)


def probe(robot: Robot) -> Iterator[None]:
    """Writes on serial channel 1 what it sees, at first and at each change."""
    seen: dict[str, str] = {}
    capacity = None
    card: object = robot  # anything that is no card
    while True:
        lines = {
            "competition": _competition(robot),
            "controller": _controller(robot),
            "inputs": _inputs(robot),
            "touch": _touch(robot),
        }
        if robot.card != card:
            card = robot.card
            lines["sdcard"] = _card(robot)
        if robot.capacity != capacity:
            capacity = robot.capacity
            lines["battery"] = f"battery {capacity}"
        for what, line in lines.items():
            if seen.get(what) != line:
                seen[what] = line
                robot.serial(1, f"{line}\n".encode())
        yield


def demo(robot: Robot) -> Iterator[None]:
    """A little of everything in half a second, then returns."""
    robot.serial(1, b"Hello World!\n")
    _picture(robot)
    robot.link(20, "link")
    with contextlib.suppress(OSError):
        robot.write_file("demo.txt", b"written by the demo program\n")
    motors = robot.motors.values()
    for motor in motors:
        motor.voltage = 6.0
    for _ in range(15):
        yield
    for motor in motors:
        motor.voltage, motor.brake_mode, motor.target = 0.0, "Hold", motor.position
    for _ in range(10):
        yield
    robot.unlink(20)
    robot.serial(1, b"Bye\n")


def tour(robot: Robot) -> Iterator[None]:
    """Every event in each of its forms, one part every 25 steps, until the session ends."""
    for turn in itertools.count():
        for part in (_shapes, _words, _links, _drives):
            part(robot, turn)
            for _ in range(25):
                yield


LOAD_TIMES = {"slow": 0.6}  # s, of programs that are slow to load

PROGRAMS: dict[str, Program] = {
    "idle": idle,
    "print": greet,
    "bytes": write_bytes,
    "slow": greet,
    "drive": drive,
    "return": leave,
    "crash": crash,
    "exit": call_exit,
    "draw": draw,
    "probe": probe,
    "demo": demo,
    "tour": tour,
}


def _picture(robot: Robot) -> None:
    screen = robot.screen
    screen.clear(BLACK)
    screen.double_buffer(True)
    screen.fill(rectangle(20, 20, 200, 120), BLUE)
    screen.stroke(circle(300, 120, 60), GREEN)
    screen.fill(pixel(479, 271), WHITE)
    screen.copy(400, 20, [[RED, GREEN, BLUE, WHITE], [WHITE, BLUE, GREEN, RED]])
    screen.render()
    screen.double_buffer(False)


def _shapes(robot: Robot, turn: int) -> None:
    """Each shape, filled and as an outline, at places that move, half of it behind a buffer."""
    screen, aside = robot.screen, 10 * (turn % 20)
    screen.clear(BLACK)
    for behind in (False, True):
        screen.double_buffer(behind)
        top = 140 if behind else 10
        for shape, color in (
            (rectangle(aside, top, aside + 60, top + 40), RED),
            (circle(aside + 120, top + 40, 30), GREEN),
            (pixel(aside + 200, top), WHITE),
        ):
            screen.fill(shape, color)
            screen.stroke(shape, BLUE)
        screen.copy(aside, top + 60, [[RED, GREEN], [BLUE, WHITE]])
    screen.render()
    screen.double_buffer(False)


def _words(robot: Robot, turn: int) -> None:
    """A log of each level, and both what can be read and what cannot on the serial channels."""
    for level in ("Trace", "Info", "Warn", "Error"):
        robot.log(level, f"turn {turn}: this is what {level} looks like")
    robot.serial(1, f"turn {turn}: grüße\n".encode())
    robot.serial(2, bytes(range(256)))


def _links(robot: Robot, turn: int) -> None:
    """One link after another, as either side; the one before is given up."""
    if turn:
        robot.unlink(19 + (turn - 1) % 2)
    mode = "Worker" if turn % 2 else "Manager"
    robot.link(19 + turn % 2, f"link {turn}", mode, override=turn % 4 > 1)


def _drives(robot: Robot, turn: int) -> None:
    """Motors go forth and back, to a target, and rest in each way; the battery is drained."""
    brake = ("Coast", "Brake", "Hold")[turn % 3]
    for motor in robot.motors.values():
        motor.brake_mode = brake
        motor.target = 2.0 if turn % 4 == 2 else None
        motor.voltage = (6.0, 0.0, 0.0, -6.0)[turn % 4]


def _competition(robot: Robot) -> str:
    words = {True: "true", False: "false"}
    mode = robot.competition
    return (
        f"competition enabled={words[mode['enabled']]} connected={words[mode['connected']]} "
        f"mode={mode['mode']} is_competition={words[mode['is_competition']]}"
    )


def _controller(robot: Robot) -> str:
    state = robot.controller
    return "controller none" if state is None else f"controller axis1={state['axis1']}"


def _inputs(robot: Robot) -> str:
    """What else of the controller is not at rest; what button_all tells is not in the text."""
    state = robot.controller or {}
    names = (name for name in (*AXES, *BUTTONS) if name not in ("axis1", "button_all"))
    moved = [f"{name}={str(state[name]).lower()}" for name in names if state.get(name)]
    return f"inputs {' '.join(moved) or 'rest'}"


def _touch(robot: Robot) -> str:
    if robot.touch is None or robot.touch["event"] == "Released":
        return "touch Released"
    point = robot.touch["pos"]
    return f"touch {robot.touch['event']} {point['x']} {point['y']}"


def _card(robot: Robot) -> str:
    with contextlib.suppress(OSError):
        robot.write_file("probe.txt", b"probe\n")
        if robot.read_file("probe.txt") == b"probe\n":
            return "sdcard present"
    return "sdcard absent"
