"""The robot programs of the simulator mock, generators that yield once per step.

A program exits when it returns or raises `Exit`. Any other exception is a crash.
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
    """Do nothing until the session ends."""
    while True:
        yield


def greet(robot: Robot) -> Iterator[None]:
    """Write a greeting to serial channel 1."""
    robot.serial(1, b"Hello World!\n")
    yield from idle(robot)


def write_bytes(robot: Robot) -> Iterator[None]:
    """Write each of the 256 byte values to serial channel 1."""
    robot.serial(1, bytes(range(256)))
    yield from idle(robot)


def drive(robot: Robot) -> Iterator[None]:
    """Apply 6 V to every motor."""
    while True:
        for motor in robot.motors.values():
            motor.voltage = 6.0
        yield


def brake(robot: Robot) -> Iterator[None]:
    """Drive every motor for half a second, then stop it in each brake mode."""
    for voltage, mode in ((6.0, "Coast"), (0.0, "Coast"), (0.0, "Brake"), (0.0, "Hold")):
        for motor in robot.motors.values():
            motor.voltage, motor.brake_mode = voltage, mode
        for _ in range(25):
            yield
    yield from idle(robot)


def leave(robot: Robot) -> Iterator[None]:
    """Return at once."""
    yield from ()


def crash(robot: Robot) -> Iterator[None]:
    """Crash with an error."""
    yield
    raise RuntimeError("panicked at src/main.rs:14: attempt to divide by zero")


def call_exit(robot: Robot) -> Iterator[None]:
    """Call the SDK's exit function."""
    yield
    raise Exit


def draw(robot: Robot) -> Iterator[None]:
    """Draw shapes and pixels with double buffering."""
    _picture(robot)
    yield from idle(robot)


def probe(robot: Robot) -> Iterator[None]:
    """Write the observed state to serial channel 1, at the start and after each change."""
    seen: dict[str, str] = {}
    capacity = None
    card: object = robot  # any value that is not a card
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
    """Use serial data, drawings, a link and motors for half a second, then return."""
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
    """Cause every event in each of its forms until the session ends.

    A part runs every 25 steps.
    """
    for turn in itertools.count():
        for part in (_shapes, _words, _links, _drives):
            part(robot, turn)
            for _ in range(25):
                yield


LOAD_TIMES = {"slow": 0.6}  # s, for programs that load slowly

PROGRAMS: dict[str, Program] = {
    "idle": idle,
    "print": greet,
    "bytes": write_bytes,
    "slow": greet,
    "drive": drive,
    "brake": brake,
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
    screen.stroke(rectangle(10, 10, 210, 130), WHITE)
    screen.stroke(circle(300, 120, 60), GREEN)
    screen.fill(circle(300, 120, 20), RED)
    screen.fill(pixel(479, 271), WHITE)
    screen.stroke(pixel(0, 0), RED)
    screen.copy(400, 20, [[RED, GREEN, BLUE, WHITE], [WHITE, BLUE, GREEN, RED]])
    screen.render()
    screen.double_buffer(False)


def _shapes(robot: Robot, turn: int) -> None:
    """Draw each shape filled and as an outline, with and without a buffer."""
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
    """Write a log of each level, and text and binary data to the serial channels."""
    for level in ("Trace", "Info", "Warn", "Error"):
        robot.log(level, f"turn {turn}: this is what {level} looks like")
    robot.serial(1, f"turn {turn}: grüße\n".encode())
    robot.serial(2, bytes(range(256)))


def _links(robot: Robot, turn: int) -> None:
    """Open one link after another in both roles; close the link before."""
    if turn:
        robot.unlink(19 + (turn - 1) % 2)
    mode = "Worker" if turn % 2 else "Manager"
    robot.link(19 + turn % 2, f"link {turn}", mode, override=turn % 4 > 1)


def _drives(robot: Robot, turn: int) -> None:
    """Drive motors forward, back and to a target, and stop them in each brake mode."""
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
    """Report all inputs except axis1 that are not at rest; button_all is not specified."""
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
