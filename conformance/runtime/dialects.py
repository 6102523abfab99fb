"""Reads messages that come in another form: in an envelope, with bins, or with counted gamepads.

Its meaning is clear, so it is read and judged, and one finding names the form: such a frame
has its message and, as its error, what is wrong with it.
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

_WITHIN = 3  # levels of an envelope that are looked into
_NAMES = {REQUEST: 2, NOTIFICATION: 1}  # where a message has the name of its procedure
_BINS = "a MessagePack bin came where a str was expected"
_TWICE = "each UID was expected once, one came twice"
_NUMBERS = "the index of a gamepad was expected as a str, it came as an integer"


def _call(frame: Frame) -> Frame:
    """A request or notification, the name of whose procedure may be a bin."""
    at = _NAMES.get(frame.name or "", 0)
    if not at or len(frame.value) <= at or mark(frame.value[at]) != "$bin":
        return frame
    value = [*frame.value[:at], _text(frame.value[at]), *frame.value[at + 1 :]]
    return replace(frame, value=value, error=_BINS, requirement="encoding.strings")


def _publication(own: str, form: str, frame: Frame) -> Frame:
    """The message of a publisher, which may be in an envelope and have bins for strings."""
    if frame.name is None:
        return frame
    value = _keys_as_text(frame.value)
    found = next(_messages(own, [value]), None)
    if found is None:
        return frame
    meant = _members_as_text(own, found)
    if found is not value:
        what = "an RPC notification" if frame.name == NOTIFICATION else "another object"
        error = f"a map by itself was expected, it came within {what}"
        return Frame(frame.raw, own, meant, error, form)
    if meant != frame.value:
        return Frame(frame.raw, own, meant, _BINS, "encoding.strings")
    if own == GAMEPADS and mark(meant["gamepads"]) == "$map":
        pairs = meant["gamepads"]["$map"]
        if len({str(index) for index, _ in pairs if type(index) is int}) == len(pairs):
            read = {**meant, "gamepads": {str(index): pad for index, pad in pairs}}
            return Frame(frame.raw, own, read, _NUMBERS, "gamepad.index")
    if own == UPDATE and (read := {part: _latest(meant[part]) for part in meant}) != meant:
        return Frame(frame.raw, own, read, _TWICE, "update.uid-form")
    return frame


def _latest(value: Any) -> Any:
    """A map in which a key stands twice with the latest entry of each; anything else as it is."""
    if mark(value) != "$map" or not all(isinstance(key, str) for key, _ in value["$map"]):
        return value
    return dict(value["$map"])


READERS: Mapping[str, Callable[[Frame], Frame]] = {
    "rpc-client": _call,
    "log-publisher": partial(_publication, LOG, "log.form"),
    "gamepad-sender": partial(_publication, GAMEPADS, "gamepad.form"),
    "update-publisher": partial(_publication, UPDATE, "update.form"),
}
"""By party: what reads its frames."""


def _messages(own: str, values: list[Any]) -> Iterator[dict[str, Any]]:
    """The maps that have all keys of a message, from the outside to the inside."""
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
    """The same value, its maps with strs for those keys that are bins."""
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
    """A message whose strings are strs, also where they came as bins."""
    if own == LOG:
        return {key: _text(entry) if key in KEYS[LOG] else entry for key, entry in value.items()}
    aliases = value.get("aliases")
    if own == UPDATE and isinstance(aliases, dict) and not mark(aliases):
        return {**value, "aliases": {uid: _text(alias) for uid, alias in aliases.items()}}
    return value


def _text(value: Any) -> Any:
    """The text that a bin holds; anything else as it is."""
    if mark(value) != "$bin":
        return value
    try:
        return bytes.fromhex(value["$bin"]).decode()
    except UnicodeDecodeError:
        return value
