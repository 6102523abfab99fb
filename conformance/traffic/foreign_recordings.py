"""A recording of another program, read as a capture, and its unread parts."""

from collections.abc import Sequence
from dataclasses import dataclass

from conformance.definitions.protocol import Protocol
from conformance.judging.captures import Capture, Event


@dataclass(frozen=True)
class Foreign:
    """A capture, the place of each event in its file, and the unread parts.

    ``numbers`` count the packets of a packet file, the entries of an archive, or bytes.
    """

    capture: Capture
    numbers: tuple[int, ...]
    left_out: tuple[str, ...] = ()


def capture(
    protocol: Protocol, events: Sequence[Event], title: str, fragment: bool = False
) -> Capture:
    """Return a capture of events between peers that had been running before."""
    extra = {"running": True, **({"fragment": True} if fragment else {})}
    return Capture(protocol.name, title, "recorded", (), tuple(events), extra)
