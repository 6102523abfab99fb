"""Faults of the server in the execution of trainer commands, and in its answers."""

import re
from typing import Any

from conformance.codec import Frame
from mocks.deviations import Fault, Subtle, Table, fault
from mocks.simspark.faults.server.bases import for_all
from mocks.simspark.monitor_port import Monitor
from mocks.simspark.server import Server
from mocks.steps import alter, before, delay, die, instead, noted, put, since, skip, then

EXPONENT = re.compile(r"[-+.0-9]+[eE][-+0-9]+")


def _keep_hearing(server: Server, monitor: Monitor, command: object) -> None:
    vars(server)["hearing"] = monitor


NOTES_TRAINER = before("hear_command", _keep_hearing)
HEARING = noted("hearing")


def _answer_error(server: Server, why: str) -> None:
    vars(server)["hearing"].send("(error (unknown command))")


def _answer_done(server: Server, command: list[Any]) -> None:
    vars(server)["hearing"].send("(ack done)")


def _acknowledge(_: Server, monitor: Monitor, frame: Frame) -> None:
    for command in frame.value if isinstance(frame.value, list) else ():
        if isinstance(command, list) and command[:1] == ["getAck"] and len(command) > 1:
            monitor.send(f"(ack {command[1]})")


def _without_exponents(server: Server, part: Any) -> Any:
    if isinstance(part, list):
        return [_without_exponents(server, item) for item in part]
    return "0" if isinstance(part, str) and EXPONENT.fullmatch(part) else part


def _parameters(command: Any) -> list[Any]:
    return [text for part in command if isinstance(part, list) for text in part[1:]]


FAULTS = Table(Server)

FAULTS["frame.segmentation"] = {
    "long-commands-overtaken": Subtle(
        "Executes a long message later, and the next message before it.",
        delay("hear_monitor", 0.05, lambda _, monitor, frame: len(frame.raw) > 50),
    ),
}

FAULTS["trainer.errors-silent"] = {
    "errors-returned": Fault(
        "Answers a command that it cannot execute.",
        NOTES_TRAINER,
        instead("complain", _answer_error, HEARING),
    ),
    "states-end-at-errors": Subtle(
        "Sends no more states after a command that it cannot execute.",
        then("complain", put("erred", True)),
        skip("tell_monitors", noted("erred")),
    ),
    "unknown-words-returned": Subtle(
        "Answers an unknown command, but no other wrong command.",
        NOTES_TRAINER,
        instead("complain", _answer_error, HEARING & (lambda _, why: "there is no command" in why)),
    ),
}

FAULTS["robustness.unknown-commands"] = {
    "closes-upon-errors": Subtle(
        "Closes the connection of a trainer that names an unknown play mode.",
        then(
            "hear_command",
            lambda _, monitor, command: monitor.close(),
            lambda _, monitor, command: command == ["playMode", "NoSuchMode"],
        ),
    ),
}

FAULTS["ack.form"] = {
    "other-cookie": Subtle(
        "Answers getAck with a wrong cookie.",
        NOTES_TRAINER,
        instead("do_get_ack", _answer_done, HEARING),
    ),
}

FAULTS["ack.after-the-command"] = {
    "acknowledges-first": Subtle(
        "Answers getAck at once, and executes all commands half a second later.",
        delay("hear_monitor", 0.5),
        before("hear_monitor", _acknowledge),
    ),
}

FAULTS["move-agent.temperature"] = {
    "temperature-in-kelvin": Fault(
        "Adds 273 degrees to the temperature of a command.",
        alter("agent_temperature", lambda _, robot, values: (robot, [str(float(values[0]) + 273)])),
    ),
    "one-temperature-for-all": Subtle(
        "Sets the temperature of all robots.", for_all("agent_temperature")
    ),
}

FAULTS["text.numbers"] = {
    "exponents-as-zero": Subtle(
        "Takes a coordinate with an exponent for 0.", alter("execute", _without_exponents)
    ),
}

FAULTS["robustness.odd-numbers"] = {
    "dies-of-infinite-numbers": Fault(
        "Dies of a coordinate that is not finite.",
        before(
            "execute",
            die,
            lambda _, command: any(text in ("nan", "inf") for text in _parameters(command)),
        ),
    ),
    "mute-after-great-numbers": Subtle(
        "Executes no command after a coordinate that a double cannot hold.",
        skip("execute", since(lambda _, command: "1e400" in _parameters(command))),
    ),
}


@fault("commands-held-back", violates="monitors.commands", subtle=True)
class CommandsHeldBack(Server):
    """Executes a command of a monitor only after the next message."""

    def hear_monitor(self, monitor: Monitor, frame: Frame) -> None:
        held = monitor.memory.get("held")
        monitor.memory["held"] = frame
        if held:
            super().hear_monitor(monitor, held)
