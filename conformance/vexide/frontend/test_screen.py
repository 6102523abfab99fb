"""The pixels of the frontend's screen, which the hook screen reports."""

import asyncio
import base64
import binascii
import contextlib
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from conformance.cases import check, requirement
from conformance.iut import Iut
from conformance.segmentation import whole
from conformance.session import Session
from conformance.verdicts import Inconclusive
from conformance.vexide.events import color, drawing
from conformance.vexide.frontend.tester import open_in_setup, operate, start_program

WIDTH, HEIGHT = 480, 272  # pixels of the Brain's display
NEAR = (
    24  # tolerance of each colour component (0 to 255): the frontend's display can differ slightly
)
POLL = 0.05  # seconds between two polls of the screen

BLACK, RED, GREEN, BLUE, WHITE = (
    color(0, 0, 0),
    color(220, 0, 0),
    color(0, 220, 0),
    color(0, 0, 220),
    color(255, 255, 255),
)


@dataclass(frozen=True)
class Spot:
    """A place with its expected colour.

    With ``around``, it is enough that a pixel within this distance has the colour.
    """

    x: int
    y: int
    color: dict[str, int]
    around: int = 0


def _fill(shape: Any, ink: Any) -> Any:
    return drawing({"Fill": {"shape": shape}}, ink)


def _stroke(shape: Any, ink: Any) -> Any:
    return drawing({"Stroke": {"shape": shape}}, ink)


BOX = {"Rectangle": {"top_left": {"x": 100, "y": 50}, "bottom_right": {"x": 200, "y": 150}}}
DISC = {"Circle": {"center": {"x": 240, "y": 136}, "radius": 130}}
DOT = {"Pixel": {"pos": {"x": 400, "y": 30}}}
# Each line of the buffer has four times the bytes of 10 pixels. The picture is therefore the same
# if stride counts pixels or bytes. White and black do not depend on the byte order of a pixel. If
# the frontend includes the bottom right corner, the picture has one more column and row. The event
# has less than 4 KiB, because a frontend that reads no longer lines can still draw.
_STRIDE, _ROWS, _WHITE_ROWS = 40, 14, 3
_LINE_OF_BYTES = _STRIDE // 4


