"""Faults of the simulator in drawings."""

import base64
from typing import Any

from conformance.vexide.codec import name_of
from mocks.deviations import fault
from mocks.vexide.faults.bases import Altering
from mocks.vexide.simulator import Simulator


@fault("draws-nothing", violates="execution.reports-changes", subtle=True)
class DrawsNothing(Simulator):
    """Sends no drawings of the program."""

    def send(self, message: Any) -> None:
        if not (name_of(message) or "").startswith("Screen"):
            super().send(message)


@fault("render-untold", violates="execution.reports-changes", subtle=True)
class RenderUntold(Simulator):
    """Reports that double buffering is on, but never sends ScreenRender."""

    def send(self, message: Any) -> None:
        if message != "ScreenRender":
            super().send(message)


@fault("pixels-in-hex", violates="screen.pixel-buffer")
class PixelsInHex(Altering, Simulator):
    """Writes pixels as hexadecimal digits with spaces."""

    def alter(self, name: str, content: Any) -> None:
        if name == "ScreenDraw" and (copy := content["command"].get("CopyBuffer")):
            copy["buffer"] = base64.b64decode(copy["buffer"]).hex(" ")


@fault("pixels-of-24-bits", violates="screen.pixel-buffer", subtle=True)
class PixelsOf24Bits(Altering, Simulator):
    """Packs pixels into three bytes each, and loses the last byte."""

    def alter(self, name: str, content: Any) -> None:
        if name == "ScreenDraw" and (copy := content["command"].get("CopyBuffer")):
            data = base64.b64decode(copy["buffer"])
            packed = b"".join(data[i : i + 3] for i in range(0, len(data) - 4, 4))
            copy["buffer"] = base64.b64encode(packed).decode()


@fault("color-256", violates="types.color-range")
class Color256(Altering, Simulator):
    """Writes 256 for a full colour component."""

    def alter(self, name: str, content: Any) -> None:
        if name == "ScreenDraw":
            color = content["color"]
            content["color"] = {key: value + value // 255 for key, value in color.items()}


@fault("background-negative", violates="types.color-range", subtle=True)
class BackgroundNegative(Altering, Simulator):
    """Writes -1 for the background colour of copied pixels."""

    def alter(self, name: str, content: Any) -> None:
        if name == "ScreenDraw" and "CopyBuffer" in content["command"]:
            content["background"]["b"] = -1


@fault("stride-zero", violates="types.stride-nonzero")
class StrideZero(Altering, Simulator):
    """Writes a stride of zero, as if the width determined the stride."""

    def alter(self, name: str, content: Any) -> None:
        if name == "ScreenDraw" and (copy := content["command"].get("CopyBuffer")):
            copy["stride"] = 0


@fault("circle-adjacent", violates="encoding.externally-tagged", subtle=True)
class CircleAdjacent(Altering, Simulator):
    """Tags a circle, but no other shape, adjacently."""

    def alter(self, name: str, content: Any) -> None:
        if name == "ScreenDraw":
            for command in content["command"].values():
                circle = command.get("shape", {}).get("Circle")
                if circle is not None:
                    command["shape"] = {"type": "Circle", "content": circle}
