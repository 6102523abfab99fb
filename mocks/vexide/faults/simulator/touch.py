"""Faults of the simulator with touches of the display."""

from typing import Any

from mocks.deviations import fault
from mocks.vexide.robot import Robot
from mocks.vexide.simulator import Simulator


@fault("touch-ignored", violates="touch.registered")
class TouchIgnored(Simulator):
    """Ignores Touch."""

    def touch(self, content: dict[str, Any]) -> None:
        pass


@fault("touch-transposed", violates="touch.registered", subtle=True)
class TouchTransposed(Simulator):
    """Exchanges the coordinates of a held touch, but of no other touch."""

    def touch(self, content: dict[str, Any]) -> None:
        if content["event"] == "Held":
            x, y = content["pos"]["x"], content["pos"]["y"]
            content = {**content, "pos": {"x": y, "y": x}}
        super().touch(content)


@fault("touch-at-zero-ignored", violates="touch.registered", subtle=True)
class TouchAtZeroIgnored(Simulator):
    """Ignores a touch if a coordinate is zero."""

    def touch(self, content: dict[str, Any]) -> None:
        if content["pos"]["x"] and content["pos"]["y"]:
            super().touch(content)


@fault("touch-held-still", violates="touch.registered", subtle=True)
class TouchHeldStill(Simulator):
    """Does not notice that a held touch moves."""

    def touch(self, content: dict[str, Any]) -> None:
        before = self.robot.touch or {"event": "Released"}
        if content["event"] != "Held" or before["event"] != "Held":
            super().touch(content)


@fault("touch-before-start-only", violates="touch.registered", subtle=True)
class TouchBeforeStartOnly(Simulator):
    """Ignores Touch while the program runs."""

    def touch(self, content: dict[str, Any]) -> None:
        if not self.started:
            super().touch(content)


@fault("touch-lost-disabled", violates="touch.registered", subtle=True)
class TouchLostDisabled(Simulator):
    """Forgets a touch of the display when the robot is disabled."""

    def compete(self, content: dict[str, Any]) -> None:
        super().compete(content)
        if not content["enabled"]:
            self.robot.touch = None


class Untouched(Robot):
    """A robot whose program reports nothing about the display until the first touch."""

    def serial(self, channel: int, data: bytes) -> None:
        if self.touch is not None or not data.startswith(b"touch"):
            super().serial(channel, data)


@fault("touch-ignored-disabled", violates="touch.registered", subtle=True)
class TouchIgnoredDisabled(Simulator):
    """Ignores a touch while the robot is disabled; the program reports only touches."""

    def build(self) -> Robot:
        return Untouched()

    def touch(self, content: dict[str, Any]) -> None:
        if self.robot.competition["enabled"]:
            super().touch(content)


@fault("touch-of-setup-lost", violates="touch.registered", subtle=True)
class TouchOfSetupLost(Simulator):
    """Starts its program without the touches of setup; the program reports only touches."""

    def build(self) -> Robot:
        return Untouched()

    def execute(self) -> None:
        self.robot.touch = None
        super().execute()
