"""Recognise messages in the forms of published crates, which differ from the specification.

An implementation that uses such a form gets one finding that names the form, instead of one finding
for each field.
"""

import base64
from typing import Any

_SCREEN = {"top_left": [0, 0], "bottom_right": [480, 272]}
_NAMES_OF_0_2 = {
    ("simulator", "ScreenScroll"),
    ("simulator", "TextMetricsRequest"),
    ("frontend", "SetTextMetrics"),
    ("frontend", "Serial"),
}


def dialect(sender: str, name: str, value: Any) -> str | None:
    """Name the published form that a non-conforming message probably has, or return None."""
    if version := _version(sender, name, value):
        return (
            f"{name} has the form of version {version} of the published Rust crate; expected the "
            "form of the specification"
        )
    return None


def command_in_dialect(command: Any) -> Any:
    """Return a ControllerUpdate or Touch in the form of version 0.2; None for other commands."""
    match command:
        case {"ControllerUpdate": update}:
            return {"ControllerUpdate": [update, None]}
        case {"Touch": {"pos": {"x": x, "y": y}, **rest}}:
            return {"Touch": {"pos": [x, y], **rest}}
    return None


def event_in_dialect(event: Any) -> tuple[str, Any] | None:
    """Return a published version and the event in its form; None if the event has no other form."""
    match event:
        case {"Serial": {"channel": channel, "data": str(data)}}:
            return "0.1", {"Serial": {"channel": channel, "data": [*base64.b64decode(data)]}}
        case {"ScreenClear": {"color": ink}}:
            return "0.2", {"ScreenClear": {"color": _number(ink), "clip_region": _SCREEN}}
        case {"ScreenDraw": {"command": command, "color": ink}}:
            drawing = {
                "command": _pair_points(command),
                "color": _number(ink),
                "clip_region": _SCREEN,
            }
            return "0.2", {"ScreenDraw": drawing}
    return None


def _number(ink: dict[str, int]) -> int:
    return ink["r"] << 16 | ink["g"] << 8 | ink["b"]


def _pair_points(value: Any) -> Any:
    """Return a drawing command with each point as a pair of numbers."""
    match value:
        case {"x": x, "y": y}:
            return [x, y]
        case dict():
            return {key: _pair_points(entry) for key, entry in value.items()}
    return value


def _version(sender: str, name: str, value: Any) -> str | None:
    if (sender, name) in _NAMES_OF_0_2:
        return "0.2"
    fields = value.get(name) if isinstance(value, dict) else None
    match name, fields:
        case "Serial", {"data": list()}:
            return "0.1"
        case "ScreenDraw" | "ScreenClear", {"color": int()} | {"clip_region": _}:
            return "0.2"
        case "ScreenDraw", {"command": command} if _has_point_array(command):
            return "0.2"
        case "Touch", {"pos": list()}:
            return "0.2"
        case "ControllerUpdate", [_, _]:
            return "0.2"
    return None


def _has_point_array(value: Any) -> bool:
    """Return True if any field for a point in a drawing command contains a list."""
    if not isinstance(value, dict):
        return False
    points = ("top_left", "bottom_right", "center", "pos", "start", "end")
    return any(
        (key in points and isinstance(entry, list)) or _has_point_array(entry)
        for key, entry in value.items()
    )
