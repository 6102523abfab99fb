"""By which shape a message of the runtime's sockets is known, in its decoded form.

An array is known by its first element, a map by its keys; any other object is an `Object`.
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
"""By message that is a map: the keys that it always has."""

_MARKS = {"$bin", "$ext", "$float", "$raw", "$map"}


def name(value: Any) -> str:
    """The message that a decoded value is, or `Object`."""
    if isinstance(value, list):
        first = value[0] if value else None
        return _ARRAYS.get(first, OTHER) if type(first) is int else OTHER
    keys = set(value) if isinstance(value, dict) else set()
    return next((name for name, known in _MAPS if keys & known), OTHER)


def notification(method: str, *params: Any) -> list[Any]:
    """The notification that calls a procedure and asks for no response."""
    return [2, method, list(params)]


def mark(value: Any) -> str | None:
    """Which of the forms that JSON has not a decoded value is; None for plain JSON."""
    if isinstance(value, dict) and len(value) == 1:
        (name,) = value
        return name if name in _MARKS else None
    return None
