"""Faults in writing messages, which every mock can have."""

from typing import Any

from mocks.deviations import Fault, Table
from mocks.simspark.connection import Endpoint
from mocks.steps import instead, returning


def _encode_utf_8(_: Endpoint, text: str, connection: Any) -> bytes:
    payload = text.encode("utf-8")
    return len(payload).to_bytes(4, "big") + payload


UTF_8 = instead("encode", _encode_utf_8)
"""Write all characters in UTF-8."""

FAULTS = Table(Endpoint)

FAULTS["frame.length-prefix"] = {
    "little-endian": Fault(
        "Writes the least significant byte of a length first.",
        returning("encode", lambda data: data[3::-1] + data[4:]),
    ),
}
