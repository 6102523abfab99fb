"""Faults of the frontend with events: logs, device states, undefined events, the end."""

import asyncio
import re
from collections.abc import Callable
from typing import Any

from conformance.codec import Frame
from mocks.deviations import Fault, Subtle, Table, fault
from mocks.steps import (
    Change,
    When,
    alter,
    before,
    call,
    die,
    first,
    hang,
    instead,
    note,
    noted,
    only,
    skip,
    then,
)
from mocks.vexide.faults.bases import RUNNING, member, named
from mocks.vexide.frontend import Frontend

EXIT = call("conclude", "exited", "the robot program has ended")
"""Report to the user that the program has ended normally."""
UNKNOWN_STATUS = named("DeviceUpdate") & (lambda _, name, error: "variant" in str(error))


def level(name: str) -> When:
    return When(lambda _, log: log["level"] == name)


def shown(change: Callable[[str], str]) -> Change:
    """Show what a function makes of the text of a Log."""
    return alter("log", lambda _, log: {**log, "message": change(log["message"])})


def ends_at(holds: Callable[[Any], bool]) -> Change:
    """End the session at a DeviceUpdate with a motor that has a property."""

    def with_such(_: Frontend, name: str, value: Any) -> bool:
        motor = member(value, "DeviceUpdate", "status", "Motor")
        return motor is not None and holds(motor)

    return instead("message", "close", with_such)


FAULTS = Table(Frontend)

FAULTS["exit.internal-error"] = {
    "close-is-exit": Fault(
        "Treats a stream that closes without Exited as the program's end.",
        instead("internal_error", EXIT),
    ),
    "log-of-exit-is-exit": Subtle(
        "Treats a Log with the text Exited as the event Exited.",
        then("log", EXIT, lambda _, log: log["message"] == "Exited"),
    ),
    "close-while-running-is-exit": Subtle(
        "Treats a stream that closes without Exited as the program's end while the program runs.",
        instead("internal_error", EXIT, RUNNING),
    ),
    "last-line-lost": Subtle(
        "Ignores a last line without a newline.",
        before("input_ended", lambda frontend: frontend.decoder.end()),
    ),
    "close-after-an-error-is-exit": Subtle(
        "Treats a stream that closes without Exited after an Error Log as the program's end.",
        then("log", note("failed", level("Error"))),
        instead("internal_error", EXIT, noted("failed")),
    ),
    "dies-of-late-actions": Subtle(
        "Crashes if its user changes the competition mode after the simulator has gone.",
        before("user_competes", die, lambda frontend, _: frontend.ended),
    ),
}

FAULTS["log.tolerated"] = {
    "log-ends": Fault("Ends the session at a Log.", then("log", "close")),
    "log-before-ready-stalls": Subtle(
        "Ignores a Ready directly after a Log.",
        skip("handle", named("Ready") & noted("logged")),
        then("handle", note("logged", named("Log"))),
    ),
    "trace-hangs": Subtle(
        "Stops serving at a Log of level Trace.", then("log", hang, level("Trace"))
    ),
}

FAULTS["log.accessible"] = {
    "logs-hidden": Fault("Shows no Log to its user.", skip("log")),
    "logs-hidden-after-start": Subtle(
        "Shows no Log to its user while the program runs.", skip("log", RUNNING)
    ),
    "logs-cut": Subtle("Shows the first 100 characters of a Log.", shown(lambda text: text[:100])),
    "logs-up-to-zero": Subtle(
        "Shows a Log only up to a character with code 0.",
        shown(lambda text: text.partition("\0")[0]),
    ),
    "first-lines-of-logs": Subtle(
        "Shows the first line of a Log.", shown(lambda text: text.partition("\n")[0])
    ),
    "logs-as-formats": Subtle(
        "Treats the text of a Log as a format string without arguments.",
        shown(lambda text: re.sub("%[ds]", "0", text)),
    ),
    "ascii-of-logs": Subtle(
        "Shows only the ASCII characters of a Log.",
        shown(lambda text: text.encode("ascii", "ignore").decode()),
    ),
}

