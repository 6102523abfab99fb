"""What the mocks of labs and robots can forgive their peers."""

from collections.abc import Mapping
from typing import Any

from conformance.codec import Frame
from mocks.deviations import lenient
from mocks.openroberta.lab import Lab
from mocks.openroberta.robot import Robot
from mocks.run import note

NEEDED = ("cmd", "token")


@lenient("fields-left-out", of="data.menuversion")
class FieldsLeftOut(Lab):
    """Takes a robot that leaves out fields of its data, as older ones do, but for cmd and token."""

    def missing(self, data: Mapping[str, Any]) -> list[str]:
        found = super().missing(data)
        if forgiven := [name for name in found if name not in NEEDED]:
            note(f"forgiven: {', '.join(forgiven)} is missing or null")
        return [name for name in found if name in NEEDED]


@lenient("unknown-commands", of="commands.lab")
class UnknownCommands(Robot):
    """Takes a command that it does not know, such as stopprogram of newer labs, for a repeat."""

    def command(self, answer: Frame | None) -> str:
        command = super().command(answer)
        if command and command not in ("repeat", "abort", "update", "download"):
            note(f"forgiven: the command {command[:80]!r}")
            return "repeat"
        return command
