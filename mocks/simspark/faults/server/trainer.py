"""Faults of the server in the execution of trainer commands, and in its answers."""

import asyncio
import re
from functools import partial
from typing import Any

from conformance.codec import Frame
from mocks.deviations import fault
from mocks.simspark.faults.decoders import die
from mocks.simspark.monitor_port import Monitor
from mocks.simspark.robot import Robot
from mocks.simspark.server import Server


@fault("commands-held-back", violates="monitors.commands", subtle=True)
class CommandsHeldBack(Server):
    """Executes a command of a monitor only after the next message."""

    def hear_monitor(self, monitor: Monitor, frame: Frame) -> None:
        held = monitor.memory.get("held")
        monitor.memory["held"] = frame
        if held:
            super().hear_monitor(monitor, held)


@fault("long-commands-overtaken", violates="frame.segmentation", subtle=True)
class LongCommandsOvertaken(Server):
    """Executes a long message later, and the next message before it."""

    def hear_monitor(self, monitor: Monitor, frame: Frame) -> None:
        execute = partial(super().hear_monitor, monitor, frame)
        asyncio.get_running_loop().call_later(0.05 * (len(frame.raw) > 50), execute)


@fault("errors-returned", violates="trainer.errors-silent")
class ErrorsReturned(Server):
    """Answers a command that it cannot execute."""

    hearing: Monitor | None = None

    def hear_command(self, monitor: Monitor, expression: object) -> None:
        self.hearing = monitor
        super().hear_command(monitor, expression)

    def complain(self, why: str) -> None:
        if self.hearing:
            self.hearing.send("(error (unknown command))")


@fault("unknown-words-returned", violates="trainer.errors-silent", subtle=True)
class UnknownWordsReturned(ErrorsReturned):
    """Answers an unknown command, but no other wrong command."""

    def complain(self, why: str) -> None:
        if "there is no command" in why:
            super().complain(why)


@fault("closes-upon-errors", violates="robustness.unknown-commands", subtle=True)
class ClosesUponErrors(Server):
    """Closes the connection of a trainer that names an unknown play mode."""

    def hear_command(self, monitor: Monitor, expression: object) -> None:
        super().hear_command(monitor, expression)
        if expression == ["playMode", "NoSuchMode"]:
            monitor.close()


@fault("other-cookie", violates="ack.form", subtle=True)
class OtherCookie(Server):
    """Answers getAck with a wrong cookie."""

    hearing: Monitor | None = None

    def hear_command(self, monitor: Monitor, expression: object) -> None:
        self.hearing = monitor
        super().hear_command(monitor, expression)

    def do_get_ack(self, command: list[Any]) -> None:
        if self.hearing:
            self.hearing.send("(ack done)")


@fault("acknowledges-first", violates="ack.after-the-command", subtle=True)
class AcknowledgesFirst(OtherCookie):
    """Answers getAck at once, and executes all commands half a second later."""

    def hear_monitor(self, monitor: Monitor, frame: Frame) -> None:
        for command in frame.value if isinstance(frame.value, list) else ():
            if isinstance(command, list) and command[:1] == ["getAck"] and len(command) > 1:
                monitor.send(f"(ack {command[1]})")
        asyncio.get_running_loop().call_later(0.5, super().hear_monitor, monitor, frame)

    def do_get_ack(self, command: list[Any]) -> None:
        pass


@fault("temperature-in-kelvin", violates="move-agent.temperature")
class TemperatureInKelvin(Server):
    """Adds 273 degrees to the temperature of a command."""

    def agent_temperature(self, robot: Robot, values: list[Any]) -> None:
        super().agent_temperature(robot, [str(float(values[0]) + 273)])


@fault("one-temperature-for-all", violates="move-agent.temperature", subtle=True)
class OneTemperatureForAll(Server):
    """Sets the temperature of all robots."""

    def agent_temperature(self, robot: Robot, values: list[Any]) -> None:
        for each in self.world.robots:
            super().agent_temperature(each, values)


@fault("exponents-as-zero", violates="text.numbers", subtle=True)
class ExponentsAsZero(Server):
    """Takes a coordinate with an exponent for 0."""

    def execute(self, command: Any) -> None:
        super().execute(_zero_exponents(command))


def _zero_exponents(part: Any) -> Any:
    if isinstance(part, list):
        return [_zero_exponents(item) for item in part]
    written = isinstance(part, str) and re.fullmatch(r"[-+.0-9]+[eE][-+0-9]+", part)
    return "0" if written else part


@fault("dies-of-infinite-numbers", violates="robustness.odd-numbers")
class DiesOfInfiniteNumbers(Server):
    """Dies of a coordinate that is not finite."""

    def execute(self, command: Any) -> None:
        texts = [text for part in command if isinstance(part, list) for text in part[1:]]
        if any(text in ("nan", "inf") for text in texts):
            die()
        super().execute(command)


@fault("mute-after-great-numbers", violates="robustness.odd-numbers", subtle=True)
class MuteAfterGreatNumbers(Server):
    """Executes no command after a coordinate that a double cannot hold."""

    broken = False

    def execute(self, command: Any) -> None:
        texts = [text for part in command if isinstance(part, list) for text in part[1:]]
        self.broken = self.broken or "1e400" in texts
        if not self.broken:
            super().execute(command)
