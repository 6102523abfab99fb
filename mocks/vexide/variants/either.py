"""Variants of either mock: other spellings of messages, and other reasons to close."""

import json
import re
from typing import Any

from conformance.codec import Frame
from conformance.vexide.codec import encode, name_of
from mocks.deviations import Table, Variant
from mocks.shapes import Unfit
from mocks.steps import When, alter, instead
from mocks.vexide.faults.bases import member, named
from mocks.vexide.session import Session

_UNITS = {
    "Ready", "Exited", "ScreenRender", "StartExecution", "Red", "Green", "Blue", "Coast", "Brake",
    "Hold", "Manager", "Worker", "Released", "Pressed", "Held", "Auto", "Driver", "Trace", "Info",
    "Warn", "Error",
}  # fmt: skip
_ENUMS = {"level", "mode", "event", "gearset", "brake_mode", "physical_gearset"}
MOST = 65_536  # bytes of a line, without its newline, that are too many
_WITH_PORT = ("ConfigureDevice", "DeviceUpdate")


def _as_objects(session: Session, value: Any, unit: bool = True) -> Any:
    """Return the value with units as objects; `unit` is True if a string here is a unit."""
    if isinstance(value, dict):
        return {key: _as_objects(session, entry, key in _ENUMS) for key, entry in value.items()}
    return {value: None} if unit and isinstance(value, str) and value in _UNITS else value


def _with_bare_port(_: Session, message: Any) -> Any:
    name = name_of(message)
    port = message[name]["port"]
    return {name: {**message[name], "port": port.get("Smart", port)}}


def _has_tagged_port(_: Session, name: str, value: Any) -> bool:
    return name in _WITH_PORT and isinstance(member(value, name, "port"), dict)


def _refuse_port(session: Session, name: str, value: Any) -> None:
    session.unusable(name, Unfit("port: a number was expected"))


def _write_spaced(session: Session, message: Any) -> None:
    session.write(json.dumps(message, separators=(" , ", " : ")).encode() + b" \r\n")


def _write_other_numbers(session: Session, message: Any) -> None:
    text = encode(message).decode()
    text = re.sub(r"(?<=[:,\[])(-?\d+)\.0(?=[,}\]])", r"\1", text)
    text = re.sub(r"(?<=[:,\[])(-?\d+\.\d+)(?=[,}\]])", r"\1e0", text)
    session.write(text.encode())


def _reversed(session: Session, value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _reversed(session, entry) for key, entry in reversed(value.items())}
    return value


def _in_lower_case(_: Session, value: Any) -> Any:
    return {"Handshake": {name.lower(): entry for name, entry in value["Handshake"].items()}}


def _is_early(session: Session, frame: Frame) -> bool:
    return not session.handshaken and frame.name != "Handshake"


def _is_too_long(session: Session, data: bytes) -> bool:
    """Return True if the line that this data continues, or a line in it, reaches 64 KiB."""
    held = getattr(session, "held", 0)
    first, *others = data.split(b"\n")
    lengths = [held + len(first), *map(len, others)]
    vars(session)["held"] = lengths[-1]
    return max(lengths) >= MOST


def _is_of_unknown_variant(_: Session, name: str, error: Unfit) -> bool:
    return "unknown variant" in str(error)


_WRITES_BARE = alter("send", _with_bare_port, named(*_WITH_PORT))
PORTS_BARE = (instead("message", _refuse_port, _has_tagged_port), _WRITES_BARE)

VARIANTS = Table(Session)

VARIANTS["encoding.externally-tagged"] = {
    "units-as-objects": Variant(
        'Writes each variant without content as an object: {"Ready": null}.',
        alter("send", _as_objects),
    ),
    "ports-bare": Variant("Writes and accepts a Smart port only as a bare number.", *PORTS_BARE),
    "ports-bare-or-close": Variant(
        "Writes and accepts a Smart port only as a bare number, and closes at any other port.",
        instead("message", "close", _has_tagged_port),
        _WRITES_BARE,
    ),
    "other-numbers": Variant(
        "Writes whole floats without a fraction, and others with an exponent.",
        instead("send", _write_other_numbers),
    ),
}

VARIANTS["framing.json-lines"] = {
    "spaced": Variant(
        "Writes spaces between tokens, escapes what is not ASCII, and ends lines with CR LF.",
        instead("send", _write_spaced),
    ),
}

VARIANTS["framing.long-lines"] = {
    "lines-limited": Variant(
        "Ends the session at a line of 64 KiB or more.",
        instead("receive", "close", _is_too_long),
    ),
}

VARIANTS["framing.white-space"] = {
    "fields-reversed": Variant(
        "Writes the fields of every object in reverse order.", alter("send", _reversed)
    ),
}

VARIANTS["handshake.unknown-fields"] = {
    "names-in-any-case": Variant(
        "Reads the names in a Handshake regardless of case; the last of equal names counts.",
        alter("handshake", _in_lower_case),
    ),
}

VARIANTS["handshake.nothing-before"] = {
    "closes-on-early-message": Variant(
        "Closes at a message before the handshake.", instead("take", "close", _is_early)
    ),
}

VARIANTS["robustness.malformed-line"] = {
    "closes-on-malformed": Variant(
        "Closes at a malformed line, and at a message with unfit values.",
        instead("malformed", "close"),
        instead("unusable", "close", ~When(_is_of_unknown_variant)),
    ),
}

VARIANTS["robustness.unknown-message"] = {
    "closes-on-unknown": Variant(
        "Closes at a message with an unknown name.", instead("unknown", "close")
    ),
}

VARIANTS["robustness.unknown-fields"] = {
    "closes-on-unknown-field": Variant(
        "Closes at an unknown field outside of the handshake.",
        instead("report_unknown_fields", "close"),
    ),
}

VARIANTS["robustness.second-handshake"] = {
    "closes-on-second-handshake": Variant(
        "Closes at a second Handshake.", instead("second_handshake", "close")
    ),
}