def _copy(x: int, y: int, *, white: range) -> Any:
    """Return a CopyBuffer at this place.

    Columns in ``white`` are white in the first lines; all other pixels are black.
    """
    pixels = b"".join(
        (b"\xff" if column in white and line < 4 * _WHITE_ROWS else b"\0") * 4
        for line in range(_ROWS * _STRIDE // _LINE_OF_BYTES)
        for column in range(_LINE_OF_BYTES)
    )
    fields = {
        "top_left": {"x": x, "y": y},
        "bottom_right": {"x": x + 6, "y": y + 13},
        "stride": _STRIDE,
        "buffer": base64.b64encode(pixels).decode(),
    }
    return {"CopyBuffer": fields}


def _tall() -> Any:
    """Return a picture as high as the screen, of far more than 64 KiB.

    The upper part is black, and the lower part is white.
    """
    stride, black = 320, 250
    fields = {
        "top_left": {"x": 200, "y": 0},
        "bottom_right": {"x": 276, "y": HEIGHT - 1},
        "stride": stride,
        "buffer": base64.b64encode(
            b"\0" * black * stride + b"\xff" * (4 * HEIGHT - black) * stride
        ).decode(),
    }
    return {"CopyBuffer": fields}


PIXELS = _copy(300, 200, white=range(3))
COPIED = [Spot(301, 201, WHITE), Spot(304, 201, BLACK)]
_CLEAR = {"ScreenClear": {"color": BLACK}}
TALL = "copy-tall-buffer"  # a drawing in a long line
OUTSIDE = [Spot(20, 250, BLACK), Spot(460, 250, BLACK), Spot(60, 100, BLACK)]
DRAWINGS: dict[str, tuple[Any, Sequence[Spot]]] = {
    "clear": (
        {"ScreenClear": {"color": RED}},
        [Spot(x, y, RED) for x, y in ((0, 0), (479, 0), (240, 136), (0, 271), (479, 271))],
    ),
    "fill-rectangle": (
        _fill(BOX, BLUE),
        [
            *(Spot(x, y, BLUE) for x, y in ((103, 53), (150, 100), (197, 147))),
            *(Spot(x, y, BLACK) for x, y in ((95, 100), (205, 100), (150, 45), (150, 155))),
        ],
    ),
    "fill-circle": (
        _fill(DISC, GREEN),
        [
            *(Spot(x, y, GREEN) for x, y in ((240, 136), (115, 136), (240, 261), (325, 221))),
            *(Spot(x, y, BLACK) for x, y in ((102, 136), (378, 136), (340, 236))),
        ],
    ),
    "stroke-rectangle": (
        _stroke(BOX, BLUE),
        [
            *(Spot(x, y, BLUE, 2) for x, y in ((100, 100), (200, 100), (150, 50), (150, 150))),
            Spot(150, 100, BLACK),
        ],
    ),
    "stroke-circle": (
        _stroke(DISC, RED),
        [
            *(Spot(x, y, RED, 2) for x, y in ((110, 136), (370, 136), (240, 6), (240, 266))),
            Spot(240, 136, BLACK),
        ],
    ),
    "pixel": (
        _fill(DOT, GREEN),
        [Spot(400, 30, GREEN), Spot(406, 30, BLACK), Spot(400, 36, BLACK)],
    ),
    "copy-buffer": (
        drawing(PIXELS),
        [
            *COPIED,
            *(Spot(x, 201, BLACK) for x in (298, 305, 308)),
            *(Spot(x, y, BLACK) for x in (301, 304) for y in (198, 213, 216)),
        ],
    ),
    TALL: (
        drawing(_tall()),
        [*(Spot(230, y, BLACK) for y in (5, 50)), *(Spot(230, y, WHITE) for y in (255, 266))],
    ),
}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(
            name, marks=requirement("framing.long-lines" if name == TALL else "screen.drawing")
        )
        for name in DRAWINGS
    ],
)
async def test_drawing(iut: Iut, name: str) -> None:
    """A drawing on a cleared screen appears only at its place, in its colour."""
    event, spots = DRAWINGS[name]
    async with open_in_setup(iut) as session:
        await start_program(session)
        await session.send(_CLEAR, event)
        outside = OUTSIDE if name != "clear" else []
        wrong = await _first_difference(session, [*spots, *outside])
        check(not wrong, f"the screen after {name}", wrong)


@requirement("screen.drawing")
async def test_many_drawings(iut: Iut) -> None:
    """All drawings of a write appear, even if the write contains more than a hundred."""
    places = [(x, y) for y in (60, 140, 220) for x in range(10, WIDTH - 10, 10)]
    boxes = [
        {"Rectangle": {"top_left": {"x": x, "y": y}, "bottom_right": {"x": x + 4, "y": y + 4}}}
        for x, y in places
    ]
    async with _open_cleared(iut) as session:
        corners = [{"Pixel": {"pos": {"x": x, "y": HEIGHT - 1}}} for x in (0, WIDTH - 1)]
        pixels = [
            draw(corner, GREEN) for draw, corner in zip((_stroke, _fill), corners, strict=True)
        ]
        filled = [_fill(box, GREEN) for box in boxes]
        await session.send(*filled, *pixels, segmentation=whole)
        spots = [Spot(x + 2, y + 2, GREEN, 2) for x, y in places]
        spots += [Spot(x, HEIGHT - 1, GREEN) for x in (0, WIDTH - 1)]
        wrong = await _first_difference(session, spots)
        check(not wrong, f"the screen after {len(spots)} drawings in one write", wrong)


@requirement("screen.drawing")
async def test_drawings_in_order(iut: Iut) -> None:
    """If drawings in one write overlap, the later drawing is visible."""
    below = {"Rectangle": {"top_left": {"x": 290, "y": 190}, "bottom_right": {"x": 330, "y": 240}}}
    inside = {"Rectangle": {"top_left": {"x": 130, "y": 80}, "bottom_right": {"x": 170, "y": 120}}}
    drawings = [_fill(below, GREEN), drawing(PIXELS), _fill(BOX, BLUE), _fill(inside, GREEN)]
    async with _open_cleared(iut) as session:
        await session.send(*drawings, segmentation=whole)
        spots = [*COPIED, Spot(295, 195, GREEN), Spot(110, 60, BLUE), Spot(150, 100, GREEN)]
        wrong = await _first_difference(session, spots)
        check(not wrong, "the screen after overlapping drawings in one write", wrong)


