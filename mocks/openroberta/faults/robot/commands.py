"""Faults of the robot in its reaction to commands and errors."""

from typing import Any

from conformance.codec import Frame
from mocks.deviations import Fault, Subtle, Table, fault
from mocks.openroberta.faults.robot.bases import ASKS_COMMAND, answered, calls, said
from mocks.openroberta.http import Caller
from mocks.openroberta.robot import COMMANDS, Robot
from mocks.steps import (
    Change,
    Function,
    When,
    after,
    before,
    die,
    exit_process,
    having,
    instead,
    note,
    noted,
    returning,
    skip,
    wait,
    wait_for_ever,
)

REFUSED = answered(lambda answer: answer.name == "Refusal")
CONFIGURATION = When(lambda _, command: command == "configuration")


async def _open_or_exit(usual: Function, caller: Caller) -> Any:
    try:
        return await usual(caller)
    except ConnectionRefusedError:
        exit_process()


FAULTS = Table(Robot)

FAULTS["commands.configuration"] = {
    "dies-of-configuration": Fault(
        "Crashes after the command configuration.", before("disturbed", die, CONFIGURATION)
    ),
    "stops-at-configuration": Subtle(
        "Waits for a configuration that never comes.",
        before("disturbed", wait_for_ever, CONFIGURATION),
    ),
}

FAULTS["robustness.unknown-command"] = {
    "stops-at-unknown": Fault(
        "Stops after an unknown command.",
        before("disturbed", wait_for_ever, lambda _, command: command and command not in COMMANDS),
    ),
    "dies-of-numbers": Subtle(
        "Crashes after a command that is a number.",
        before("command", die, answered(lambda answer: isinstance(said(answer).get("cmd"), int))),
    ),
}

FAULTS["robustness.abort-of-push"] = {
    "abort-of-push-is-nothing": Fault(
        "Goes on pushing after an abort of a push.",
        returning(
            "command",
            lambda command: "repeat" if command == "abort" else command,
            having("sensing"),
        ),
    ),
}

FAULTS["robustness.lost-answers"] = {
    "first-error-ends": Fault(
        "Stops after an error in answer to a push.",
        before(
            "heard", wait_for_ever, ASKS_COMMAND & answered(lambda answer: answer.name == "Refusal")
        ),
    ),
    "any-loss-ends": Subtle(
        "Stops after an error in answer to a push, or after a lost answer.",
        before("disturbed", wait_for_ever, lambda _, command: not command),
    ),
    "unavailable-ends": Subtle(
        "Crashes after an answer with status 503.",
        before("command", die, answered(lambda a: a.value and a.value.get("status") == 503)),
    ),
    "refused-ends": Subtle(
        "Exits if its lab refuses a connection.", calls(Change("open", _open_or_exit))
    ),
    "dies-of-no-http": Subtle(
        "Crashes after an answer that is not HTTP.",
        before("command", die, answered(lambda answer: answer.name is None)),
    ),
}

FAULTS["robustness.no-storm"] = {
    "storms": Fault("Tries again without a pause.", skip("pause")),
    "storms-when-alone": Subtle(
        "Pushes again without a pause if its lab has closed the connection.",
        before("command", note("alone", lambda _, answer: answer is None)),
        skip("disturbed", noted("alone")),
    ),
    "storms-at-texts": Subtle(
        "Pushes again without a pause if an answer is no JSON object.",
        before(
            "command", note("text", answered(lambda answer: "json" not in (answer.value or ())))
        ),
        skip("disturbed", noted("text")),
    ),
    "pauses-once": Subtle("Pauses only before its second try.", skip("pause", after(1))),
    "pauses-for-a-moment": Subtle(
        "Pauses for 0.01 s before each try.", instead("pause", wait(0.01))
    ),
}

FAULTS["robustness.extra-members"] = {
    "finds-abort-anywhere": Subtle(
        "Reads an answer as abort if it contains this word anywhere.",
        instead("command", lambda *_: "abort", answered(lambda answer: b'"abort"' in answer.raw)),
    ),
    "finds-download-anywhere": Subtle(
        "Reads an answer as download if it contains this word anywhere.",
        instead(
            "command", lambda *_: "download", answered(lambda answer: b'"download"' in answer.raw)
        ),
    ),
    "known-members-only": Fault(
        "Crashes after an answer with unknown members.",
        before("command", die, answered(lambda answer: said(answer).keys() - {"cmd"})),
    ),
}


@fault("gives-up-when-alone", violates="robustness.lost-answers", subtle=True)
class GivesUpWhenAlone(Robot):
    """Crashes after its lab has closed four connections in a row."""

    losses = 0

    def command(self, answer: Frame | None) -> str:
        self.losses = self.losses + 1 if answer is None else 0
        if self.losses > 3:
            die()
        return super().command(answer)


@fault("last-text-counts", violates="robustness.extra-members", subtle=True)
class LastTextCounts(Robot):
    """Reads the last string of an answer as the command."""

    def command(self, answer: Frame | None) -> str:
        texts = answer.raw.split(b'"') if answer and super().command(answer) else []
        return texts[-2].decode("latin-1") if len(texts) > 2 else ""
