"""Faults of the simulator with the battery and the SD card."""

import urllib.parse
from typing import Any

from conformance.vexide.codec import encode
from mocks.deviations import Fault, Subtle, Table
from mocks.steps import When, alter, before, delay, first, instead, note, noted, put, skip, then
from mocks.vexide.faults.bases import ENABLED, RUNNING, edit, fields, member, named
from mocks.vexide.robot import FULL, Robot
from mocks.vexide.simulator import Simulator

CARD = When(lambda _, usd: usd["root"] is not None)
"""If a USD mounts a card; a USD without root unmounts the card."""
_CAPACITY = ("SetBatteryCapacity", "capacity")


class MemoryCard(Robot):
    """A robot whose files are in memory."""

    def write_file(self, name: str, data: bytes) -> None:
        self._path(name)
        self.files = {name: data}

    def read_file(self, name: str) -> bytes:
        return self.files[name]


def _behind(simulator: Any, battery: dict[str, Any]) -> None:
    """Exchange the capacity to send for the capacity before; the first one is that of a start."""
    before = getattr(simulator, "capacity_before", FULL)
    battery["capacity"], simulator.capacity_before = before, battery["capacity"]


def _tell_old(simulator: Simulator, _: Any) -> None:
    battery = {"voltage": 12.5, "current": 0.1, "capacity": simulator.robot.capacity}
    simulator.write(encode({"Battery": battery}))


FAULTS = Table(Simulator)

FAULTS["battery.default"] = {
    "battery-full-is-100": Fault(
        "Begins with a battery of 100 Wh, as if the value were a percentage.",
        before("opened", put("robot.capacity", 100.0)),
    ),
    "battery-energy-is-voltage": Subtle(
        "Begins with a battery of 12.8 Wh, the value of its voltage.",
        before("opened", put("robot.capacity", 12.8)),
    ),
}

FAULTS["battery.set-capacity"] = {
    "capacity-ignored": Fault("Ignores SetBatteryCapacity.", skip("set_capacity")),
    "capacity-whole": Subtle(
        "Rounds the given capacity down to whole watt-hours.",
        alter("set_capacity", lambda _, battery: {"capacity": float(int(battery["capacity"]))}),
    ),
    "capacity-without-point-refused": Subtle(
        "Ignores a capacity that is written as an integer.",
        skip("message", lambda _, name, value: isinstance(member(value, *_CAPACITY), int)),
    ),
    "capacity-before-start-only": Subtle(
        "Ignores SetBatteryCapacity while the program runs.", skip("set_capacity", RUNNING)
    ),
    "capacity-set-once": Subtle(
        "Accepts only the first SetBatteryCapacity of a session.",
        skip("set_capacity", ~first(1)),
    ),
    "capacity-of-zero-unset": Subtle(
        "Treats a capacity of zero as missing, and keeps the old capacity.",
        skip("set_capacity", lambda _, battery: not battery["capacity"]),
    ),
    "battery-told-whole": Subtle(
        "Sends the battery in whole watt-hours; the program sees the exact value.",
        fields("Battery", capacity=int),
    ),
    "battery-told-full": Subtle(
        "Always reports a full battery; the program sees the set capacity.",
        fields("Battery", capacity=14.0),
    ),
    "battery-told-behind": Subtle(
        "Reports the old capacity at each change; the program sees the new capacity.",
        edit("Battery", _behind),
    ),
    "battery-told-before": Subtle(
        "Reports the old capacity when SetBatteryCapacity comes, and never the new one.",
        before("set_capacity", _tell_old),
        skip("send", named("Battery") & noted("set")),
        before("set_capacity", note("set")),
    ),
}

FAULTS["sdcard.mounted"] = {
    "never-mounts": Fault("Never mounts an SD card.", skip("mount")),
    "mounts-once": Subtle(
        "Mounts no SD card after a card was unmounted.", skip("mount", CARD & ~first(1))
    ),
    "mounts-before-start-only": Subtle(
        "Mounts no SD card while the program runs.", skip("mount", CARD & RUNNING)
    ),
    "mounts-while-enabled-only": Subtle(
        "Mounts no SD card while the robot is disabled.", skip("mount", CARD & ~ENABLED)
    ),
    "mounts-no-other-while-running": Subtle(
        "Mounts no other SD card while the program runs.",
        skip("mount", CARD & RUNNING & noted("mounted")),
        then("mount", note("mounted"), CARD),
    ),
    "card-path-cut": Subtle(
        "Keeps only the first 127 characters of the SD card's path.",
        alter("mount", lambda _, usd: {"root": usd["root"][:127]}, CARD),
    ),
    "card-path-as-a-url": Subtle(
        "Decodes percent signs in the SD card's path, as in a URL.",
        alter("mount", lambda _, usd: {"root": urllib.parse.unquote(usd["root"])}, CARD),
    ),
    "card-in-memory": Subtle(
        "Keeps files of the SD card in memory, and writes nothing to the directory.",
        instead("build", lambda _: MemoryCard()),
    ),
}

FAULTS["sdcard.unmounted"] = {
    "never-unmounts": Fault("Never unmounts the SD card.", skip("mount", ~CARD)),
    "mount-overtaken": Subtle(
        "Mounts an SD card with a delay, even if it was unmounted meanwhile.",
        delay("mount", 0.05, CARD),
    ),
}

FAULTS["encoding.optional-absent"] = {
    "absent-root-ends": Fault(
        "Ends the session at a USD without root, instead of treating root as null.",
        instead("message", "close", lambda _, name, value: value == {"USD": {}}),
    ),
}

FAULTS["encoding.optional-null"] = {
    "null-root-refused": Fault(
        "Ends the session at a USD with a null root; an absent root is accepted.",
        instead("message", "close", lambda _, name, value: value == {"USD": {"root": None}}),
    ),
}
