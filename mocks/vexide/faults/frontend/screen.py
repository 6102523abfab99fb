"""Faults of the frontend in the picture on its screen."""

import asyncio
from collections.abc import Mapping
from typing import Any

from mocks.deviations import fault
from mocks.vexide.display import HEIGHT, WIDTH, Display, Point
from mocks.vexide.frontend import Frontend
from mocks.vexide.terminal import Terminal


class Showing(Frontend):
    """Uses another class of display: `DISPLAY`."""

    DISPLAY: type[Display]

    def __init__(self, world: Any, terminal: Terminal) -> None:
        super().__init__(world, terminal)
        self.display = self.DISPLAY()


@fault("screen-upside-down", violates="screen.drawing")
class ScreenUpsideDown(Showing):
    """Counts coordinates from the bottom of the screen."""

    class DISPLAY(Display):
        def _row(self, y: int, left: int, right: int, color: bytes) -> None:
            super()._row(HEIGHT - 1 - y, left, right, color)


@fault("hundred-drawings", violates="screen.drawing", subtle=True)
class HundredDrawings(Showing):
    """Shows the first hundred drawings of a session and ignores the others."""

    class DISPLAY(Display):
        count = 0

        def draw(self, command: tuple[str, Any], color: Mapping[str, int]) -> None:
            self.count += 1
            if self.count <= 100:
                super().draw(command, color)


@fault("fills-overtaken", violates="screen.drawing", subtle=True)
class FillsOvertaken(Frontend):
    """Fills a shape with a delay, so that later drawings come below it."""

    def draw(self, content: dict[str, Any]) -> None:
        kind, _ = content["command"]
        wait = 0.01 if kind == "Fill" else 0.0
        asyncio.get_running_loop().call_later(wait, super().draw, content)


@fault("undrawn-while-touched", violates="screen.drawing", subtle=True)
class UndrawnWhileTouched(Frontend):
    """Draws nothing while its user touches the display."""

    def draw(self, content: dict[str, Any]) -> None:
        if self.touched is None:
            super().draw(content)


@fault("clear-unbuffered", violates="screen.double-buffering", subtle=True)
class ClearUnbuffered(Showing):
    """Clears the screen at once although double buffering is on."""

    class DISPLAY(Display):
        def clear(self, color: Mapping[str, int]) -> None:
            super().clear(color)
            self._shown[:] = self._target


@fault("clear-is-black", violates="screen.drawing", subtle=True)
class ClearIsBlack(Showing):
    """Fills the screen with black at ScreenClear, with any colour."""

    class DISPLAY(Display):
        def clear(self, color: Mapping[str, int]) -> None:
            super().clear({"r": 0, "g": 0, "b": 0})


@fault("last-row-uncleared", violates="screen.drawing", subtle=True)
class LastRowUncleared(Showing):
    """Leaves the last row of the screen unchanged at ScreenClear."""

    class DISPLAY(Display):
        def clear(self, color: Mapping[str, int]) -> None:
            row = self._target[-3 * WIDTH :]
            super().clear(color)
            self._target[-3 * WIDTH :] = row


@fault("circle-as-outline", violates="screen.drawing", subtle=True)
class CircleAsOutline(Showing):
    """Draws only the outline of a filled circle."""

    class DISPLAY(Display):
        def _circle(self, form: Mapping[str, Any], fill: bool, color: bytes) -> None:
            super()._circle(form, False, color)


@fault("red-and-blue-exchanged", violates="screen.drawing", subtle=True)
class RedAndBlueExchanged(Showing):
    """Exchanges red and blue of filled or outlined shapes."""

    class DISPLAY(Display):
        def draw(self, command: tuple[str, Any], color: Mapping[str, int]) -> None:
            super().draw(command, {**color, "r": color["b"], "b": color["r"]})


@fault("lines-run-on", violates="screen.drawing", subtle=True)
class LinesRunOn(Showing):
    """Draws parts beyond the right edge at the left edge, one row lower."""

    class DISPLAY(Display):
        def _row(self, y: int, left: int, right: int, color: bytes) -> None:
            super()._row(y, left, right, color)
            if right >= WIDTH and y + 1 < HEIGHT:
                super()._row(y + 1, max(left - WIDTH, 0), right - WIDTH, color)


