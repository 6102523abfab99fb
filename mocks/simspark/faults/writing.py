"""Faults in writing messages, which every mock can have."""

import asyncio
from typing import Any

from mocks.deviations import Fault, Table
from mocks.simspark.client import Client
from mocks.simspark.connection import Endpoint
from mocks.steps import instead, returning


def _encode_utf_8(_: Endpoint, text: str, connection: Any) -> bytes:
    payload = text.encode("utf-8")
    return len(payload).to_bytes(4, "big") + payload


UTF_8 = instead("encode", _encode_utf_8)
"""Write all characters in UTF-8."""


def write_in_two(client: Client, text: str) -> None:
    """Write the length of a message, and its text a moment later."""
    data = client.encode(text, client)
    client.write(data[:4])
    asyncio.get_running_loop().call_later(_MOMENT, client.write, data[4:])


_MOMENT = 0.005  # seconds; longer than the processing of another request

FAULTS = Table(Endpoint)

FAULTS["frame.length-prefix"] = {
    "little-endian": Fault(
        "Writes the least significant byte of a length first.",
        returning("encode", lambda data: data[3::-1] + data[4:]),
    ),
}
