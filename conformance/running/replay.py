"""Plays our side of a capture against an IUT, and judges its answers."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from conformance.definitions.protocol import Protocol
from conformance.judging.captures import Capture, Event
from conformance.judging.connections import judge_capture
from conformance.segmentation import Segmentation
from conformance.session import Session
from conformance.verdicts import NotExercised, Violation

Pace = tuple[tuple[str, int, int], ...]
"""The messages to wait for before the next step: name, least and greatest number of them."""


@dataclass(frozen=True)
class _Captured:
    """A capture, prepared for a replay.

    - ``steps``: our events, each with the messages to wait for before it
    - ``pace``: the messages to wait for after all steps
    - ``kinds``: the names of all messages of the IUT
    - ``closes``: the IUT closes the stream
    - ``undecided``: a test found this counterexample wrong, but the oracle finds nothing
    """

    steps: tuple[tuple[Pace, Event], ...]
    pace: Pace
    kinds: frozenset[str]
    closes: bool
    undecided: bool


async def replay(session: Session, capture: Capture) -> None:
    """Play a capture in a new session; the session's judge sees all of it.

    Our events are sent write by write. Before each of them, the messages that pace the protocol
    (``MessageType.paces``) must have come as often as in the capture. The IUT is free in all other
    messages. A capture with a gap is played up to the gap.

    Raises Violation if a pacing message does not come, if the IUT crashes, or if a counterexample
    is repeated. Raises NotExercised if one session cannot play the capture.
    """
    if session.instance.kind == "none":
        test = f" ({capture.extra['test']})" if "test" in capture.extra else ""
        raise NotExercised(
            f"{session.role} has no wire over which a replay can send messages: "
            f"run the test again{test}"
        )
    if capture.gaps:
        capture = replace(capture, events=capture.events[: capture.gaps[0]])
    captured = _parse_capture(session.protocol, capture, session.role.name, session.peer)
    # Our side of a counterexample can be wrong; then an IUT can lawfully close the stream.
    lenient = capture.origin == "counterexample"
    for pace, group in groupby(captured.steps, key=lambda step: step[0]):
        await _wait_for_pace(session, pace, lenient)
        await _send(session, [event for _, event in group])
    await _wait_for_pace(session, captured.pace, lenient)
    timeout = _reaction_time(session)
    if captured.closes:
        await session.until_closed(timeout)
    elif captured.undecided:
        kinds = {name for sender, name in session.protocol.messages if sender == session.role.name}
        await session.wait_for(*(kinds - captured.kinds), within=timeout)
    else:
        await session.until_closed(session.seconds("quiet"))
    await session.assert_alive("this")
    if captured.undecided and _is_counterexample_repeated(session, capture, captured):
        raise Violation(str(capture.extra["expected"]), f"again {capture.extra.get('came')}")


async def corresponding_capture(session: Session, parts: Sequence[Capture]) -> Capture | None:
    """The captured connection that corresponds to a new connection from the IUT.

    The first message decides, because the order of connections can be chance. The result is None
    if no captured connection corresponds, or if the IUT has already closed the new connection.
    """
    iut = session.role.name
    kinds = [_first_message_of_iut(part, iut) for part in parts]
    within = session.seconds("startup") + session.seconds("response")
    if None in kinds or not (message := await session.wait_for(within=within)):
        return parts[0]
    if message.name not in kinds:
        return None
    part = parts[kinds.index(message.name)]
    if _does_close_first(part, iut):
        return part
    return None if await session.until_closed(session.seconds("quiet")) else part


def _does_close_first(capture: Capture, iut: str) -> bool:
    """True if the IUT closes a captured connection before our side sends anything."""
    ours = (e.sender not in (iut, None) or e.event == "closed" for e in capture.events)
    first = next((e for e, counts in zip(capture.events, ours, strict=True) if counts), None)
    return first is None or first.sender == iut


def has_pacing_message(protocol: Protocol, capture: Capture, iut: str) -> bool:
    """True if the IUT sends a pacing message on a captured connection."""
    return bool(_parse_capture(protocol, capture, iut, protocol.roles[iut].peer).pace)


def _first_message_of_iut(capture: Capture, iut: str) -> str | None:
    """The first message of a captured connection; None if the suite sent it."""
    first = next((event for event in capture.events if event.data), None)
    return first.message if first and first.sender == iut else None


async def _send(session: Session, events: list[Event]) -> None:
    decoder = session.protocol.decoder(session.peer, session.instance.kind)
    pieces: list[bytes] = []
    unended = 0
    for event in events:
        # An empty datagram is sent as well.
        if event.data is not None:
            pieces.append(event.data)
            unended += len(event.data) - sum(len(frame.raw) for frame in decoder.feed(event.data))
        # All pieces of a message are sent in one call, so the judge sees it before the IUT answers.
        if pieces and (unended <= 0 or event is events[-1]):
            await session.wait_until_taken()
            await session.send_bytes(b"".join(pieces), segmentation=_captured_segmentation(pieces))
            pieces = []
    if any(event.event == "closed" for event in events):
        await session.finish()


def _captured_segmentation(pieces: list[bytes]) -> Segmentation:
    return lambda _: pieces


async def _wait_for_pace(session: Session, pace: Pace, lenient: bool) -> None:
    """Wait until these messages have come. Raises Violation for the first missing message."""

    def missing(name: str, times: int) -> bool:
        return sum(message.name == name for message in session.received) < times

    for name, times, at_most in pace:
        while missing(name, times) and not (lenient and session.ended):
            await session.expect(name, to="as in the capture")
        # Messages that violate something in the capture are optional: another IUT can be right.
        has_sent = any(event.sender == session.peer for event in session.events)
        while missing(name, at_most) and not session.ended:
            starting = has_sent and not session.received
            within = session.seconds("response") + (session.seconds("startup") if starting else 0)
            if await session.wait_for(name, within=within) is None:
                break


def _reaction_time(session: Session) -> float:
    """The time in which an IUT answers or ends its program, in seconds."""
    timings = session.protocol.timings
    return max(session.seconds(name) for name in ("response", "program") if name in timings)


def _is_counterexample_repeated(session: Session, capture: Capture, captured: _Captured) -> bool:
    """True if the IUT behaves as in a counterexample that the oracle cannot decide.

    The wrong message comes again with the same value. If no message was wrong, the same kinds of
    messages come, and the session ends or stays open as before.
    """
    offending = capture.extra.get("offending")
    if isinstance(offending, int) and 0 <= offending < len(capture.events):
        wrong = capture.events[offending]
        return any((wrong.message, wrong.value) == (m.name, m.value) for m in session.received)
    kinds = {message.name for message in session.received}
    if captured.closes and session.ended:
        return kinds <= captured.kinds  # the number of messages before the end depends on timing
    return kinds == captured.kinds and session.ended == captured.closes


def _parse_capture(protocol: Protocol, capture: Capture, iut: str, peer: str) -> _Captured:
    judge = judge_capture(protocol, capture, [iut])
    unsound = {finding.event for finding in judge.findings}
    paces = {
        name for (sender, name), kind in protocol.messages.items() if kind.paces and sender == iut
    }
    must, may = Counter[str](), Counter[str]()
    kinds: set[str] = set()
    steps = []
    for index, names in enumerate(_names(protocol, capture, iut)):
        event = capture.events[index]
        if event.sender == peer:
            steps.append((_pace(must, may), event))
        elif event.sender not in (iut, None):
            raise NotExercised(f"{event.sender} takes part in it; a replay plays {peer} only")
        kinds |= names.keys()
        for name in names.keys() & paces:
            may[name] += names[name]
            must[name] += names[name] if index not in unsound else 0
    seen = {finding.requirement for finding in judge.findings} & set(capture.requirements)
    return _Captured(
        tuple(steps),
        _pace(must, may),
        frozenset(kinds),
        any(event.sender == iut and event.event == "closed" for event in capture.events),
        capture.origin == "counterexample" and "expected" in capture.extra and not seen,
    )


def _names(protocol: Protocol, capture: Capture, iut: str) -> Iterator[Counter[str]]:
    """The names of the IUT's messages that each event completes."""
    decoder = protocol.decoder(iut, capture.transport)
    for event in capture.events:
        frames = decoder.feed(event.data) if event.data and event.sender == iut else []
        yield Counter(frame.name for frame in frames if frame.name is not None)


def _pace(must: Counter[str], may: Counter[str]) -> Pace:
    return tuple((name, must[name], may[name]) for name in may)
