"""Faults of the frontend with events: logs, device states, undefined events, the end."""

import asyncio
import re
from typing import Any

from mocks.deviations import fault
from mocks.shapes import Unfit
from mocks.vexide.faults.bases import Hanging, die
from mocks.vexide.frontend import Frontend


@fault("close-is-exit", violates="exit.internal-error")
class CloseIsExit(Frontend):
    """Treats a stream that closes without Exited as the program's end."""

    def internal_error(self) -> None:
        self.conclude("exited", "the robot program has ended")


@fault("log-of-exit-is-exit", violates="exit.internal-error", subtle=True)
class LogOfExitIsExit(Frontend):
    """Treats a Log with the text Exited as the event Exited."""

    def log(self, content: dict[str, Any]) -> None:
        super().log(content)
        if content["message"] == "Exited":
            self.conclude("exited", "the robot program has ended")


@fault("close-while-running-is-exit", violates="exit.internal-error", subtle=True)
class CloseWhileRunningIsExit(CloseIsExit):
    """Treats a stream that closes without Exited as the program's end while the program runs."""

    def internal_error(self) -> None:
        if self.started:
            super().internal_error()
        else:
            Frontend.internal_error(self)


@fault("last-line-lost", violates="exit.internal-error", subtle=True)
class LastLineLost(Frontend):
    """Ignores a last line without a newline."""

    def input_ended(self) -> None:
        self.decoder.end()
        super().input_ended()


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


@fault("close-after-an-error-is-exit", violates="exit.internal-error", subtle=True)
class CloseAfterAnErrorIsExit(CloseIsExit):
    """Treats a stream that closes without Exited after an Error Log as the program's end."""

    failed = False

    def log(self, content: dict[str, Any]) -> None:
        super().log(content)
        self.failed = content["level"] == "Error"

    def internal_error(self) -> None:
        if self.failed:
            super().internal_error()
        else:
            Frontend.internal_error(self)


@fault("two-hundred-events", violates="encoding.externally-tagged", subtle=True)
class TwoHundredEvents(Frontend):
    """Reads the first two hundred events of a session and ignores the others."""

    taken = 0

    def handle(self, name: str, content: Any) -> None:
        self.taken += 1
        if self.taken <= 200:
            super().handle(name, content)


@fault("log-ends", violates="log.tolerated")
class LogEnds(Frontend):
    """Ends the session at a Log."""

    def log(self, content: dict[str, Any]) -> None:
        super().log(content)
        self.close()


@fault("log-before-ready-stalls", violates="log.tolerated", subtle=True)
class LogBeforeReadyStalls(Frontend):
    """Ignores a Ready directly after a Log."""

    logged = False

    def handle(self, name: str, content: Any) -> None:
        if name != "Ready" or not self.logged:
            super().handle(name, content)
        self.logged = name == "Log"


@fault("trace-hangs", violates="log.tolerated", subtle=True)
class TraceHangs(Hanging, Frontend):
    """Stops serving at a Log of level Trace."""

    def log(self, content: dict[str, Any]) -> None:
        super().log(content)
        self.stuck = content["level"] == "Trace"


@fault("logs-hidden", violates="log.accessible")
class LogsHidden(Frontend):
    """Shows no Log to its user."""

    def log(self, content: dict[str, Any]) -> None:
        pass


@fault("logs-hidden-after-start", violates="log.accessible", subtle=True)
class LogsHiddenAfterStart(Frontend):
    """Shows no Log to its user while the program runs."""

    def log(self, content: dict[str, Any]) -> None:
        if not self.started:
            super().log(content)


@fault("logs-cut", violates="log.accessible", subtle=True)
class LogsCut(Frontend):
    """Shows the first 100 characters of a Log."""

    def log(self, content: dict[str, Any]) -> None:
        super().log({**content, "message": content["message"][:100]})


@fault("logs-up-to-zero", violates="log.accessible", subtle=True)
class LogsUpToZero(Frontend):
    """Shows a Log only up to a character with code 0."""

    def log(self, content: dict[str, Any]) -> None:
        super().log({**content, "message": content["message"].partition("\0")[0]})


@fault("first-lines-of-logs", violates="log.accessible", subtle=True)
class FirstLinesOfLogs(Frontend):
    """Shows the first line of a Log."""

    def log(self, content: dict[str, Any]) -> None:
        super().log({**content, "message": content["message"].partition("\n")[0]})


@fault("logs-as-formats", violates="log.accessible", subtle=True)
class LogsAsFormats(Frontend):
    """Treats the text of a Log as a format string without arguments."""

    def log(self, content: dict[str, Any]) -> None:
        super().log({**content, "message": re.sub("%[ds]", "0", content["message"])})


