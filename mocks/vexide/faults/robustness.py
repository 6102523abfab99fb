"""Faults of either mock with unknown or wrong input, or at the end of input."""

import asyncio

from mocks.deviations import Fault, Subtle, Table, fault
from mocks.steps import When, before, die, hang, instead, then
from mocks.vexide.session import Session

UNKNOWN_WORD = When(
    lambda peer, frame: (
        peer.handshaken
        and isinstance(frame.value, str)
        and frame.name not in peer.INCOMING.variants
    )
)


def _inside_of_a_value(_: Session, name: str, fields: list[str]) -> bool:
    return any("." in field for field in fields)


FAULTS = Table(Session)

FAULTS["robustness.unknown-message"] = {
    "unknown-name-dies": Fault(
        "Crashes at a message with an unknown name.", instead("unknown", die)
    ),
    "unknown-word-hangs": Subtle(
        "Stops serving at an unknown message that is a bare name.",
        before("take", hang, UNKNOWN_WORD),
    ),
}

FAULTS["robustness.malformed-line"] = {
    "malformed-dies": Fault("Crashes at a line that is not a message.", instead("malformed", die)),
    "bad-text-dies": Subtle(
        "Crashes at a line that is not UTF-8.",
        before("malformed", die, lambda _, frame: "not UTF-8" in (frame.error or "")),
    ),
    "unfit-hangs": Subtle(
        "Stops serving at a known message with a value that does not fit its type.",
        then("unusable", hang, lambda _, name, error: "unknown variant" not in str(error)),
    ),
}

FAULTS["robustness.unknown-fields"] = {
    "strange-field-dies": Fault(
        "Crashes at an unknown field in a message.", instead("report_unknown_fields", die)
    ),
    "strange-inner-field-hangs": Subtle(
        "Stops serving at an unknown field inside a value of a message.",
        then("report_unknown_fields", hang, _inside_of_a_value),
    ),
}

FAULTS["robustness.second-handshake"] = {
    "second-handshake-dies": Fault(
        "Crashes at a second Handshake.", instead("second_handshake", die)
    ),
    "second-handshake-hangs": Subtle(
        "Stops serving at a second Handshake.", instead("second_handshake", hang)
    ),
}


@fault("outlives-input", violates="robustness.input-end")
class OutlivesInput(Session):
    """Leaves its side of the stream open after the peer has closed the other side."""

    left = False

    def lingers(self) -> bool:
        """Return True if the fault applies now."""
        return True

    def input_ended(self) -> None:
        self.left = self.lingers()
        if not self.left:
            super().input_ended()

    async def leave(self) -> None:
        if self.left:
            await asyncio.Event().wait()
        await super().leave()
