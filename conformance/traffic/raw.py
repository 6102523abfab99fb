"""Reads the bytes of one side as a list of messages without times."""

from pathlib import Path

from conformance.definitions.protocol import Protocol
from conformance.judging.captures import CaptureError, Event
from conformance.traffic.foreign_recordings import Foreign, capture

PIECE = 1024  # bytes; a finding names the piece of the file in which its message ends


def read(path: Path, protocol: Protocol, party: str) -> Foreign:
    """Read the messages of a party. Raises CaptureError if the file cannot be read."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise CaptureError(f"{path}: {error.strerror or error}") from error
    pieces = range(0, len(data), PIECE)
    events = [Event(0.0, party, data[at : at + PIECE]) for at in pieces]
    events.append(Event(0.0, party, event="closed"))
    found = capture(protocol, events, f"bytes of the {party}", fragment=True)
    why = "the order of messages: the bytes have no peer and no times"
    return Foreign(found, (*pieces, len(data)), (why,))
