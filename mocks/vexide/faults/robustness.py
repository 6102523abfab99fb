"""Faults of either mock with unknown or wrong input, or at the end of input."""

import asyncio

from conformance.codec import Frame
from mocks.deviations import fault
from mocks.shapes import Unfit
from mocks.vexide.faults.bases import Hanging, die
from mocks.vexide.session import Session


@fault("unknown-name-dies", violates="robustness.unknown-message")
class UnknownNameDies(Session):
    """Crashes at a message with an unknown name."""

    def unknown(self, name: str) -> None:
        die()


@fault("unknown-word-hangs", violates="robustness.unknown-message", subtle=True)
class UnknownWordHangs(Hanging):
    """Stops serving at an unknown message that is a bare name."""

    def take(self, frame: Frame) -> None:
        known = frame.name is None or frame.name in self.INCOMING.variants
        if self.handshaken and not known and isinstance(frame.value, str):
            self.stuck = True
        super().take(frame)


@fault("malformed-dies", violates="robustness.malformed-line")
class MalformedDies(Session):
    """Crashes at a line that is not a message."""

    def malformed(self, frame: Frame) -> None:
        die()


@fault("bad-text-dies", violates="robustness.malformed-line", subtle=True)
class BadTextDies(Session):
    """Crashes at a line that is not UTF-8."""

    def malformed(self, frame: Frame) -> None:
        if "not UTF-8" in (frame.error or ""):
            die()
        super().malformed(frame)


@fault("unfit-hangs", violates="robustness.malformed-line", subtle=True)
class UnfitHangs(Hanging):
    """Stops serving at a known message with a value that does not fit its type."""

    def unusable(self, name: str, error: Unfit) -> None:
        super().unusable(name, error)
        self.stuck = "unknown variant" not in str(error)


@fault("strange-field-dies", violates="robustness.unknown-fields")
class StrangeFieldDies(Session):
    """Crashes at an unknown field in a message."""

    def report_unknown_fields(self, name: str, fields: list[str]) -> None:
        die()


@fault("strange-inner-field-hangs", violates="robustness.unknown-fields", subtle=True)
class StrangeInnerFieldHangs(Hanging):
    """Stops serving at an unknown field inside a value of a message."""

    def report_unknown_fields(self, name: str, fields: list[str]) -> None:
        super().report_unknown_fields(name, fields)
        self.stuck = any("." in field for field in fields)


@fault("second-handshake-dies", violates="robustness.second-handshake")
class SecondHandshakeDies(Session):
    """Crashes at a second Handshake."""

    def second_handshake(self) -> None:
        die()


@fault("second-handshake-hangs", violates="robustness.second-handshake", subtle=True)
class SecondHandshakeHangs(Hanging):
    """Stops serving at a second Handshake."""

    def second_handshake(self) -> None:
        self.stuck = True


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