@fault("copied-lines-run-on", violates="screen.drawing", subtle=True)
class CopiedLinesRunOn(Showing):
    """Copies pixels from beyond the left edge to the right edge, as in adjacent memory."""

    class DISPLAY(Display):
        def _copy(self, top_left: Point, bottom_right: Point, stride: int, buffer: bytes) -> None:
            super()._copy(top_left, bottom_right, stride, buffer)
            beyond = -top_left["x"]
            if beyond > 0:
                at, to = {"x": WIDTH - beyond, "y": top_left["y"]}, bottom_right["y"]
                super()._copy(at, {"x": WIDTH, "y": to}, stride, buffer)


@fault("dies-beyond-the-edge", violates="screen.drawing", subtle=True)
class DiesBeyondTheEdge(Showing):
    """Draws nothing more after pixels were copied to the left of the screen."""

    class DISPLAY(Display):
        dead = False

        def draw(self, command: tuple[str, Any], color: Mapping[str, int]) -> None:
            kind, content = command
            self.dead |= kind == "CopyBuffer" and content["top_left"]["x"] < 0
            if not self.dead:
                super().draw(command, color)


@fault("stride-ignored", violates="screen.drawing", subtle=True)
class StrideIgnored(Showing):
    """Assumes that the lines of a pixel buffer are as long as the area's width."""

    class DISPLAY(Display):
        def _copy(self, top_left: Point, bottom_right: Point, stride: int, buffer: bytes) -> None:
            super()._copy(top_left, bottom_right, bottom_right["x"] - top_left["x"], buffer)


@fault("buffer-of-64k", violates="screen.drawing", subtle=True)
class BufferOf64K(Showing):
    """Draws only the first 64 KiB of a pixel buffer."""

    class DISPLAY(Display):
        def _copy(self, top_left: Point, bottom_right: Point, stride: int, buffer: bytes) -> None:
            super()._copy(top_left, bottom_right, stride, buffer[:65536])


@fault("last-column-undrawn", violates="screen.drawing", subtle=True)
class LastColumnUndrawn(Showing):
    """Draws no part of a shape in the last column of the screen."""

    class DISPLAY(Display):
        def _row(self, y: int, left: int, right: int, color: bytes) -> None:
            super()._row(y, left, min(right, WIDTH - 2), color)


@fault("buffer-upside-down", violates="screen.drawing", subtle=True)
class BufferUpsideDown(Showing):
    """Treats the first line of a pixel buffer as the lowest, as in stored textures."""

    class DISPLAY(Display):
        def _copy(self, top_left: Point, bottom_right: Point, stride: int, buffer: bytes) -> None:
            size = 4 * stride
            height = bottom_right["y"] - top_left["y"]
            lines = [buffer[start : start + size] for start in range(0, height * size, size)]
            super()._copy(top_left, bottom_right, stride, b"".join(reversed(lines)))


@fault("one-pixel-buffer", violates="screen.drawing", subtle=True)
class OnePixelBuffer(Showing):
    """Draws the pixels of the first buffer for each later buffer."""

    class DISPLAY(Display):
        first: bytes | None = None

        def _copy(self, top_left: Point, bottom_right: Point, stride: int, buffer: bytes) -> None:
            if self.first is None:
                self.first = buffer
            super()._copy(top_left, bottom_right, stride, self.first)


@fault("one-copy", violates="screen.drawing", subtle=True)
class OneCopy(Showing):
    """Draws one pixel buffer in a session and ignores the others."""

    class DISPLAY(Display):
        copied = False

        def _copy(self, top_left: Point, bottom_right: Point, stride: int, buffer: bytes) -> None:
            if not self.copied:
                super()._copy(top_left, bottom_right, stride, buffer)
            self.copied = True


@fault("buffer-shown-at-once", violates="screen.double-buffering")
class BufferShownAtOnce(Showing):
    """Shows drawings at once although double buffering is on."""

    class DISPLAY(Display):
        def double_buffer(self, enable: bool) -> None:
            pass


@fault("render-shows-the-last-buffer", violates="screen.double-buffering", subtle=True)
class RenderShowsTheLastBuffer(Showing):
    """Shows the last buffer at a ScreenRender, even after double buffering was disabled."""

    class DISPLAY(Display):
        kept = bytearray(3 * WIDTH * HEIGHT)

        def double_buffer(self, enable: bool) -> None:
            if not enable:
                self.kept = self._target
            super().double_buffer(enable)

        def render(self) -> None:
            if self._target is self._shown:
                self._shown[:] = self.kept
            super().render()


@fault("buffering-sticks", violates="screen.double-buffering", subtle=True)
class BufferingSticks(Showing):
    """Continues to buffer drawings after double buffering was disabled."""

    class DISPLAY(Display):
        def double_buffer(self, enable: bool) -> None:
            if enable:
                super().double_buffer(enable)
