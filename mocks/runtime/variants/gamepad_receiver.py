"""Lawful variants of the receiver of gamepad input."""

from typing import Any

from conformance.runtime.memory.catalog import Parameter
from mocks.deviations import variant
from mocks.runtime.gamepad_receiver import Receiver


@variant("buttons-elsewhere", of="receiver.buttons")
class ButtonsElsewhere(Receiver):
    """Keeps buttons in an integer named btn only, which the catalog may not have."""

    def buttons(self, pad: dict[str, Any], params: list[Parameter], into: dict[str, Any]) -> None:
        pass