FAULTS["devices.status-open"] = {
    "unknown-status-ends": Fault(
        "Ends the session at an unknown kind of device status.",
        then("unusable", "close", UNKNOWN_STATUS),
    ),
    "unknown-status-hangs": Subtle(
        "Stops serving at an unknown kind of device status.",
        then("unusable", hang, UNKNOWN_STATUS),
    ),
}

FAULTS["events.undefined-tolerated"] = {
    "robot-state-ends": Fault("Ends the session at a RobotState.", instead("state", "close")),
    "unlink-hangs": Subtle("Stops serving at a VEXLinkDisconnect.", instead("unlink", hang)),
}

FAULTS["encoding.optional-null"] = {
    "null-target-ends": Fault(
        "Ends the session at a target position that is null.",
        ends_at(lambda motor: motor.get("target_position", 0) is None),
    ),
    "target-needed": Subtle(
        "Ends the session at a motor status whose target position is null or absent.",
        ends_at(lambda motor: "velocity" in motor and motor.get("target_position") is None),
    ),
}

FAULTS["encoding.optional-absent"] = {
    "absent-target-ends": Subtle(
        "Ends the session at a motor status without a target position.",
        ends_at(lambda motor: "velocity" in motor and "target_position" not in motor),
    ),
}

FAULTS["encoding.externally-tagged"] = {
    "two-hundred-events": Subtle(
        "Reads the first two hundred events of a session and ignores the others.",
        only("handle", first(200)),
    ),
    "dies-of-signature": Subtle(
        "Crashes at a VCodeSig.", before("message", die, named("VCodeSig"))
    ),
    "battery-kills-next": Subtle(
        "Crashes at the message after a Battery.",
        before("message", die, noted("doomed")),
        then("message", note("doomed", named("Battery"))),
    ),
    "empty-battery-exits": Subtle(
        "Treats an empty battery as the normal end of the program.",
        then("battery", call("end_normally", None), lambda _, battery: battery["capacity"] <= 0),
    ),
    "ends-where-a-motor-holds": Subtle(
        "Ends the session at a motor in the brake mode Hold.",
        ends_at(lambda motor: motor.get("brake_mode") == "Hold"),
    ),
    "ends-at-whole-numbers": Subtle(
        "Ends the session at a motor whose position is written without a fraction.",
        ends_at(lambda motor: isinstance(motor.get("position"), int)),
    ),
    "channels-from-one": Subtle(
        "Ends the session at serial data of channel 0.",
        then("serial", "close", lambda _, serial: not serial["channel"]),
    ),
    "serial-read-as-numbers": Fault(
        "Reads Serial data only as an array of numbers, and closes at other data.",
        instead(
            "message",
            "close",
            lambda _, name, value: isinstance(member(value, "Serial", "data"), str),
        ),
    ),
}


@fault("silence-is-an-error", violates="exit.internal-error", subtle=True)
class SilenceIsAnError(Frontend):
    """Treats one second without output of the program as an error of the simulator."""

    _silence: asyncio.TimerHandle | None = None

    def handle(self, name: str, content: Any) -> None:
        super().handle(name, content)
        self.wait()

    def start(self) -> None:
        super().start()
        self.wait()

    def wait(self) -> None:
        if self._silence:
            self._silence.cancel()
        if self.started:
            self._silence = asyncio.get_running_loop().call_later(1.0, self.give_up)

    def give_up(self) -> None:
        self.internal_error()
        self.close()


@fault("end-overtakes-events", violates="exit.internal-error", subtle=True)
class EndOvertakesEvents(Frontend):
    """Handles at most 20 events in 5 ms, and drops the others when the simulator has gone."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.waiting: list[Frame] = []

    def receive(self, data: bytes) -> None:
        idle = not self.waiting
        self.waiting += self.decoder.feed(data)
        if idle:
            self.work()

    def work(self) -> None:
        now, self.waiting = self.waiting[:20], self.waiting[20:]
        for frame in now:
            self.take(frame)
        if self.waiting and not self.ended:
            asyncio.get_running_loop().call_later(0.005, self.work)
