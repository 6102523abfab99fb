"""What other programs have recorded is read as a capture, with what could not be read of it."""

from collections.abc import Sequence
from dataclasses import dataclass

from conformance.definitions.protocol import Protocol
from conformance.judging.captures import Capture, Event


@dataclass(frozen=True)
class Foreign:
    """A capture, where in its file each of its events stands, and what was left out, in words.

    ``numbers`` count the packets of a file of packets, the entries of an archive, or bytes.
    """

    capture: Capture
    numbers: tuple[int, ...]
    left_out: tuple[str, ...] = ()


def capture(
    protocol: Protocol, events: Sequence[Event], title: str, fragment: bool = False
) -> Capture:
    """A capture of events between peers that had been running before."""
    extra = {"running": True, **({"fragment": True} if fragment else {})}
    return Capture(protocol.name, title, "recorded", (), tuple(events), extra)
