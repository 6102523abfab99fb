"""Faults of the simulator in the program's output: signature, logs, serial data."""

import base64
from typing import Any

from conformance.vexide.codec import name_of
from mocks.deviations import fault
from mocks.vexide.faults.bases import Altering
from mocks.vexide.simulator import SIGNATURE, Simulator


@fault("writes-nothing", violates="serial.bytes-exact")
class WritesNothing(Simulator):
    """Sends no serial data of the program, but all other events."""

    def send(self, message: Any) -> None:
        if name_of(message) != "Serial":
            super().send(message)


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


@fault("first-text-of-a-step", violates="serial.bytes-exact", subtle=True)
class FirstTextOfAStep(Simulator):
    """Sends the first text of a step and drops the others."""

    full = False

    def report(self) -> None:
        self.full = False
        super().report()

    def send(self, message: Any) -> None:
        if name_of(message) == "Serial":
            if self.full:
                return
            self.full = True
        super().send(message)


@fault("no-signature", violates="signature.sent")
class NoSignature(Simulator):
    """Sends no code signature."""

    def send_signature(self) -> None:
        pass


@fault("signature-at-start", violates="signature.sent", subtle=True)
class SignatureAtStart(Simulator):
    """Sends the code signature only after the program was started."""

    def send_signature(self) -> None:
        pass

    def execute(self) -> None:
        super().execute()
        super().send_signature()


@fault("signature-in-hex", violates="signature.base64")
class SignatureInHex(Simulator):
    """Writes the code signature as a hexadecimal dump with spaces."""

    def signature(self) -> str:
        return base64.b64decode(SIGNATURE).hex(" ")


@fault("signature-unpadded", violates="signature.base64", subtle=True)
class SignatureUnpadded(Simulator):
    """Sends a code signature of 25 bytes as Base64 without padding."""

    def signature(self) -> str:
        return base64.b64encode(base64.b64decode(SIGNATURE) + b"\0").decode().rstrip("=")


@fault("signature-of-elf", violates="signature.cold-header")
class SignatureOfElf(Simulator):
    """Sends the header of another kind of file as code signature."""

    def signature(self) -> str:
        return base64.b64encode(b"\x7fELF" + bytes(20)).decode()


@fault("signature-of-8-bytes", violates="signature.cold-header", subtle=True)
class SignatureOf8Bytes(Simulator):
    """Sends only the first 8 bytes of the code signature."""

    def signature(self) -> str:
        return base64.b64encode(base64.b64decode(SIGNATURE)[:8]).decode()


@fault("serial-as-log", violates="log.not-for-serial")
class SerialAsLog(Simulator):
    """Sends the program's serial data as Log."""

    def send(self, message: Any) -> None:
        if name_of(message) == "Serial":
            data = base64.b64decode(message["Serial"]["data"])
            self.log("Info", data.decode(errors="replace").rstrip())
        else:
            super().send(message)


@fault("lines-as-log", violates="log.not-for-serial", subtle=True)
class LinesAsLog(Simulator):
    """Sends whole lines of text on channel 1 as Log, and other data as Serial."""

    def send(self, message: Any) -> None:
        if name_of(message) == "Serial":
            data = base64.b64decode(message["Serial"]["data"])
            if data.isascii() and data.endswith(b"\n"):
                message = {"Log": {"level": "Info", "message": data.decode().rstrip()}}
        super().send(message)


class Writing(Altering, Simulator):
    """Encodes serial data with `encoded`."""

    def alter(self, name: str, content: Any) -> None:
        if name == "Serial":
            content["data"] = self.encoded(base64.b64decode(content["data"]))

    def encoded(self, data: bytes) -> Any:
        raise NotImplementedError


@fault("serial-as-text", violates="serial.base64")
class SerialAsText(Writing):
    """Writes serial data as text."""

    def encoded(self, data: bytes) -> Any:
        return data.decode("latin-1")


@fault("serial-unpadded", violates="serial.base64", subtle=True)
class SerialUnpadded(Writing):
    """Omits the padding of Base64, which some lengths of data need."""

    def encoded(self, data: bytes) -> Any:
        return base64.b64encode(data).decode().rstrip("=")


@fault("serial-url-safe", violates="serial.base64", subtle=True)
class SerialUrlSafe(Writing):
    """Uses the URL-safe alphabet of Base64, which differs only for some bytes."""

    def encoded(self, data: bytes) -> Any:
        return base64.urlsafe_b64encode(data).decode()


@fault("serial-through-text", violates="serial.bytes-exact")
class SerialThroughText(Writing):
    """Replaces serial data that is not UTF-8."""

    def encoded(self, data: bytes) -> Any:
        return base64.b64encode(data.decode(errors="replace").encode()).decode()


@fault("serial-crlf", violates="serial.bytes-exact", subtle=True)
class SerialCrlf(Writing):
    """Writes a carriage return before each newline of serial data."""

    def encoded(self, data: bytes) -> Any:
        return base64.b64encode(data.replace(b"\n", b"\r\n")).decode()


@fault("serial-ends-at-nul", violates="serial.bytes-exact", subtle=True)
class SerialWithoutNul(Writing):
    """Drops the byte 00 from serial data."""

    def encoded(self, data: bytes) -> Any:
        return base64.b64encode(data.replace(b"\0", b"")).decode()


@fault("link-port-21", violates="types.port-range")
class LinkPort21(Altering, Simulator):
    """Names port 21 in VEXLinkConnect."""

    def alter(self, name: str, content: Any) -> None:
        if name == "VEXLinkConnect":
            content["port"] = 21


@fault("unlink-port-21", violates="types.port-range", subtle=True)
class UnlinkPort21(Altering, Simulator):
    """Adds one to the port of VEXLinkDisconnect, which is invalid only for the last port."""

    def alter(self, name: str, content: Any) -> None:
        if name == "VEXLinkDisconnect":
            content["port"] += 1
