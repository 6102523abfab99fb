"""Faults of the frontend in the picture on its screen."""

from collections.abc import Mapping
from functools import reduce
from typing import Any

from mocks.deviations import Fault, Subtle, Table, fault
from mocks.steps import Change, alter, delay, first, having, only, since, skip, then
from mocks.vexide.display import HEIGHT, WIDTH, Display, Point
from mocks.vexide.frontend import Frontend
from mocks.vexide.terminal import Terminal

BLACK = {"r": 0, "g": 0, "b": 0}


def display(*changes: Change) -> Change:
    """Use a display with these changes."""
    changed = reduce(lambda base, change: change.applied(base), changes, Display)
    return then("__init__", lambda frontend, *_: setattr(frontend, "display", changed()))


def row(change: Any) -> Change:
    """Draw the rows of shapes elsewhere: `change` takes and returns y, left and right."""
    return display(alter("_row", lambda _, y, left, right, color: (*change(y, left, right), color)))


def _show(display: Display, *_: Any) -> None:
    display._shown[:] = display._target


def _run_on(display: Display, y: int, left: int, right: int, color: bytes) -> None:
    if right >= WIDTH and y + 1 < HEIGHT:
        Display._row(display, y + 1, max(left - WIDTH, 0), right - WIDTH, color)


def _is_left_of_screen(_: Display, command: tuple[str, Any], color: Any) -> bool:
    kind, content = command
    return kind == "CopyBuffer" and content["top_left"]["x"] < 0


def _exchange_red_and_blue(_: Display, command: Any, color: Mapping[str, int]) -> Any:
    return command, {**color, "r": color["b"], "b": color["r"]}


FAULTS = Table(Frontend)

FAULTS["screen.drawing"] = {
    "screen-upside-down": Fault(
        "Counts coordinates from the bottom of the screen.",
        row(lambda y, left, right: (HEIGHT - 1 - y, left, right)),
    ),
    "hundred-drawings": Subtle(
        "Shows the first hundred drawings of a session and ignores the others.",
        display(only("draw", first(100))),
    ),
    "fills-overtaken": Subtle(
        "Fills a shape with a delay, so that later drawings come below it.",
        delay("draw", 0.01, lambda _, drawing: drawing["command"][0] == "Fill"),
    ),
    "undrawn-while-touched": Subtle(
        "Draws nothing while its user touches the display.", skip("draw", having("touched"))
    ),
    "clear-is-black": Subtle(
        "Fills the screen with black at ScreenClear, with any colour.",
        display(alter("clear", lambda *_: BLACK)),
    ),
    "circle-as-outline": Subtle(
        "Draws only the outline of a filled circle.",
        display(alter("_circle", lambda _, form, fill, color: (form, False, color))),
    ),
    "red-and-blue-exchanged": Subtle(
        "Exchanges red and blue of filled or outlined shapes.",
        display(alter("draw", _exchange_red_and_blue)),
    ),
    "lines-run-on": Subtle(
        "Draws parts beyond the right edge at the left edge, one row lower.",
        display(then("_row", _run_on)),
    ),
    "dies-beyond-the-edge": Subtle(
        "Draws nothing more after pixels were copied to the left of the screen.",
        display(skip("draw", since(_is_left_of_screen))),
    ),
    "last-column-undrawn": Subtle(
        "Draws no part of a shape in the last column of the screen.",
        row(lambda y, left, right: (y, left, min(right, WIDTH - 2))),
    ),
}

FAULTS["screen.double-buffering"] = {
    "buffer-shown-at-once": Fault(
        "Shows drawings at once although double buffering is on.", display(skip("double_buffer"))
    ),
    "clear-unbuffered": Subtle(
        "Clears the screen at once although double buffering is on.",
        display(then("clear", _show)),
    ),
    "buffering-sticks": Subtle(
        "Continues to buffer drawings after double buffering was disabled.",
        display(only("double_buffer", lambda _, enable: enable)),
    ),
}


class Showing(Frontend):
    """Uses another class of display: `DISPLAY`."""

    DISPLAY: type[Display]

    def __init__(self, world: Any, terminal: Terminal) -> None:
        super().__init__(world, terminal)
        self.display = self.DISPLAY()


@fault("last-row-uncleared", violates="screen.drawing", subtle=True)
class LastRowUncleared(Showing):
    """Leaves the last row of the screen unchanged at ScreenClear."""

    class DISPLAY(Display):
        def clear(self, color: Mapping[str, int]) -> None:
            row = self._target[-3 * WIDTH :]
            super().clear(color)
            self._target[-3 * WIDTH :] = row


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


@fault("stride-ignored", violates="screen.drawing", subtle=True)
class StrideIgnored(Showing):
    """Assumes that the lines of a pixel buffer are as long as the area's width."""

    class DISPLAY(Display):
        def _copy(self, top_left: Point, bottom_right: Point, stride: int, buffer: bytes) -> None:
            super()._copy(top_left, bottom_right, bottom_right["x"] - top_left["x"], buffer)


@fault("buffer-of-64k", violates="framing.long-lines", subtle=True)
class BufferOf64K(Showing):
    """Draws only the first 64 KiB of a pixel buffer."""

    class DISPLAY(Display):
        def _copy(self, top_left: Point, bottom_right: Point, stride: int, buffer: bytes) -> None:
            super()._copy(top_left, bottom_right, stride, buffer[:65536])


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
