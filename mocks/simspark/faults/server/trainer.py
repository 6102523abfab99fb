"""Faults of the server in the execution of trainer commands, and in its answers."""

import asyncio
from functools import partial
from typing import Any

from conformance.codec import Frame
from mocks.deviations import fault
from mocks.simspark.monitor_port import Monitor
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
