"""Check that an oracle accepts messages that were in flight.

In a golden session, the messages of a side arrive before the other side sends its next message.
Over a slow network the other side can also send its message earlier. The sender of the messages in
flight cannot see the difference. Therefore the oracle must not find a new violation of this sender.

An order in which the earlier side violates a requirement is left out, because this side needed the
messages in flight.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice

from conformance.definitions import locations
from conformance.definitions.protocol import Protocol
from conformance.judging import captures
from conformance.judging.captures import Capture, Event
from conformance.judging.connections import judge_capture

MAX_ORDERS = 100  # orders of one session; most golden sessions have fewer
LAGS = (1, 2, 3, 5, 8)  # messages of the earlier side that pass each message in flight

Wrong = tuple[str, str]
"""A sender, and a requirement that the sender violates."""


@dataclass(frozen=True)
class Order:
    """Another order of a session's events.

    ``earlier`` is the side whose events come earlier, ``what`` names these events.
    """

    events: tuple[Event, ...]
    earlier: str
    what: str


def problems(protocol: Protocol) -> Iterator[str]:
    """Yield each finding about a sound side whose messages were in flight, once."""
    folder = locations.folder("captures", protocol.name)
    reported: set[tuple[Wrong, str]] = set()
    for path in sorted(folder.glob("*.jsonl")) if folder else ():
        capture = captures.read(path)
        if capture.extra.get("fragment"):
            continue
        for order, wrong in wrong_orders(protocol, capture):
            if (wrong, order.what) not in reported:
                reported.add((wrong, order.what))
                sender, requirement = wrong
                yield (
                    f"{path}: {requirement} is found about the {sender}, if the {order.earlier} "
                    f"sends {order.what} while messages of the {sender} are in flight"
                )


def wrong_orders(protocol: Protocol, capture: Capture) -> Iterator[tuple[Order, Wrong]]:
    """Yield the orders of a session in which the oracle blames a sound side."""
    known = _findings_in(protocol, capture, capture.events)
    violator = capture.iut if "violates" in capture.extra else None
    for order in orders(capture.events):
        new = _findings_in(protocol, capture, order.events) - known
        if all(sender != order.earlier for sender, _ in new):
            yield from ((order, wrong) for wrong in sorted(new) if wrong[0] != violator)


def _findings_in(protocol: Protocol, capture: Capture, events: Sequence[Event]) -> set[Wrong]:
    judged = judge_capture(protocol, replace(capture, events=tuple(events)), protocol.roles)
    return {
        (str(events[finding.event or 0].sender), finding.requirement) for finding in judged.findings
    }


def orders(events: Sequence[Event]) -> Iterator[Order]:
    """Yield at most `MAX_ORDERS` orders of a session in which a side is earlier."""
    yield from islice(chain(_move_earlier(events), _delay_messages(events)), MAX_ORDERS)


def _move_earlier(events: Sequence[Event]) -> Iterator[Order]:
    """Move some events of a side that follow each other before events of the other side."""
    for start, event in enumerate(events):
        sender = event.sender
        if sender is None or start == 0 or events[start - 1].sender in (sender, None):
            continue
        begin, end = start, start
        while begin and events[begin - 1].sender not in (sender, None):
            begin -= 1
        while end < len(events) and events[end].sender == sender:
            end += 1
        for to in range(start - 1, begin - 1, -1):
            for until in sorted({start + 1, end}):
                moved = events[start:until]
                order = (*events[:to], *moved, *events[to:start], *events[until:])
                yield Order(order, sender, event.message or event.event or "bytes")


def _delay_messages(events: Sequence[Event]) -> Iterator[Order]:
    """Let every message of a side arrive later, by some messages of the other side."""
    for sender in dict.fromkeys(event.sender for event in events if event.sender):
        for lag in LAGS:
            order = tuple(_delay_sender(events, sender, lag))
            if order != tuple(events):
                yield Order(order, sender, f"everything {lag} messages earlier")


def _delay_sender(events: Sequence[Event], sender: str, lag: int) -> Iterator[Event]:
    """Yield events, those of other senders after `lag` more events of this sender."""
    waiting: list[tuple[int, Event]] = []
    sent = 0
    for event in events:
        # Both sides see a new connection, so no event moves beyond it.
        due = len(waiting) if event.sender is None else 0
        if event.sender == sender:
            sent += 1
        elif event.sender is not None:
            waiting.append((sent + lag, event))
            continue
        if event.sender == sender:
            due = sum(at < sent for at, _ in waiting)
        for _, late in waiting[:due]:
            yield late
        del waiting[:due]
        yield event
    yield from (event for _, event in waiting)
