"""Recognises the messages of the runtime's sockets by the shape of their decoded form.

An array is recognised by its first element, a map by its keys. Any other value is an `Object`.
"""

from typing import Any

REQUEST, RESPONSE, NOTIFICATION = "Request", "Response", "Notification"
LOG, GAMEPADS, UPDATE = "LogMessage", "GamepadInput", "DeviceUpdate"
OTHER = "Object"

_ARRAYS = {0: REQUEST, 1: RESPONSE, 2: NOTIFICATION}
_MAPS = (
    (GAMEPADS, {"gamepads"}),
    (UPDATE, {"sd", "aliases"}),
    (LOG, {"event", "logger", "level", "timestamp"}),
)
KEYS = dict(_MAPS)
"""By message that is a map: its mandatory keys."""

_MARKS = {"$bin", "$ext", "$float", "$raw", "$map"}


def name(value: Any) -> str:
    """Return the name of the message that a decoded value is, or `Object`."""
    if isinstance(value, list):
        first = value[0] if value else None
        return _ARRAYS.get(first, OTHER) if type(first) is int else OTHER
    keys = set(value) if isinstance(value, dict) else set()
    return next((name for name, known in _MAPS if keys & known), OTHER)


def notification(method: str, *params: Any) -> list[Any]:
    """Return a notification, which calls a procedure without a response."""
    return [2, method, list(params)]


def mark(value: Any) -> str | None:
    """Return the marker of a value that JSON cannot express, or None for plain JSON."""
    if isinstance(value, dict) and len(value) == 1:
        (name,) = value
        return name if name in _MARKS else None
    return None
