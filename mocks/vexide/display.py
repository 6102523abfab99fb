"""The Brain's display in the frontend mock: pixels, a double buffer, a picture as text."""

from collections.abc import Mapping
from math import isqrt
from typing import Any

WIDTH, HEIGHT = 480, 272  # pixels
CELL_WIDTH, CELL_HEIGHT = 8, 16  # pixels for one character of text
SHADES = " .:-=+*#%@"

Point = Mapping[str, int]


class Display:
    """Executes drawing events.

    `text` is the current picture for a user. A pixel has three bytes: red, green, blue.
    """

    def __init__(self) -> None:
        self.drawn = False
        self._shown = bytearray(3 * WIDTH * HEIGHT)
        self._target = self._shown  # the target of drawings: the visible pixels or a second buffer

    def double_buffer(self, enable: bool) -> None:
        self._target = bytearray(self._shown) if enable else self._shown

    def render(self) -> None:
        self._shown[:] = self._target

    def clear(self, color: Mapping[str, int]) -> None:
        self.drawn = True
        self._target[:] = _pixel(color) * (WIDTH * HEIGHT)

    def draw(self, command: tuple[str, Any], color: Mapping[str, int]) -> None:
        """Draw a `DrawCommand`; parts outside of the display are cut off."""
        self.drawn = True
        kind, content = command
        if kind == "CopyBuffer":
            self._copy(**content)
        else:
            shape, form = content["shape"]
            getattr(self, f"_{shape.lower()}")(form, kind == "Fill", _pixel(color))

    def pixels(self) -> bytes:
        """Return the visible pixels, row by row from the top."""
        return bytes(self._shown)

    def text(self) -> str:
        """Return the picture as text; a character shows the brightest pixel of its cell."""
        lines = []
        for top in range(0, HEIGHT, CELL_HEIGHT):
            size = 3 * WIDTH
            starts = range(top * size, (top + CELL_HEIGHT) * size, size)
            # Most rows equal their neighbours, so duplicates are removed to save time.
            rows = {bytes(self._shown[start : start + size]) for start in starts}
            peaks = [
                max(max(row[left : left + 3 * CELL_WIDTH]) for row in rows)
                for left in range(0, size, 3 * CELL_WIDTH)
            ]
            lines.append("".join(SHADES[peak * (len(SHADES) - 1) // 255] for peak in peaks))
        return "\n".join(line.rstrip() for line in lines)

    def _rectangle(self, form: Mapping[str, Point], fill: bool, color: bytes) -> None:
        left, top = form["top_left"]["x"], form["top_left"]["y"]
        right, bottom = form["bottom_right"]["x"], form["bottom_right"]["y"]
        for y in _within(top, bottom, HEIGHT):
            if fill or y in (top, bottom):
                self._row(y, left, right, color)
            else:
                self._row(y, left, left, color)
                self._row(y, right, right, color)

    def _circle(self, form: Mapping[str, Any], fill: bool, color: bytes) -> None:
        x, y, radius = form["center"]["x"], form["center"]["y"], form["radius"]
        for row in _within(y - radius, y + radius, HEIGHT):
            half = isqrt(radius * radius - (row - y) ** 2)
            inner = 0 if fill else isqrt(max((radius - 1) ** 2 - (row - y) ** 2, 0))
            self._row(row, x - half, x - inner, color)
            self._row(row, x + inner, x + half, color)

    def _pixel(self, form: Mapping[str, Point], fill: bool, color: bytes) -> None:
        for y in _within(form["pos"]["y"], form["pos"]["y"], HEIGHT):
            self._row(y, form["pos"]["x"], form["pos"]["x"], color)

    def _row(self, y: int, left: int, right: int, color: bytes) -> None:
        columns = _within(left, right, WIDTH)
        start = 3 * (y * WIDTH + columns.start)
        self._target[start : start + 3 * len(columns)] = color * len(columns)

    def _copy(self, top_left: Point, bottom_right: Point, stride: int, buffer: bytes) -> None:
        left, top = top_left["x"], top_left["y"]
        columns = _within(left, bottom_right["x"] - 1, WIDTH)
        for y in _within(top, bottom_right["y"] - 1, HEIGHT):
            first = ((y - top) * stride + columns.start - left) * 4
            if first < 0:
                continue  # before the buffer: a negative stride shows only its first row
            pixels = buffer[first : first + len(columns) * 4]
            # A pixel in the robot's memory has the bytes blue, green, red and an unused byte.
            whole = len(pixels) // 4
            colors = bytearray(3 * whole)
            for byte in range(3):
                colors[byte::3] = pixels[2 - byte : 4 * whole : 4]
            start = 3 * (y * WIDTH + columns.start)
            self._target[start : start + len(colors)] = colors


def _within(first: int, last: int, size: int) -> range:
    """Return the indices from first to last (both included) between 0 and size."""
    start = min(max(first, 0), size)
    return range(start, max(start, min(last + 1, size)))


def _pixel(color: Mapping[str, int]) -> bytes:
    return bytes((color["r"], color["g"], color["b"]))
