"""Faults of the simulator with the battery and the SD card."""

import asyncio
import urllib.parse
from typing import Any

from mocks.deviations import fault
from mocks.vexide.faults.bases import Altering, member
from mocks.vexide.robot import Robot
from mocks.vexide.simulator import Simulator


@fault("battery-full-is-100", violates="battery.default")
class BatteryFullIs100(Simulator):
    """Begins with a battery of 100 Wh, as if the value were a percentage."""

    def build(self) -> Robot:
        robot = super().build()
        robot.capacity = 100.0
        return robot


@fault("battery-energy-is-voltage", violates="battery.default", subtle=True)
class BatteryEnergyIsVoltage(Simulator):
    """Begins with a battery of 12.8 Wh, the value of its voltage."""

    def build(self) -> Robot:
        robot = super().build()
        robot.capacity = 12.8
        return robot


@fault("capacity-ignored", violates="battery.set-capacity")
class CapacityIgnored(Simulator):
    """Ignores SetBatteryCapacity."""

    def set_capacity(self, content: dict[str, Any]) -> None:
        pass


@fault("capacity-whole", violates="battery.set-capacity", subtle=True)
class CapacityWhole(Simulator):
    """Rounds the given capacity down to whole watt-hours."""

    def set_capacity(self, content: dict[str, Any]) -> None:
        super().set_capacity({"capacity": float(int(content["capacity"]))})


@fault("capacity-without-point-refused", violates="battery.set-capacity", subtle=True)
class CapacityWithoutPointRefused(Simulator):
    """Ignores a capacity that is written as an integer."""

    def message(self, name: str, value: Any) -> None:
        if not isinstance(member(value, "SetBatteryCapacity", "capacity"), int):
            super().message(name, value)


@fault("capacity-before-start-only", violates="battery.set-capacity", subtle=True)
class CapacityBeforeStartOnly(Simulator):
    """Ignores SetBatteryCapacity while the program runs."""

    def set_capacity(self, content: dict[str, Any]) -> None:
        if not self.started:
            super().set_capacity(content)


@fault("capacity-set-once", violates="battery.set-capacity", subtle=True)
class CapacitySetOnce(Simulator):
    """Accepts only the first SetBatteryCapacity of a session."""

    full = True

    def set_capacity(self, content: dict[str, Any]) -> None:
        if self.full:
            super().set_capacity(content)
        self.full = False


@fault("capacity-of-zero-unset", violates="battery.set-capacity", subtle=True)
class CapacityOfZeroUnset(Simulator):
    """Treats a capacity of zero as missing, and keeps the old capacity."""

    def set_capacity(self, content: dict[str, Any]) -> None:
        if content["capacity"]:
            super().set_capacity(content)


@fault("battery-told-whole", violates="battery.set-capacity", subtle=True)
class BatteryToldWhole(Altering, Simulator):
    """Sends the battery in whole watt-hours; the program sees the exact value."""

    def alter(self, name: str, content: Any) -> None:
        if name == "Battery":
            content["capacity"] = int(content["capacity"])


@fault("battery-told-full", violates="battery.set-capacity", subtle=True)
class BatteryToldFull(Altering, Simulator):
    """Always reports a full battery; the program sees the set capacity."""

    def alter(self, name: str, content: Any) -> None:
        if name == "Battery":
            content["capacity"] = 14.0


@fault("battery-told-behind", violates="battery.set-capacity", subtle=True)
class BatteryToldBehind(Altering, Simulator):
    """Reports the old capacity at each change; the program sees the new capacity."""

    before = 14.0

    def alter(self, name: str, content: Any) -> None:
        if name == "Battery":
            content["capacity"], self.before = self.before, content["capacity"]


@fault("never-mounts", violates="sdcard.mounted")
class NeverMounts(Simulator):
    """Never mounts an SD card."""

    def mount(self, content: dict[str, Any]) -> None:
        pass


@fault("mounts-once", violates="sdcard.mounted", subtle=True)
class MountsOnce(Simulator):
    """Mounts no SD card after a card was unmounted."""

    mounted = False

    def mount(self, content: dict[str, Any]) -> None:
        if content["root"] is None or not self.mounted:
            super().mount(content)
        self.mounted = self.mounted or content["root"] is not None


@fault("mounts-before-start-only", violates="sdcard.mounted", subtle=True)
class MountsBeforeStartOnly(Simulator):
    """Mounts no SD card while the program runs."""

    def mount(self, content: dict[str, Any]) -> None:
        if content["root"] is None or not self.started:
            super().mount(content)


@fault("mounts-while-enabled-only", violates="sdcard.mounted", subtle=True)
class MountsWhileEnabledOnly(Simulator):
    """Mounts no SD card while the robot is disabled."""

    def mount(self, content: dict[str, Any]) -> None:
        if self.robot.competition["enabled"] or content["root"] is None:
            super().mount(content)


@fault("mounts-no-other-while-running", violates="sdcard.mounted", subtle=True)
class MountsNoOtherWhileRunning(MountsOnce):
    """Mounts no other SD card while the program runs."""

    def mount(self, content: dict[str, Any]) -> None:
        # A card that is exchanged before the program runs does not count as another card.
        self.mounted = self.mounted and self.started
        super().mount(content)


@fault("card-path-cut", violates="sdcard.mounted", subtle=True)
class CardPathCut(Simulator):
    """Keeps only the first 127 characters of the SD card's path."""

    def mount(self, content: dict[str, Any]) -> None:
        root = content["root"]
        super().mount({"root": root and root[:127]})


@fault("card-path-as-a-url", violates="sdcard.mounted", subtle=True)
class CardPathAsAUrl(Simulator):
    """Decodes percent signs in the SD card's path, as in a URL."""

    def mount(self, content: dict[str, Any]) -> None:
        root = content["root"]
        super().mount({**content, "root": root and urllib.parse.unquote(root)})


@fault("card-in-memory", violates="sdcard.mounted", subtle=True)
class CardInMemory(Simulator):
    """Keeps files of the SD card in memory, and writes nothing to the directory."""

    def build(self) -> Robot:
        return MemoryCard()


class MemoryCard(Robot):
    """A robot whose files are in memory."""

    def write_file(self, name: str, data: bytes) -> None:
        self._path(name)
        self.files = {name: data}

    def read_file(self, name: str) -> bytes:
        return self.files[name]


@fault("never-unmounts", violates="sdcard.unmounted")
class NeverUnmounts(Simulator):
    """Never unmounts the SD card."""

    def mount(self, content: dict[str, Any]) -> None:
        if content["root"] is not None:
            super().mount(content)


@fault("mount-overtaken", violates="sdcard.unmounted", subtle=True)
class MountOvertaken(Simulator):
    """Mounts an SD card with a delay, even if it was unmounted meanwhile."""

    def mount(self, content: dict[str, Any]) -> None:
        if content["root"] is None:
            super().mount(content)
        else:
            asyncio.get_running_loop().call_later(0.05, super().mount, content)


@fault("absent-root-ends", violates="encoding.optional-absent")
class AbsentRootEnds(Simulator):
    """Ends the session at a USD without root, instead of treating root as null."""

    def message(self, name: str, value: Any) -> None:
        if name == "USD" and member(value, "USD") == {}:
            self.close()
        else:
            super().message(name, value)


@fault("null-root-refused", violates="encoding.optional-null")
class NullRootRefused(Simulator):
    """Ends the session at a USD with a null root; an absent root is accepted."""

    def message(self, name: str, value: Any) -> None:
        if member(value, "USD") == {"root": None}:
            self.close()
        else:
            super().message(name, value)