@requirement("screen.drawing")
async def test_drawing_while_touched(iut: Iut) -> None:
    """A drawing that comes while the user touches the display appears."""
    async with _open_cleared(iut) as session:
        await operate(session, "touch", x=400, y=250, event="Pressed")
        await session.send(_fill(BOX, BLUE))
        wrong = await _first_difference(session, [Spot(150, 100, BLUE)])
        await operate(session, "touch", x=400, y=250, event="Released")
        check(not wrong, "the screen after a drawing during a touch", wrong)


@requirement("screen.drawing")
async def test_another_buffer(iut: Iut) -> None:
    """A second pixel buffer appears at its own place with its own pixels."""
    async with _open_cleared(iut) as session:
        second = _copy(100, 20, white=range(3, 10))
        await session.send(drawing(PIXELS), drawing(second))
        wrong = await _first_difference(
            session, [Spot(101, 21, BLACK), Spot(104, 21, WHITE), *COPIED]
        )
        check(not wrong, "the screen after two pixel buffers", wrong)


@requirement("screen.drawing")
async def test_drawing_beyond_the_edges(iut: Iut) -> None:
    """Parts of a drawing beyond the edges of the screen appear nowhere on the screen."""
    beyond = (
        {"Rectangle": {"top_left": {"x": 460, "y": 40}, "bottom_right": {"x": 560, "y": 90}}},
        {"Rectangle": {"top_left": {"x": -80, "y": 180}, "bottom_right": {"x": 20, "y": 230}}},
        {"Pixel": {"pos": {"x": 490, "y": 120}}},
    )
    copied = (_copy(-5, 250, white=range(3)), _copy(477, 5, white=range(3, 10)))
    async with _open_cleared(iut) as session:
        await session.send(*(_fill(shape, GREEN) for shape in beyond))
        await session.send(*map(drawing, copied), _fill(BOX, BLUE))
        # These places would change if a frontend wrote past the end of a line in its memory.
        right = [Spot(x, y, BLACK) for x in (3, 60) for y in (42, 65, 90)]
        left = [Spot(x, y, BLACK) for x in (420, 476) for y in (180, 200, 228, 251)]
        right += [Spot(1, y, BLACK) for y in (6, 7)]
        spots = [Spot(150, 100, BLUE), Spot(10, 121, BLACK), *right, *left]
        wrong = await _first_difference(session, spots)
        check(not wrong, "the screen after a box and drawings across the edges", wrong)


@requirement("screen.double-buffering")
async def test_double_buffering(iut: Iut) -> None:
    """While double buffering is on, drawings appear only after each ScreenRender."""
    async with _open_cleared(iut) as session:
        await session.send({"ScreenDoubleBufferMode": {"enable": True}})
        before = [Spot(150, 100, BLACK), Spot(301, 201, BLACK)]
        steps = (
            ([_fill(BOX, BLUE)], [Spot(150, 100, BLUE), Spot(301, 201, BLACK)]),
            (
                [{"ScreenClear": {"color": GREEN}}, drawing(PIXELS)],
                [*COPIED, Spot(150, 100, GREEN)],
            ),
        )
        for events, after in steps:
            await session.send(*events)
            await session.until_closed(session.seconds("quiet"))
            early = await _first_difference(session, before)
            check(not early, "no change of the screen before ScreenRender", early)
            await session.send("ScreenRender")
            late = await _first_difference(session, after)
            check(not late, "the new drawings on the screen after ScreenRender", late)
            before = after


