"""Variants of either mock: other spellings of messages, and other reasons to close."""

import json
import re
from typing import Any

from conformance.codec import Frame
from conformance.vexide.codec import encode, name_of
from mocks.deviations import variant
from mocks.shapes import Unfit
from mocks.vexide.session import Session

_UNITS = {
    "Ready", "Exited", "ScreenRender", "StartExecution", "Red", "Green", "Blue", "Coast", "Brake",
    "Hold", "Manager", "Worker", "Released", "Pressed", "Held", "Auto", "Driver", "Trace", "Info",
    "Warn", "Error",
}  # fmt: skip
_ENUMS = {"level", "mode", "event", "gearset", "brake_mode", "physical_gearset"}


# Spelling of messages


@variant("units-as-objects", of="encoding.externally-tagged")
class UnitsAsObjects(Session):
    """Writes each variant without content as an object: {"Ready": null}."""

    def send(self, message: Any) -> None:
        super().send(_as_objects(message, True))


def _as_objects(value: Any, unit: bool) -> Any:
    """Return the value with units as objects; `unit` is True if a string here is a unit."""
    if isinstance(value, dict):
        return {key: _as_objects(entry, key in _ENUMS) for key, entry in value.items()}
    return {value: None} if unit and isinstance(value, str) and value in _UNITS else value


@variant("ports-bare", of="encoding.externally-tagged")
class PortsBare(Session):
    """Writes and accepts a Smart port only as a bare number."""

    def message(self, name: str, value: Any) -> None:
        fields = value.get(name) if isinstance(value, dict) else None
        tagged = name in ("ConfigureDevice", "DeviceUpdate") and isinstance(fields, dict)
        if tagged and isinstance(fields, dict) and isinstance(fields.get("port"), dict):
            self.unusable(name, Unfit("port: a number was expected"))
        else:
            super().message(name, value)

    def send(self, message: Any) -> None:
        name = name_of(message)
        if name in ("ConfigureDevice", "DeviceUpdate"):
            fields = message[name]
            port = fields["port"]
            message = {name: {**fields, "port": port.get("Smart", port)}}
        super().send(message)


@variant("spaced", of="framing.json-lines")
class Spaced(Session):
    """Writes spaces between tokens, escapes what is not ASCII, and ends lines with CR LF."""

    def send(self, message: Any) -> None:
        self.write(json.dumps(message, separators=(" , ", " : ")).encode() + b" \r\n")


@variant("other-numbers", of="encoding.externally-tagged")
class OtherNumbers(Session):
    """Writes whole floats without a fraction, and others with an exponent."""

    def send(self, message: Any) -> None:
        text = encode(message).decode()
        text = re.sub(r"(?<=[:,\[])(-?\d+)\.0(?=[,}\]])", r"\1", text)
        text = re.sub(r"(?<=[:,\[])(-?\d+\.\d+)(?=[,}\]])", r"\1e0", text)
        self.write(text.encode())


@variant("fields-reversed", of="framing.white-space")
class FieldsReversed(Session):
    """Writes the fields of every object in reverse order."""

    def send(self, message: Any) -> None:
        super().send(_reversed(message))


def _reversed(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _reversed(entry) for key, entry in reversed(value.items())}
    return value


@variant("names-in-any-case", of="handshake.unknown-fields")
class NamesInAnyCase(Session):
    """Reads the names in a Handshake regardless of case; the last of equal names counts."""

    def handshake(self, value: Any) -> None:
        fields = {name.lower(): entry for name, entry in value["Handshake"].items()}
        super().handshake({"Handshake": fields})


# Reasons to close a session


@variant("closes-on-early-message", of="handshake.nothing-before")
class ClosesOnEarlyMessage(Session):
    """Closes at a message before the handshake."""

    def take(self, frame: Frame) -> None:
        if self.handshaken or frame.name == "Handshake":
            super().take(frame)
        else:
            self.close()


@variant("closes-on-malformed", of="robustness.malformed-line")
class ClosesOnMalformed(Session):
    """Closes at a malformed line, and at a message with unfit values."""

    def malformed(self, frame: Frame) -> None:
        self.close()

    def unusable(self, name: str, error: Unfit) -> None:
        if "unknown variant" in str(error):
            super().unusable(name, error)
        else:
            self.close()


@variant("closes-on-unknown", of="robustness.unknown-message")
class ClosesOnUnknown(Session):
    """Closes at a message with an unknown name."""

    def unknown(self, name: str) -> None:
        self.close()


@variant("closes-on-unknown-field", of="robustness.unknown-fields")
class ClosesOnUnknownField(Session):
    """Closes at an unknown field outside of the handshake."""

    def report_unknown_fields(self, name: str, fields: list[str]) -> None:
        self.close()


@variant("closes-on-second-handshake", of="robustness.second-handshake")
class ClosesOnSecondHandshake(Session):
    """Closes at a second Handshake."""

    def second_handshake(self) -> None:
        self.close()
