"""Lenient mocks: mistakes of a peer that a lab or a robot can forgive."""

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
    """Accepts data without some mandatory fields, as older robots send it; needs cmd and token."""

    def missing(self, data: Mapping[str, Any]) -> list[str]:
        found = super().missing(data)
        if forgiven := [name for name in found if name not in NEEDED]:
            note(f"forgiven: {', '.join(forgiven)} is missing or null")
        return [name for name in found if name in NEEDED]


@lenient("unknown-commands", of="commands.lab")
class UnknownCommands(Robot):
    """Treats an unknown command as repeat, for example stopprogram of newer labs."""

    def command(self, answer: Frame | None) -> str:
        command = super().command(answer)
        if command and command not in ("repeat", "abort", "update", "download"):
            note(f"forgiven: the command {command[:80]!r}")
            return "repeat"
        return command
