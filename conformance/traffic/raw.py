"""Reads the bytes that one side has sent, without times: a list of messages, and no session."""

from pathlib import Path

from conformance.definitions.protocol import Protocol
from conformance.judging.captures import CaptureError, Event
from conformance.traffic.foreign import Foreign, capture

PIECE = 1024  # bytes; a finding tells in which piece of the file its message ends


def read(path: Path, protocol: Protocol, party: str) -> Foreign:
    """The messages of a party. Raises CaptureError."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise CaptureError(f"{path}: {error.strerror or error}") from error
    pieces = range(0, len(data), PIECE)
    events = [Event(0.0, party, data[at : at + PIECE]) for at in pieces]
    events.append(Event(0.0, party, event="closed"))
    found = capture(protocol, events, f"bytes of the {party}", fragment=True)
    why = "what may follow what: it was said to nobody, and at no time"
    return Foreign(found, (*pieces, len(data)), (why,))
