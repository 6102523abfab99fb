"""The worlds of the runtime's mocks: devices and gamepads that move."""

import os
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from conformance.benchmarks.soak_cast import CATALOG
from conformance.codec import Frame
from conformance.definitions import protocols
from conformance.judging.judge import Judge
from conformance.runtime.codec import Decoder
from conformance.runtime.memory import catalog, layout
from mocks.runtime import devices, moves
from mocks.testing import MockFailed, mock

DEADLINE = 20.0  # seconds that anything in these tests can take


@contextmanager
def receiving() -> Iterator[tuple[socket.socket, str]]:
    """Open a datagram socket; yield it and its address."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver:
        receiver.bind(("127.0.0.1", 0))
        receiver.settimeout(DEADLINE)
        host, port = receiver.getsockname()
        yield receiver, f"{host}:{port}"


def sound(sender: str, frames: list[Frame]) -> None:
    protocol = protocols.load("runtime")
    judge = Judge(protocol, protocol.roles)
    for frame in frames:
        judge.frame(None, sender, frame)
    assert judge.findings == []


def test_moves_of_a_file(tmp_path: Path) -> None:
    """A gamepad moves, another is plugged in and unplugged; other values do not change."""
    file = tmp_path / "moves.yaml"
    file.write_text(
        "- {at: 0, axes: [0, -1, 0, 0]}\n"
        "- {at: 0.2, buttons: [0, 5]}\n"
        "- {at: 0.4, gamepad: 1, buttons: [16]}\n"
        "- {at: 0.6, gamepad: 1, gone: true}\n"
    )
    seen: list[Any] = []
    frames: list[Frame] = []
    with (
        receiving() as (receiver, address),
        mock("runtime/gamepad-sender", connect=address, moves=file, rate=100),
    ):
        while len(seen) < 4:
            frames += Decoder().feed(receiver.recv(65536))
            if frames[-1].value["gamepads"] != (seen[-1] if seen else None):
                seen.append(frames[-1].value["gamepads"])
    sound("gamepad-sender", frames)
    first = {"lx": 0.0, "ly": -1.0, "rx": 0.0, "ry": 0.0}
    pressed = {**first, "btn": 0b100001}
    other = {"lx": 0.0, "ly": 0.0, "rx": 0.0, "ry": 0.0, "btn": 1 << 16}
    alone = {"0": pressed}
    assert seen == [{"0": {**first, "btn": 0}}, alone, {**alone, "1": other}, alone]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("at: 1", "a list of moves"),
        ("- {axes: [0, 0, 0, 0]}", "move 1: expected an object with the key at"),
        ("- {at: 0, axes: [0, 0]}", "axes: expected four numbers"),
        ("- {at: 0, buttons: [17]}", "buttons: expected a list of numbers from 0 to 16"),
        ("- {at: 1}\n- {at: 0}", "move 2: at"),
        ("- {at: 0, jump: true}", "move 1: expected an object with the key at"),
    ],
)
def test_moves_that_cannot_be_made(text: str, why: str, tmp_path: Path) -> None:
    file = tmp_path / "moves.yaml"
    file.write_text(text)
    with pytest.raises(ValueError, match=why):
        moves.read(file)


def test_devices_of_a_publisher_come_move_and_go() -> None:
    updates: list[Any] = []
    frames: list[Frame] = []
    with (
        receiving() as (receiver, address),
        mock("runtime/update-publisher", connect=address, period=0.003),
    ):
        there: list[int] = []  # the number of devices after each change
        while len(updates) < 300 or len(there) < 3:
            frames += Decoder().feed(receiver.recv(65536))
            updates.append(frames[-1].value)
            if [len(updates[-1]["sd"])] != there[-1:]:
                there.append(len(updates[-1]["sd"]))
    sound("update-publisher", frames)
    assert there[:3] == [3, 2, 3]
    assert len([update for update in updates if "front" in update["aliases"].values()]) > 10
    readings = [
        values for update in updates for values in update["sd"].values() if "distance" in values
    ]
    assert len({values["distance"] for values in readings}) > 5


def test_devices_of_an_owner_come_move_and_go() -> None:
    """A consumer sees changing values, measures its own write, and sees devices come and go."""
    with (
        mock("runtime/buffer-owner", catalog=CATALOG, moving=True),
        mock("runtime/buffer-consumer", catalog=CATALOG) as consumer,
    ):

        def own_parameters() -> set[str]:
            return {name for name in consumer.ask("list") if name.endswith(f"-1-{os.getpid()}")}

        assert awaited(lambda: len(own_parameters()) >= 4)
        switch, arm = f"rt-limit-switch-1-{os.getpid()}", f"rt-arm-1-{os.getpid()}"

        def angle() -> Any:
            """Return the angle; None while the arm is disconnected, for some seconds."""
            with suppress(MockFailed):
                return consumer.ask("get_value", buffer=arm, param="angle")
            return None

        def turned() -> bool:
            """Set the angle again, because a reconnected arm has lost its target."""
            with suppress(MockFailed):
                consumer.ask("set_value", buffer=arm, param="angle", value=1.25)
            return bool(angle() == 1.25)

        first = angle()
        assert awaited(lambda: angle() not in (None, first))
        assert awaited(turned)
        assert switch in own_parameters()


def test_they_measure_what_their_types_hold() -> None:
    """Measured values fit their types at any time, and devices connect and disconnect."""
    for path in sorted(CATALOG.parent.glob("*.yaml")):
        if path.name.startswith("violation-"):
            continue
        for peripheral in catalog.load(path.read_bytes()).values():
            plan = layout.plan_layout(peripheral, layout.PLANS["natural"])
            readable = [param for param in peripheral.params if param.readable]
            for second in range(40):
                for name, value in devices.measure(readable, second / 2).items():
                    field = plan[f"read.params.{name}"]
                    assert field.decode(field.encode(value)) == pytest.approx(value, rel=1e-6)
                    assert peripheral[name].clamp(value) == value
    for number in range(4):
        assert {devices.is_connected(second, number) for second in range(15)} == {True, False}


def awaited(holds: Callable[[], bool]) -> bool:
    """Wait until a condition is true; return False after the deadline."""
    until = time.monotonic() + DEADLINE
    while not holds() and time.monotonic() < until:
        time.sleep(0.02)
    return holds()