@fault("ascii-of-logs", violates="log.accessible", subtle=True)
class AsciiOfLogs(Frontend):
    """Shows only the ASCII characters of a Log."""

    def log(self, content: dict[str, Any]) -> None:
        message = content["message"].encode("ascii", "ignore").decode()
        super().log({**content, "message": message})


@fault("unknown-status-ends", violates="devices.status-open")
class UnknownStatusEnds(Frontend):
    """Ends the session at an unknown kind of device status."""

    def unusable(self, name: str, error: Unfit) -> None:
        super().unusable(name, error)
        if name == "DeviceUpdate" and "variant" in str(error):
            self.close()


@fault("unknown-status-hangs", violates="devices.status-open", subtle=True)
class UnknownStatusHangs(Hanging, Frontend):
    """Stops serving at an unknown kind of device status."""

    def unusable(self, name: str, error: Unfit) -> None:
        super().unusable(name, error)
        self.stuck = name == "DeviceUpdate" and "variant" in str(error)


@fault("robot-state-ends", violates="events.undefined-tolerated")
class RobotStateEnds(Frontend):
    """Ends the session at a RobotState."""

    def state(self, content: Any) -> None:
        self.close()


@fault("unlink-hangs", violates="events.undefined-tolerated", subtle=True)
class UnlinkHangs(Hanging, Frontend):
    """Stops serving at a VEXLinkDisconnect."""

    def unlink(self, content: dict[str, Any]) -> None:
        self.stuck = True


@fault("battery-kills-next", violates="encoding.externally-tagged", subtle=True)
class BatteryKillsNext(Frontend):
    """Crashes at the message after a Battery."""

    doomed = False

    def message(self, name: str, value: Any) -> None:
        if self.doomed:
            die()
        self.doomed = name == "Battery"
        super().message(name, value)


@fault("empty-battery-exits", violates="encoding.externally-tagged", subtle=True)
class EmptyBatteryExits(Frontend):
    """Treats an empty battery as the normal end of the program."""

    def battery(self, content: dict[str, Any]) -> None:
        super().battery(content)
        if content["capacity"] <= 0:
            self.end_normally(None)


class Ending(Frontend):
    """Ends the session at a motor status for which `ends` returns True."""

    def message(self, name: str, value: Any) -> None:
        match value:
            case {"DeviceUpdate": {"status": {"Motor": motor}}} if self.ends(motor):
                self.close()
            case _:
                super().message(name, value)

    def ends(self, motor: dict[str, Any]) -> bool:
        raise NotImplementedError


@fault("null-target-ends", violates="encoding.optional-null")
class NullTargetEnds(Ending):
    """Ends the session at a target position that is null."""

    def ends(self, motor: dict[str, Any]) -> bool:
        return motor.get("target_position", 0) is None


@fault("target-needed", violates="encoding.optional-null", subtle=True)
class TargetNeeded(Ending):
    """Ends the session at a motor status whose target position is null or absent."""

    def ends(self, motor: dict[str, Any]) -> bool:
        return "velocity" in motor and motor.get("target_position") is None


@fault("absent-target-ends", violates="encoding.optional-absent", subtle=True)
class AbsentTargetEnds(Ending):
    """Ends the session at a motor status without a target position."""

    def ends(self, motor: dict[str, Any]) -> bool:
        return "velocity" in motor and "target_position" not in motor


@fault("ends-where-a-motor-holds", violates="encoding.externally-tagged", subtle=True)
class EndsWhereAMotorHolds(Ending):
    """Ends the session at a motor in the brake mode Hold."""

    def ends(self, motor: dict[str, Any]) -> bool:
        return motor.get("brake_mode") == "Hold"


@fault("ends-at-whole-numbers", violates="encoding.externally-tagged", subtle=True)
class EndsAtWholeNumbers(Ending):
    """Ends the session at a motor whose position is written without a fraction."""

    def ends(self, motor: dict[str, Any]) -> bool:
        return isinstance(motor.get("position"), int)


@fault("channels-from-one", violates="encoding.externally-tagged", subtle=True)
class ChannelsFromOne(Frontend):
    """Ends the session at serial data of channel 0."""

    def serial(self, content: dict[str, Any]) -> None:
        super().serial(content)
        if not content["channel"]:
            self.close()


@fault("serial-read-as-numbers", violates="encoding.externally-tagged")
class SerialReadAsNumbers(Frontend):
    """Reads Serial data only as an array of numbers, and closes at other data."""

    def message(self, name: str, value: Any) -> None:
        if name != "Serial":
            super().message(name, value)
        elif isinstance(value[name]["data"], str):
            self.close()
