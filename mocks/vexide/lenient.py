"""Errors of their peers that the mocks can accept."""

from typing import Any

from conformance.codec import Frame
from mocks.deviations import lenient
from mocks.vexide.session import Session


@lenient("forms-of-0-2", of="encoding.externally-tagged", roles=("simulator",))
class FormsOf02(Session):
    """Accepts controllers and touches in the form of version 0.2 of the published crate."""

    def message(self, name: str, value: Any) -> None:
        super().message(name, self.of_today(name, value))

    def of_today(self, name: str, value: Any) -> Any:
        match value:
            case {"ControllerUpdate": [update, _]}:
                today: Any = {"ControllerUpdate": update}
            case {"Touch": {"pos": [x, y], **rest}}:
                today = {"Touch": {"pos": {"x": x, "y": y}, **rest}}
            case _:
                return value
        self.stream.tell("forgiven", f"forgiven: {name} in the form of version 0.2")
        return today


@lenient("commands-early", of="handshake.nothing-before")
class CommandsEarly(Session):
    """Delays messages that come before the handshake until the handshake is finished."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.early: list[Frame] = []

    def take(self, frame: Frame) -> None:
        if frame.name != "Handshake" and not self.handshaken and len(self.early) < 100:
            self.stream.tell("forgiven", f"forgiven: {frame.name} before the handshake")
            self.early.append(frame)
            return
        super().take(frame)
        if self.handshaken:
            waiting, self.early = self.early, []
            for each in waiting:
                super().take(each)