@requirement("screen.double-buffering")
async def test_double_buffering_ends(iut: Iut) -> None:
    """After double buffering ends, drawings appear without ScreenRender and stay visible."""
    async with _open_cleared(iut) as session:
        await session.send({"ScreenDoubleBufferMode": {"enable": True}}, _fill(BOX, BLUE))
        await session.send("ScreenRender", {"ScreenDoubleBufferMode": {"enable": False}})
        await session.send(_fill(BOX, GREEN))
        wrong = await _first_difference(session, [Spot(150, 100, GREEN)])
        check(not wrong, "the drawing on the screen without ScreenRender", wrong)
        await session.send("ScreenRender")
        await session.until_closed(session.seconds("quiet"))
        wrong = await _first_difference(session, [Spot(150, 100, GREEN)])
        check(
            not wrong,
            "the drawing to stay after a ScreenRender, because double buffering is off",
            wrong,
        )


@contextlib.asynccontextmanager
async def _open_cleared(iut: Iut) -> AsyncIterator[Session]:
    """Open a running session with a black screen.

    Raises Inconclusive if a simple box does not appear on the screen or cannot be cleared.
    """
    if wrong := await iut.cached("what differs of a box", lambda: _box_difference(iut)):
        raise Inconclusive(f"a simple box does not appear (screen.drawing): {wrong}")
    async with open_in_setup(iut) as session:
        await start_program(session)
        await session.send(_CLEAR)
        if wrong := await _first_difference(session, [Spot(150, 100, BLACK)]):
            raise Inconclusive(f"the screen is not cleared (screen.drawing): {wrong}")
        yield session


async def _box_difference(iut: Iut) -> str:
    async with open_in_setup(iut) as session:
        await start_program(session)
        drawn = ((_fill(BOX, BLUE), BLUE), (_fill(BOX, GREEN), GREEN), (_CLEAR, BLACK))
        for event, ink in drawn:
            await session.send(event)
            if wrong := await _first_difference(session, [Spot(150, 100, ink)]):
                return wrong
        return ""


async def _first_difference(session: Session, spots: Sequence[Spot]) -> str:
    """Return the first difference from the expected spots; empty if all spots are right.

    Polls until the response timeout. The timeout starts again whenever more spots are right,
    because the frontend is still drawing.
    """
    left, least = session.countdown("response"), len(spots)
    while True:
        screen = await _screen(session)
        wrong = [spot for spot in spots if not screen.is_shown(spot)]
        if not wrong:
            return ""
        if len(wrong) < least:
            left, least = session.countdown("response"), len(wrong)
        if left() < 0:
            spot = wrong[0]
            wanted, came = tuple(spot.color.values()), screen.at(spot.x, spot.y)
            return f"at {spot.x}, {spot.y} the colour is {came}; expected {wanted}"
        await asyncio.sleep(POLL)


@dataclass(frozen=True)
class Screen:
    """The hook's answer: rows of pixels with three bytes each.

    A picture of any size represents the whole display.
    """

    width: int
    height: int
    pixels: bytes

    def at(self, x: int, y: int) -> tuple[int, ...]:
        """Return the colour of a pixel of the Brain's display; black outside of the display."""
        column, row = x * self.width // WIDTH, y * self.height // HEIGHT
        if not (0 <= column < self.width and 0 <= row < self.height):
            return (0, 0, 0)
        return tuple(self.pixels[3 * (row * self.width + column) :][:3])

    def is_shown(self, spot: Spot) -> bool:
        reach = range(-spot.around, spot.around + 1)
        wanted = tuple(spot.color.values())
        return any(
            all(abs(a - b) <= NEAR for a, b in zip(self.at(x, y), wanted, strict=True))
            for x in (spot.x + dx for dx in reach)
            for y in (spot.y + dy for dy in reach)
        )


async def _screen(session: Session) -> Screen:
    result = await operate(session, "screen")
    try:
        width, height = int(result["width"]), int(result["height"])
        screen = Screen(width, height, base64.b64decode(result["pixels"], validate=True))
    except (binascii.Error, LookupError, TypeError, ValueError):
        screen = Screen(0, 0, b"")
    if screen.width < 1 or len(screen.pixels) != 3 * screen.width * screen.height:
        raise Inconclusive(
            "expected width, height and pixels from the operation 'screen', with pixels as "
            "Base64 of three bytes for each of width x height pixels; received no such picture"
        )
    return screen
