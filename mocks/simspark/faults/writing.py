"""Faults in writing messages, and base classes for several roles."""

from mocks.deviations import fault
from mocks.simspark.connection import Connection, Endpoint


@fault("little-endian", violates="frame.length-prefix")
class LittleEndian(Endpoint):
    """Writes the least significant byte of a length first."""

    def encode(self, text: str, connection: Connection) -> bytes:
        data = super().encode(text, connection)
        return data[3::-1] + data[4:]


class Utf8(Endpoint):
    """Writes all characters in UTF-8."""

    def encode(self, text: str, connection: Connection) -> bytes:
        payload = text.encode("utf-8")
        return len(payload).to_bytes(4, "big") + payload
