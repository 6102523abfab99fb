"""Lawful variants of publishers: log messages, gamepad input and updates."""

import ctypes
import math
import time
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from mocks.deviations import variant
from mocks.runtime import gamepad_sender, log_publisher, update_publisher


@variant("blank-in-timestamps", of="log.timestamp-separator")
class BlankInTimestamps(log_publisher.Publisher):
    """Writes a blank between the date and the time of a timestamp."""

    def timestamp(self, now: datetime) -> Any:
        return now.isoformat(sep=" ")


@variant("basic-timestamps", of="log.timestamp-form")
class BasicTimestamps(log_publisher.Publisher):
    """Writes timestamps in the basic format, without fractions."""

    def timestamp(self, now: datetime) -> Any:
        return now.strftime("%Y%m%dT%H%M%SZ")


@variant("no-empty-extra", of="log.extra-present")
class NoEmptyExtra(log_publisher.Publisher):
    """Omits an empty extra."""

    def publish(self, message: dict[str, Any]) -> None:
        super().publish({key: value for key, value in message.items() if value != {}})


@variant("drops-what-is-not-taken", of="log.each-once")
class DropsWhatIsNotTaken(log_publisher.Publisher):
    """Drops messages while its reader has not read the previous ones."""

    def publish(self, message: dict[str, Any]) -> None:
        if not self.stream.is_behind:
            super().publish(message)


@variant("more-context", of="log.context")
class MoreContext(log_publisher.Publisher):
    """Adds the process and the thread to the context in extra."""

    def context(self, extra: Mapping[str, Any]) -> Any:
        return {"process": "mock", "thread": 1, **extra}


@variant("whole-axes", of="gamepad.axes-floats")
class WholeAxes(gamepad_sender.Sender):
    """Sends axes with whole values as integers, as JavaScript does."""

    def axis(self, value: float) -> Any:
        return int(value) if value.is_integer() else value


@variant("square-within-the-circle", of="gamepad.full-range")
class SquareWithinTheCircle(gamepad_sender.Sender):
    """Scales the square of positions so that its corners are on the circle."""

    def joystick(self, x: float, y: float) -> tuple[float, float]:
        return x / math.sqrt(2), y / math.sqrt(2)


@variant("changed-gamepads", of="gamepad.each")
class ChangedGamepads(gamepad_sender.Sender):
    """Sends nothing if the gamepads have not changed since its last message."""

    latest = b""

    def write(self, data: bytes) -> None:
        if data != self.latest:
            super().write(data)
        self.latest = data


@variant("all-values", of="update.unchanged")
class AllValues(update_publisher.Publisher):
    """Sends all parameters in every update."""

    def values(self, uid: str) -> Any:
        return dict(self.devices[uid])


@variant("changes-only", of="update.first-values")
class ChangesOnly(update_publisher.Publisher):
    """Does not send the first values of a new device."""

    def connect(self, uid: str, params: update_publisher.Values, alias: str | None) -> None:
        super().connect(uid, params, alias)
        self.changed[uid] = {}


@variant("updates-at-once", of="update.goes-on")
class UpdatesAtOnce(update_publisher.Publisher):
    """Sends an update before and after it connects a device, and answers a moment later."""

    def connect(self, uid: str, params: update_publisher.Values, alias: str | None) -> None:
        self.update()
        super().connect(uid, params, alias)
        self.update()
        time.sleep(self.period / 2)


@variant("whole-floats", of="update.values")
class WholeFloats(update_publisher.Publisher):
    """Sends floats with whole values as integers."""

    def values(self, uid: str) -> Any:
        return {name: _to_integers(value) for name, value in self.changed[uid].items()}


def _to_integers(value: Any) -> Any:
    small = isinstance(value, float) and abs(value) < 2**53
    return int(value) if small and value.is_integer() else value


@variant("floats-of-single-precision", of="update.values")
class FloatsOfSinglePrecision(update_publisher.Publisher):
    """Stores floats in single precision; a greater float becomes infinite."""

    def values(self, uid: str) -> Any:
        return {name: _to_single(value) for name, value in self.changed[uid].items()}


@variant("context-in-single-precision", of="log.context")
class ContextInSinglePrecision(log_publisher.Publisher):
    """Stores floats of the context in single precision."""

    def context(self, extra: Mapping[str, Any]) -> Any:
        return {name: _to_single(value) for name, value in extra.items()}


def _to_single(value: Any) -> Any:
    if isinstance(value, list):
        return [_to_single(each) for each in value]
    return ctypes.c_float(value).value if isinstance(value, float) else value


@variant("no-empty-aliases", of="update.aliases-present")
class NoEmptyAliases(update_publisher.Publisher):
    """Omits aliases if no device has one."""

    def message(self) -> dict[str, Any]:
        return {name: part for name, part in super().message().items() if name == "sd" or part}


@variant("uids-of-64-bits", of="update.uid-width")
class UidsOf64Bits(update_publisher.Publisher):
    """Keeps a UID in 64 bits."""

    def uid(self, uid: str) -> str:
        return str(min(int(uid), 2**64 - 1))


@variant("told-by-parameters", of="update.goes-on")
class ToldByParameters(update_publisher.Publisher):
    """Sends an update only after a parameter has changed; other changes wait for it."""

    def update(self) -> None:
        if any(self.changed.values()):
            super().update()


@variant("repeats-left-out", of="log.each-once")
class RepeatsLeftOut(log_publisher.Publisher):
    """Omits a message that is equal to the previous one, apart from its timestamp."""

    before: Any = None

    def publish(self, message: dict[str, Any]) -> None:
        told = {**message, "timestamp": None}
        if told != self.before:
            super().publish(message)
        self.before = told


_OWN = "18446744073709551617"


@variant("devices-of-its-own", of="update.all-uids")
class DevicesOfItsOwn(update_publisher.Publisher):
    """Has an additional device with an alias and changing values."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.connect(_OWN, {"level": 0}, "built in")

    def update(self) -> None:
        self.change(_OWN, {"level": self.devices[_OWN]["level"] + 1})
        super().update()
