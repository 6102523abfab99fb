"""Faults of the frontend in the handshake."""

from typing import Any

from conformance.codec import Frame
from mocks.deviations import Fault, Subtle, Table, fault
from mocks.steps import When, before, first, instead, put, skip, then
from mocks.vexide.faults.bases import fields
from mocks.vexide.frontend import Frontend

STRANGE = When(lambda _, content, strange: strange)
"""If the Handshake has unknown fields."""
EARLY = When(lambda frontend, frame: not frontend.handshaken and frame.name != "Handshake")
"""If an event comes before the Handshake."""


def _greet(frontend: Frontend, *_: Any) -> None:
    frontend.send(frontend.greeting())


def _refuse(frontend: Frontend, content: Any, strange: list[str]) -> None:
    frontend.refuse(f"unknown fields in the Handshake: {', '.join(strange)}")


def _take_for_answer(frontend: Frontend, event: Any) -> None:
    frontend.handshaken = True
    frontend.set_up()


FAULTS = Table(Frontend)

FAULTS["handshake.frontend-begins"] = {
    "waits-to-be-greeted": Fault(
        "Sends no Handshake until the simulator has sent one Handshake.",
        skip("opened"),
        before("handle_handshake", _greet),
    ),
    "greets-when-spoken-to": Subtle(
        "Sends its Handshake only after the simulator has sent data.",
        skip("opened"),
        before("receive", _greet, first(1)),
    ),
}

FAULTS["handshake.unknown-fields"] = {
    "unknown-handshake-field-ends": Fault(
        "Ends the session at an unknown field in the Handshake.",
        instead("handle_handshake", _refuse, STRANGE),
    ),
    "unknown-handshake-field-stalls": Subtle(
        "Never starts the program after an unknown field in the Handshake.",
        before("handle_handshake", put("started", True), STRANGE),
    ),
}

FAULTS["handshake.nothing-before"] = {
    "setup-before-answer": Fault(
        "Sends its setup directly after its Handshake, without waiting for the answer.",
        then("opened", "set_up"),
        instead("handle_handshake", put("handshaken", True)),
    ),
    "any-event-answers": Subtle(
        "Treats the first event of any kind as the answer to its Handshake.",
        before("take", _take_for_answer, EARLY),
    ),
}

FAULTS["handshake.version-one"] = {
    "version-two": Fault("Offers version 2, which does not exist.", fields("Handshake", version=2)),
}

FAULTS["handshake.field-types"] = {
    "version-as-text": Fault("Writes its version as a string.", fields("Handshake", version="1")),
    "no-extensions-null": Subtle(
        "Sends null if it has no extensions to offer.",
        fields("Handshake", extensions=lambda names: names or None),
    ),
}


@fault("devices-before-answer", violates="handshake.nothing-before", subtle=True)
class DevicesBeforeAnswer(Frontend):
    """Sends the configuration of a device before the answer to its Handshake."""

    def opened(self) -> None:
        super().opened()
        self.configure_devices()

    async def user_configures(self, args: dict[str, Any]) -> Any:
        await super().user_configures(args)
        if not self.handshaken:
            self.configure_device(next(reversed(self.world.devices)))

    def set_up(self) -> None:
        self.send_competition()
        self.send_state()


@fault("deaf-behind-the-handshake", violates="framing.segmentation", subtle=True)
class DeafBehindTheHandshake(Frontend):
    """Loses the lines behind the Handshake in the same read, before it listens to events."""

    listens = True

    def handle_handshake(self, content: dict[str, Any], strange: list[str]) -> None:
        super().handle_handshake(content, strange)
        self.listens = False

    async def settle(self) -> None:
        self.listens = True
        await super().settle()

    def take(self, frame: Frame) -> None:
        if self.listens:
            super().take(frame)
