"""Faults of the frontend where it meets what is open, undefined or wrong."""

from typing import Any

from mocks.deviations import fault
from mocks.shapes import Unfit
from mocks.vexide import defects
from mocks.vexide.defects import Hanging
from mocks.vexide.frontend import Frontend


@fault("unknown-status-ends", violates="devices.status-open")
class UnknownStatusEnds(Frontend):
    """Ends the session upon a kind of device status that it does not know."""

    def unusable(self, name: str, error: Unfit) -> None:
        super().unusable(name, error)
        if name == "DeviceUpdate" and "variant" in str(error):
            self.close()


@fault("unknown-status-hangs", violates="devices.status-open", subtle=True)
class UnknownStatusHangs(Hanging, Frontend):
    """Stops serving upon a kind of device status that it does not know."""

    def unusable(self, name: str, error: Unfit) -> None:
        super().unusable(name, error)
        self.stuck = name == "DeviceUpdate" and "variant" in str(error)


@fault("robot-state-ends", violates="events.undefined-tolerated")
class RobotStateEnds(Frontend):
    """Ends the session upon a RobotState."""

    def state(self, content: Any) -> None:
        self.close()


@fault("unlink-hangs", violates="events.undefined-tolerated", subtle=True)
class UnlinkHangs(Hanging, Frontend):
    """Stops serving upon a VEXLinkDisconnect."""

    def unlink(self, content: dict[str, Any]) -> None:
        self.stuck = True


@fault("unknown-name-dies", violates="robustness.unknown-message")
class UnknownNameDies(defects.UnknownNameDies, Frontend):
    """Dies of a message of a name that it does not know."""


@fault("unknown-word-hangs", violates="robustness.unknown-message", subtle=True)
class UnknownWordHangs(defects.UnknownWordHangs, Frontend):
    """Stops serving upon an unknown message that is a bare name."""


@fault("malformed-dies", violates="robustness.malformed-line")
class MalformedDies(defects.MalformedDies, Frontend):
    """Dies of a line that is no message."""


@fault("bad-text-dies", violates="robustness.malformed-line", subtle=True)
class BadTextDies(defects.BadTextDies, Frontend):
    """Dies of a line that is no UTF-8."""


@fault("unfit-hangs", violates="robustness.malformed-line", subtle=True)
class UnfitHangs(defects.UnfitHangs, Frontend):
    """Stops serving upon a known message with a value that does not fit."""


@fault("strange-field-dies", violates="robustness.unknown-fields")
class StrangeFieldDies(defects.StrangeFieldDies, Frontend):
    """Dies of an unknown field in an event."""


@fault("strange-inner-field-hangs", violates="robustness.unknown-fields", subtle=True)
class StrangeInnerFieldHangs(defects.StrangeInnerFieldHangs, Frontend):
    """Stops serving upon an unknown field inside a value of an event."""


@fault("second-handshake-dies", violates="robustness.second-handshake")
class SecondHandshakeDies(defects.SecondHandshakeDies, Frontend):
    """Dies of a second Handshake."""


@fault("second-handshake-hangs", violates="robustness.second-handshake", subtle=True)
class SecondHandshakeHangs(defects.SecondHandshakeHangs, Frontend):
    """Stops serving upon a second Handshake."""


@fault("outlives-input", violates="robustness.input-end")
class OutlivesInput(defects.OutlivesInput, Frontend):
    """Leaves its side of the stream open when the simulator has closed the other."""


@fault("outlives-input-before-start", violates="robustness.input-end", subtle=True)
class OutlivesInputBeforeStart(defects.OutlivesInput, Frontend):
    """Leaves its side of the stream open when the simulator closes before the program runs."""

    def lingers(self) -> bool:
        return not self.started
