"""Faults of the simulator in the program's output: signature, logs, serial data."""

import base64
from collections.abc import Callable
from typing import Any

from conformance.vexide.codec import name_of
from mocks.deviations import Fault, Subtle, Table, fault
from mocks.steps import Change, alter, instead, note, noted, put, skip, then
from mocks.vexide.faults.bases import RUNNING, fields, named
from mocks.vexide.simulator import SIGNATURE, Simulator

SERIAL = named("Serial")
HEADER = base64.b64decode(SIGNATURE)


def signature(text: str) -> Change:
    """Send this code signature."""
    return instead("signature", lambda _: text)


def encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


def serial(change: Callable[[bytes], str]) -> Change:
    """Send what a function makes of each serial data."""
    return fields("Serial", data=lambda text: change(base64.b64decode(text)))


def _log(message: Any) -> dict[str, Any]:
    """Return the Log with the data of a Serial."""
    text = base64.b64decode(message["Serial"]["data"]).decode(errors="replace").rstrip()
    return {"Log": {"level": "Info", "message": text}}


def _is_line(_: Any, message: Any) -> bool:
    data = base64.b64decode(message["Serial"]["data"])
    return data.isascii() and data.endswith(b"\n")


FAULTS = Table(Simulator)

FAULTS["serial.bytes-exact"] = {
    "writes-nothing": Fault(
        "Sends no serial data of the program, but all other events.", skip("send", SERIAL)
    ),
    "serial-through-text": Fault(
        "Replaces serial data that is not UTF-8.",
        serial(lambda data: encoded(data.decode(errors="replace").encode())),
    ),
    "serial-crlf": Subtle(
        "Writes a carriage return before each newline of serial data.",
        serial(lambda data: encoded(data.replace(b"\n", b"\r\n"))),
    ),
    "serial-ends-at-nul": Subtle(
        "Drops the byte 00 from serial data.",
        serial(lambda data: encoded(data.replace(b"\0", b""))),
    ),
    "first-text-of-a-step": Subtle(
        "Sends the first text of a step and drops the others.",
        skip("send", SERIAL & noted("full")),
        then("send", note("full"), SERIAL),
        then("report", put("full", False)),
    ),
}

FAULTS["serial.base64"] = {
    "serial-as-text": Fault(
        "Writes serial data as text.", serial(lambda data: data.decode("latin-1"))
    ),
    "serial-unpadded": Subtle(
        "Omits the padding of Base64, which some lengths of data need.",
        serial(lambda data: encoded(data).rstrip("=")),
    ),
    "serial-url-safe": Subtle(
        "Uses the URL-safe alphabet of Base64, which differs only for some bytes.",
        serial(lambda data: base64.urlsafe_b64encode(data).decode()),
    ),
}

FAULTS["log.not-for-serial"] = {
    "serial-as-log": Fault(
        "Sends the program's serial data as Log.",
        alter("send", lambda _, message: _log(message), SERIAL),
    ),
    "lines-as-log": Subtle(
        "Sends whole lines of text on channel 1 as Log, and other data as Serial.",
        alter("send", lambda _, message: _log(message), SERIAL & _is_line),
    ),
}

FAULTS["signature.sent"] = {
    "no-signature": Fault("Sends no code signature.", skip("send_signature")),
    "signature-at-start": Subtle(
        "Sends the code signature only after the program was started.",
        skip("send_signature", ~RUNNING),
        then("execute", "send_signature"),
    ),
}

FAULTS["signature.base64"] = {
    "signature-in-hex": Fault(
        "Writes the code signature as a hexadecimal dump with spaces.",
        signature(HEADER.hex(" ")),
    ),
    "signature-unpadded": Subtle(
        "Sends a code signature of 25 bytes as Base64 without padding.",
        signature(encoded(HEADER + b"\0").rstrip("=")),
    ),
}

FAULTS["signature.cold-header"] = {
    "signature-of-elf": Fault(
        "Sends the header of another kind of file as code signature.",
        signature(encoded(b"\x7fELF" + bytes(20))),
    ),
    "signature-of-8-bytes": Subtle(
        "Sends only the first 8 bytes of the code signature.", signature(encoded(HEADER[:8]))
    ),
}

FAULTS["types.port-range"] = {
    "link-port-21": Fault("Names port 21 in VEXLinkConnect.", fields("VEXLinkConnect", port=21)),
    "unlink-port-21": Subtle(
        "Adds one to the port of VEXLinkDisconnect, which is invalid only for the last port.",
        fields("VEXLinkDisconnect", port=lambda port: port + 1),
    ),
}


@fault("serial-overflows", violates="serial.bytes-exact", subtle=True)
class SerialOverflows(Simulator):
    """Loses serial data beyond 128 bytes per step."""

    def report(self) -> None:
        left = 128
        for event in self.robot.events:
            if name_of(event) == "Serial":
                data = base64.b64decode(event["Serial"]["data"])[:left]
                event["Serial"]["data"] = base64.b64encode(data).decode()
                left -= len(data)
        super().report()


@fault("serial-buffer-reused", violates="serial.bytes-exact", subtle=True)
class SerialBufferReused(Simulator):
    """Sends the last text of a step instead of each of its texts."""

    def report(self) -> None:
        written = [event for event in self.robot.events if name_of(event) == "Serial"]
        for event in written:
            event["Serial"] = written[-1]["Serial"]
        super().report()
