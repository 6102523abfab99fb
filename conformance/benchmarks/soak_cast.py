"""The mocks of a soak test: their options, and the operations that their users repeat.

Placeholders in braces become known during the test:

- `{ROLE}` is the address of another mock; a port's name can follow, as in `{ROLE monitor}`.
- `{ROLE pid}` is the process id of another mock.
- `{sink}` is the address of the receiver of a publisher.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conformance.definitions import locations

Does = tuple[str, dict[str, Any]]
"""An operation, and its arguments."""

CATALOG = (locations.folder("captures", "runtime") or Path()) / "catalogs" / "robot.yaml"
LISTEN = "--listen 127.0.0.1:0"
_ARM = "rt-arm-{}-{{runtime/buffer-owner pid}}"


@dataclass(frozen=True)
class Part:
    """A mock: its options, its user's operations, and the transport to which it publishes."""

    options: str
    user: Sequence[Does] = ()
    sink: str = ""


def _devices() -> list[Does]:
    """Return operations that connect, use and disconnect a few devices."""
    done: list[Does] = []
    for number in range(3):
        arm = {"buffer": _ARM.format(number), "type": "arm"}
        done += [
            ("connect", {"type": "arm", "uid": str(number)}),
            ("set_data", {**arm, "values": {"angle": 0.1 * number, "touched": True}}),
            ("set_data", {**arm, "values": {"angle": 99.0}}),
            ("set_read", {**arm, "params": ["angle"]}),
            ("set_sub", {**arm, "uid": "1", "params": ["angle"], "delay": 50}),
            ("cycle", arm),
            ("get_update", arm),
            ("set_data", {**arm, "values": {"nonsense": 1}}),
            ("disconnect", {"type": "arm", "uid": str((number + 1) % 3)}),
        ]
    return done


def _consumes() -> list[Does]:
    done: list[Does] = []
    for number in range(4):
        arm = {"buffer": _ARM.format(number), "type": "arm"}
        done += [
            ("list", {}),
            ("get_value", {**arm, "param": "angle"}),
            ("set_value", {**arm, "param": "angle", "value": 7.0}),
            ("set_value", {**arm, "param": "touched", "value": True}),
            ("get_update", arm),
        ]
    return done


CAST = {
    "vexide/simulator": Part(f"{LISTEN} --program probe"),
    "vexide/frontend": Part(
        "--upper-tester --connect {vexide/simulator}",
        [
            ("start", {}),
            ("touch", {"x": 5, "y": 6, "event": "Pressed"}),
            ("competition", {"enabled": True, "connected": True, "mode": "Auto"}),
            ("controller", {"UUID": "9f4b1b1e-1c1d-4a4e-8d5b-1f1e1d1c1b1a"}),
            ("touch", {"x": 5, "y": 6, "event": "Released"}),
            ("touch", {"x": 5000, "y": 6, "event": "Pressed"}),
            ("competition", {"enabled": False, "mode": "Driver"}),
            ("configure", {"port": 3, "device": {"Motor": {"physical_gearset": "Green"}}}),
            ("outcome", {}),
            ("screen", {}),
        ],
    ),
    "simspark/server": Part(f"{LISTEN} --pace 0.2"),
    "simspark/agent": Part(
        "--upper-tester --connect {simspark/server}",
        [("act", {"effectors": "(say hi)(he2 1.0)"}), ("state", {}), ("act", {"effectors": "((("})],
    ),
    "simspark/monitor": Part(
        "--upper-tester --connect {simspark/server monitor}",
        [
            ("command", {"command": "(playMode PlayOn)"}),
            ("command", {"command": "(ball (pos 1 2 0)(vel 3 1 2))"}),
            ("command", {"command": "(time 0)"}),
            ("command", {"command": "(reqfullstate)"}),
            ("command", {"command": "(nonsense 1)"}),
            ("state", {}),
        ],
    ),
    "deltarobot/server": Part(f"{LISTEN} --rate 10"),
    "deltarobot/client": Part(
        "--upper-tester --again 0.5 --connect {deltarobot/server}",
        [("state", {})] * 20 + [("close", {})],
    ),
    "openroberta/lab": Part(f"{LISTEN} --unattended --register-hold 5 --push-hold 2"),
    "openroberta/robot": Part(
        "--upper-tester --sensors 1 --connect {openroberta/lab}",
        [("battery", {"value": "7.5"}), ("exit", {"value": 3}), ("executed", {}), ("shown", {})],
    ),
    "runtime/rpc-server": Part(LISTEN),
    "runtime/rpc-client": Part(
        "--upper-tester --connect {runtime/rpc-server}",
        [
            ("call", {"method": "echo", "params": ["hello", 1]}),
            ("notify", {"method": "count", "params": []}),
            ("call", {"method": "fail", "params": []}),
            ("call", {"method": "sleep", "params": [0.5], "timeout": 0.1}),
            ("call", {"method": "unknown", "params": []}),
        ],
    ),
    "runtime/log-publisher": Part("--connect {sink}", sink="tcp"),
    "runtime/gamepad-receiver": Part(
        f"{LISTEN} --upper-tester --catalog {CATALOG}", [("buffers", {})]
    ),
    "runtime/gamepad-sender": Part("--rate 10 --connect {sink}", sink="udp"),
    "runtime/update-publisher": Part("--connect {sink}", sink="udp"),
    "runtime/buffer-owner": Part(f"--catalog {CATALOG}", _devices()),
    "runtime/buffer-consumer": Part(f"--catalog {CATALOG}", _consumes()),
}
