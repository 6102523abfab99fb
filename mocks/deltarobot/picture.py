"""Draws a curve and the actuator as text, seen along Z."""

from typing import Any

WIDTH, HEIGHT = 60, 20


def draw(curve: list[list[Any]], position: list[Any] | None) -> str:
    """Draw the curve as dots and the actuator as O. Return an empty text without both."""
    dots = [spot for point in curve if (spot := _spot(point))]
    actuator = _spot(position) if position else None
    seen = [*dots, *([actuator] if actuator else [])]
    if not seen:
        return ""
    left, right = min(x for x, _ in seen), max(x for x, _ in seen)
    low, high = min(y for _, y in seen), max(y for _, y in seen)
    grid = [[" "] * WIDTH for _ in range(HEIGHT)]

    def put(spot: tuple[float, float], mark: str) -> None:
        column = round((spot[0] - left) / ((right - left) or 1) * (WIDTH - 1))
        row = round((high - spot[1]) / ((high - low) or 1) * (HEIGHT - 1))
        grid[row][column] = mark

    for spot in dots:
        put(spot, ".")
    if actuator:
        put(actuator, "O")
    return "\n".join("".join(row).rstrip() for row in grid)


def _spot(point: list[Any]) -> tuple[float, float] | None:
    """Return X and Y if both are numbers that can be drawn, else None."""
    x, y = point[0], point[1]
    if any(isinstance(c, str) or abs(c) > 1e9 for c in (x, y)):
        return None
    return float(x), float(y)
