"""Reads messages with an envelope, with bins, or with integers as indices and UIDs.

The meaning of these messages is clear, so they are decoded and judged. The frame contains the
decoded message, and its error describes the wrong form.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from conformance.codec import Frame
from conformance.runtime.shapes import (
    GAMEPADS,
    KEYS,
    LOG,
    NOTIFICATION,
    REQUEST,
    UPDATE,
    mark,
)

_WITHIN = 3  # levels of an envelope that are searched for the message
_NAMES = {REQUEST: 2, NOTIFICATION: 1}  # index of the procedure's name in the array
_BINS = "expected a MessagePack str; received a bin"
_TWICE = "expected each UID once; received the same UID twice"
_NUMBERED = {
    GAMEPADS: ("gamepad.index", "the index of a gamepad", ("gamepads",)),
    UPDATE: ("update.uid-form", "a UID", ("sd", "aliases")),
}
"""By message: the maps with numbers as keys, what the numbers are, and their requirement."""


def _call(frame: Frame) -> Frame:
    """Read a request or notification whose procedure name can be a bin."""
    at = _NAMES.get(frame.name or "", 0)
    if not at or len(frame.value) <= at or mark(frame.value[at]) != "$bin":
        return frame
    value = [*frame.value[:at], _text(frame.value[at]), *frame.value[at + 1 :]]
    return replace(frame, value=value, error=_BINS, requirement="encoding.strings")


def _publication(own: str, form: str, frame: Frame) -> Frame:
    """Read a publisher's message, which can be in an envelope and use bins for strings."""
    if frame.name is None:
        return frame
    value = _keys_as_text(frame.value)
    found = next(_messages(own, [value]), None)
    if found is None:
        return frame
    message = _members_as_text(own, found)
    if found is not value:
        what = "an RPC notification" if frame.name == NOTIFICATION else "another object"
        error = f"expected a map by itself; received the map within {what}"
        return Frame(frame.raw, own, message, error, form)
    if message != frame.value:
        return Frame(frame.raw, own, message, _BINS, "encoding.strings")
    if own in _NUMBERED:
        requirement, what, parts = _NUMBERED[own]
        read = {
            part: _numbers_as_text(entry) if part in parts else entry
            for part, entry in message.items()
        }
        if read != message:
            error = f"expected {what} as a str; received an integer"
            return Frame(frame.raw, own, read, error, requirement)
    if own == UPDATE and (read := {part: _latest(message[part]) for part in message}) != message:
        return Frame(frame.raw, own, read, _TWICE, "update.uid-form")
    return frame


def _numbers_as_text(value: Any) -> Any:
    """Return a map with text instead of integers, if all keys are integers. Return other values."""
    pairs = value["$map"] if mark(value) == "$map" else []
    read = {str(key): entry for key, entry in pairs if type(key) is int}
    return read if read and len(read) == len(pairs) else value


def _latest(value: Any) -> Any:
    """Keep the latest entry of each repeated key of a map. Return other values unchanged."""
    if mark(value) != "$map" or not all(isinstance(key, str) for key, _ in value["$map"]):
        return value
    return dict(value["$map"])


READERS: Mapping[str, Callable[[Frame], Frame]] = {
    "rpc-client": _call,
    "log-publisher": partial(_publication, LOG, "log.form"),
    "gamepad-sender": partial(_publication, GAMEPADS, "gamepad.form"),
    "update-publisher": partial(_publication, UPDATE, "update.form"),
}
"""By party: the function that reads its frames."""


def _messages(own: str, values: list[Any]) -> Iterator[dict[str, Any]]:
    """Yield the maps with all keys of a message, the outermost first."""
    for _ in range(_WITHIN + 1):
        yield from (value for value in values if isinstance(value, dict) and KEYS[own] <= {*value})
        inner: list[Any] = []
        for value in values:
            if isinstance(value, list):
                inner += value
            elif isinstance(value, dict) and not mark(value):
                inner += value.values()
        values = inner


def _keys_as_text(value: Any) -> Any:
    """Return the value with text instead of bins as keys of its maps."""
    if isinstance(value, list):
        return [_keys_as_text(entry) for entry in value]
    if mark(value) == "$map":
        pairs = [[_text(key), _keys_as_text(entry)] for key, entry in value["$map"]]
        plain = all(isinstance(key, str) and not key.startswith("$") for key, _ in pairs)
        unique = plain and len({key for key, _ in pairs}) == len(pairs)
        return dict(pairs) if unique else {"$map": pairs}
    if isinstance(value, dict) and not mark(value):
        return {key: _keys_as_text(entry) for key, entry in value.items()}
    return value


def _members_as_text(own: str, value: dict[str, Any]) -> dict[str, Any]:
    """Return the message with text instead of bins in its members."""
    if own == LOG:
        return {key: _text(entry) if key in KEYS[LOG] else entry for key, entry in value.items()}
    aliases = value.get("aliases")
    if own == UPDATE and isinstance(aliases, dict) and not mark(aliases):
        return {**value, "aliases": {uid: _text(alias) for uid, alias in aliases.items()}}
    return value


def _text(value: Any) -> Any:
    """Return the text that a bin contains. Return other values unchanged."""
    if mark(value) != "$bin":
        return value
    try:
        return bytes.fromhex(value["$bin"]).decode()
    except UnicodeDecodeError:
        return value
