"""The passive judge of a deltarobot session: order of messages, and values that must agree.

The oracle sees both sides, does not know which of them is under test, and has no clock. COURSES
define the order of each side's messages; every other rule is a small method, named after its
message. Rules for this module:

- A message changes a phase only through COURSES.
- A finding is about the current message. Errors of the other side only explain missing messages.
- There is no rule for anything that the specification leaves open. In particular the oracle cannot
  see the beginning of an exercise: a server can have begun the exercise before the session.
"""

import re
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cache
from itertools import pairwise
from typing import Any

from conformance.bounded_dict import BoundedDict
from conformance.course import ANY, Course, Step, Violates, Walk
from conformance.deltarobot.codec import (
    HEADER,
    LENGTH_KNOWN,
    LENGTHS,
    LIMIT,
    OVERSIZED,
    TRUNCATED,
    encode,
    layouts,
    misfit,
    name_of_begun,
)
from conformance.deltarobot.messages import EXERCISE
from conformance.judging.judge import Finding

SERVER, CLIENT = "server", "client"

MAGIC, VERSION, END = "ProtocolMagic", "ProtocolVersion", "EndOfTransmission"
_SERVICE = ("Ping", *EXERCISE)

_UNREADABLE = re.compile(r"[^\t\n\v\f\r -\U0010ffff]")
_TURNED = 1 << 24  # the version 1 with its bytes reversed
_END_TYPE = 0x006
_MIN_PINGS = 5  # pings whose numbers are judged; equal steps between them are no coincidence
_MAX_UNANSWERED = 20  # pings without any pong; even a slow pong arrives before the next ones
_MAX_DIFFERENT = 2  # different numbers of _MIN_PINGS pings; so few are no coincidence
_PAIRS = 3  # numbers that come twice in a row; so many are no coincidence
PINGS_OF_PAIRS = 2 * _PAIRS + 1
"""The latest pings among which repeated numbers count."""


class Phase(StrEnum):
    """The state of one side, given by the messages that it has sent."""

    CONNECTED = "connected"
    MAGIC_SENT = "magic sent"
    VERSION_SENT = "version sent"
    OPEN = "open"
    ENDED = "ended"


_BEFORE_HANDSHAKE = Violates(
    "handshake.first", "{name} was sent before its sender's magic and version"
)
_REPEATED = Violates("handshake.once", "{name} was sent a second time")
_AFTER_END = Violates("end.nothing-after", "{name} was sent after an end of transmission")
_UNSHAKEN = Violates(
    "handshake.before-service", "{message} was sent before the client's magic and version"
)
_HALVES: Mapping[StrEnum, tuple[str, str]] = {
    Phase.MAGIC_SENT: ("version", "handshake.version-sent"),
    Phase.VERSION_SENT: ("magic", "handshake.magic-sent"),
}
"""By phase of a side: the missing message of its handshake, and the requirement for it."""
_SERVED = "service"
"""The name under which a server's service messages appear in the client's course."""


def _side(sender: str, before: Mapping[Step, Violates]) -> Course:
    """Return the course of one side.

    `before` are extra rows for each state until the handshake of the side is complete.
    """
    magic, version, other = (sender, MAGIC), (sender, VERSION), (sender, ANY)
    return Course(
        f"the {sender}'s side of a session",
        {
            Phase.CONNECTED: {
                magic: Phase.MAGIC_SENT,
                version: Phase.VERSION_SENT,
                other: _BEFORE_HANDSHAKE,
                **before,
            },
            Phase.MAGIC_SENT: {
                magic: _REPEATED,
                version: Phase.OPEN,
                other: _BEFORE_HANDSHAKE,
                **before,
            },
            Phase.VERSION_SENT: {
                magic: Phase.OPEN,
                version: _REPEATED,
                other: _BEFORE_HANDSHAKE,
                **before,
            },
            Phase.OPEN: {magic: _REPEATED, version: _REPEATED, (sender, END): Phase.ENDED},
            Phase.ENDED: {other: _AFTER_END},
        },
    )


SIDES = {
    SERVER: _side(SERVER, before={}),
    CLIENT: _side(CLIENT, before={(SERVER, _SERVED): _UNSHAKEN}),
}
"""By side. A server can serve a client only after the client has completed its handshake."""
COURSES = tuple(SIDES.values())


@dataclass
class _Side:
    """The observed behaviour of one side."""

    walk: Walk
    closed: bool = False
    disturbed: bool = False
    """True if this side gave the other a reason to disconnect without an announcement."""
    strays: dict[str, Finding] = field(default_factory=dict)
    """Findings by message name, postponed while the handshake of this side can still be completed.

    They are about messages between magic and version, and about an early end of transmission.
    """
    ragged: bool = False
    """True if the latest message ended inside a part, so that its true end is unknown."""
    has_served: bool = False
    """True if this side has sent a message that serves its peer."""
    reset: bool = False
    """True if this side reset the stream, which can destroy its last bytes."""

    @property
    def phase(self) -> StrEnum:
        return self.walk.state


ONE_SIDED = frozenset({"messages.own-direction"})
"""The requirements that are judged even if the messages of only one side are known."""


class Oracle:
    """Judges one session by its state and rules."""

    def __init__(self) -> None:
        self.exercised: set[str] = set()
        self._sides = {name: _Side(Walk(course)) for name, course in SIDES.items()}
        self._pings: deque[int] = deque(maxlen=PINGS_OF_PAIRS)
        self._unanswered: BoundedDict[int, list[int]] = BoundedDict()
        """By ping number: the positions of all pings with this number."""
        self._pinged = 0
        self._ponged = 0
        """The highest position of an answered ping."""
        self._has_misnumbered = False
        """True if a pong has had a number that no ping had."""
        self._answered: BoundedDict[int, None] = BoundedDict()
        self._again: deque[int] = deque(maxlen=_MIN_PINGS)
        """Numbers of repeated pongs that arrived while other pings were unanswered."""
        # first bytes of unknown messages and of pongs, which an IUT can mistake for pings
        self._strange: BoundedDict[bytes, str] = BoundedDict()

    def message(self, sender: str, name: str, value: Any) -> Iterator[Finding]:
        self._sides[sender].ragged = "rest" in value
        yield from self._course(sender, name)
        if name in _SERVICE:
            yield from self._service(name)
        rule = _RULES.get((sender, name))
        if rule:
            yield from rule(self, sender, value)

    def unknown(self, sender: str, name: str, value: Any, foreign: bool) -> Iterator[Finding]:
        side, peer = self._sides[sender], self._sides[_other(sender)]
        if name == TRUNCATED:
            side.has_served = True
            # A side that leaves received bytes unread resets the stream when it closes, which can
            # destroy the last message of its peer.
            peer.disturbed |= side.reset
            # A side need not complete its message after its peer has closed.
            if not (peer.closed or peer.disturbed or peer.phase is Phase.ENDED):
                begins = bytes.fromhex(value["begins"])
                what = f"the stream ended inside a message that begins {begins.hex(' ')}"
                # An end of transmission that stops directly after its length has a wrong length.
                is_end_cut = name_of_begun(begins) == END and len(begins) == LENGTH_KNOWN
                if turned := _reversed_length(begins):
                    what += f", whose length would be {turned} in the other byte order"
                yield Finding(LENGTHS if is_end_cut or turned else "frame.whole-messages", what)
            return
        yield from self._course(sender, name)
        if foreign:
            side.disturbed = True
            if name == "Pong":
                self._strange[encode(value)[HEADER.size :]] = "pong.each"
            came = f"the {sender} sent {name}, which only its peer can send"
            yield Finding("messages.own-direction", came)
        elif name == OVERSIZED:
            side.disturbed = True
        elif side.ragged:
            side.disturbed = True
            what = "the bytes after a curve with an incomplete point make no sense"
            yield Finding(LENGTHS, what, earlier=True)
        elif value["identifier"].endswith("000"):
            side.disturbed = True
            yield Finding("messages.null-not-sent", f"{value['identifier']} has the null type")
        else:
            known = int(value["identifier"], 16) & 0xFFF in _types()
            about = "messages.whole-identifier" if known else "messages.type-identifier"
            self._strange[bytes.fromhex(value["data"])[:8]] = about
            # A side that ends the connection for this reason must announce the end. If the side
            # takes the message for an end of transmission, the error is that mistake.
            side.disturbed |= int(value["identifier"], 16) & 0xFF == _END_TYPE
            # Before the handshake, any message at all is the error (handshake.first).
            if side.phase in (Phase.OPEN, Phase.ENDED):
                what = f"version 1 does not define {value['identifier']}"
                yield Finding("messages.defined-only", what)

    def broken(self, sender: str) -> None:
        self._sides[sender].disturbed = True

    def reset(self, sender: str) -> None:
        self._sides[sender].reset = True

    def has_said_goodbye(self, sender: str) -> bool:
        return self._sides[sender].phase is Phase.ENDED

    def closed(self, sender: str) -> Iterator[Finding]:
        side, peer = self._sides[sender], self._sides[_other(sender)]
        side.closed = True
        # A side that listens first can give up a peer whose correct handshake does not arrive.
        waited = peer.disturbed or peer.phase not in (Phase.OPEN, Phase.ENDED)
        if [*side.strays] == [END] and waited:
            what = f"the {sender} ended the session without having sent its handshake"
            # Only other sessions show if a side that has sent one half ever sends the other.
            half = side.phase in _HALVES
            yield Finding("handshake.unasked", what, earlier=True, inconclusive=half)
        elif side.strays and side.phase is Phase.CONNECTED:
            yield from (replace(stray, earlier=True) for stray in side.strays.values())
        elif side.strays:
            yield _missing_half(sender, _HALVES[side.phase])
        elif not (peer.closed or peer.disturbed or peer.phase is Phase.ENDED):
            yield from self._missing_messages(sender, side, peer)
        if side.phase in (Phase.OPEN, Phase.ENDED):
            self.exercised.add("frame.whole-messages")
        if side.phase is Phase.ENDED:
            self.exercised |= {"end.announced", "end.nothing-after", "end.closes"}
        elif self._is_owing_an_end(sender, side, peer):
            what = f"the {sender} closed the connection without an end of transmission"
            # A side that has served nothing can have given up a handshake that it read too late.
            yield Finding("end.announced", what, inconclusive=not side.has_served)

    def _missing_messages(self, sender: str, side: _Side, peer: _Side) -> Iterator[Finding]:
        """Report the messages that one side did not send before it closed."""
        if peer.phase is Phase.OPEN and side.phase in _HALVES:
            yield _missing_half(sender, _HALVES[side.phase])
        # A pong with a wrong number answers a ping, too, but does not show which one.
        if sender == CLIENT and not self._has_misnumbered:
            first = min((places[0] for places in self._unanswered.values()), default=self._pinged)
            if first < self._ponged:
                number = next(n for n, places in self._unanswered.items() if places[0] == first)
                what = f"the ping {number} was never answered, although later ones were"
                yield Finding("pong.each", what)
            elif not self._ponged and self._pinged > 1:
                what = f"the client closed without any pong to {self._pinged} pings"
                yield Finding("pong.each", what, inconclusive=self._pinged < _MAX_UNANSWERED)

    def _is_owing_an_end(self, sender: str, side: _Side, peer: _Side) -> bool:
        """Return True if no behaviour of the other side explains an unannounced close."""
        dead = sender == SERVER and bool(self._unanswered)
        shaken = side.phase is Phase.OPEN and peer.phase is Phase.OPEN
        return shaken and not (peer.closed or peer.disturbed or dead)

    def _course(self, sender: str, name: str) -> Iterator[Finding]:
        """Apply the rules for a message of any name."""
        side = self._sides[sender]
        side.has_served |= name in (*_SERVICE, "Pong")
        began = side.phase
        found = side.walk.step(sender, name)
        # A side can insist on the usual order of the handshake, rightly or wrongly.
        side.disturbed |= bool(found) or side.phase is Phase.VERSION_SENT
        instead = (END,) if began is Phase.CONNECTED else (*_SERVICE, "Pong", END)
        if began in (Phase.CONNECTED, *_HALVES) and name in instead:
            # If the rest of the handshake never arrives, that is the error to report.
            for stray in found:
                side.strays.setdefault(name, stray)
            found = []
        elif began is Phase.CONNECTED or side.phase is Phase.OPEN:
            found, side.strays = [*found, *side.strays.values()], {}
        yield from found
        if side.phase is Phase.OPEN:
            self.exercised |= {
                *("handshake.magic-sent", "handshake.version-sent", "handshake.first"),
                *("frame.identifier", "frame.undefined-sizes"),
                *("messages.null-not-sent", "messages.own-direction"),
                *("handshake.once", "messages.defined-only"),
            }

    def _service(self, name: str) -> Iterator[Finding]:
        client = self._sides[CLIENT]
        if client.phase in (Phase.OPEN, Phase.ENDED):
            self.exercised.add("handshake.before-service")
        if self._sides[SERVER].phase is not Phase.ENDED:
            yield from client.walk.step(SERVER, _SERVED, message=name)

    # Rules, one for each message that has any

    def _handshake_rule(self, sender: str, value: Any) -> Iterator[Finding]:
        # The schema reports a wrong value. The value also explains why the other side closes.
        if value.get("magic", "DeltaRVr") != "DeltaRVr" or value.get("version", 1) != 1:
            self._sides[sender].disturbed = True
            if wrong := misfit(encode(value)):
                yield Finding("frame.fixed-lengths", wrong)
        if value.get("version") == _TURNED:
            yield Finding("frame.byte-order", "received version 1 as 00 00 00 01, in big-endian")

    def _ping(self, sender: str, value: Any) -> Iterator[Finding]:
        number = value["number"]
        # A ping can be sent again, with its number, until it is answered.
        if number not in self._unanswered:
            self._pings.append(number)
        self._pinged += 1
        self._unanswered[number] = [*self._unanswered.get(number, ()), self._pinged]
        self.exercised.add("ping.sent")
        if len(self._pings) < _MIN_PINGS:
            return
        self.exercised.add("ping.random")
        latest = [*self._pings][-_MIN_PINGS:]
        steps = {(after - before) % 2**64 for before, after in pairwise(latest)}
        if (different := len(set(latest))) <= _MAX_DIFFERENT:
            how = f"have {different} different values" if different > 1 else "are all equal"
        elif sum(before == after for before, after in pairwise(self._pings)) >= _PAIRS:
            latest, how = [*self._pings], f"repeat the number before {_PAIRS} times"
        elif len(steps) == 1:
            how = f"grow by {steps.pop()} each"
        else:
            return
        yield Finding("ping.random", f"the numbers of {len(latest)} pings {how}: {latest[0]}, …")

    def _pong(self, sender: str, value: Any) -> Iterator[Finding]:
        number = value["number"]
        self.exercised |= {"pong.each", "pong.number"}
        if waiting := self._unanswered.pop(number, []):
            self._ponged = max(self._ponged, waiting.pop(0))
            if waiting:
                self._unanswered[number] = waiting
            self._answered[number] = None
            if not self._unanswered:
                yield from map(_is_sent_twice, self._again)
                self._again.clear()
            return
        self._sides[CLIENT].disturbed = True
        wrong = self._strange.get(number.to_bytes(8, "little"))
        if wrong and not self._has_misnumbered:
            yield Finding(wrong, f"a message that is not a ping was answered by the pong {number}")
        elif number in self._answered and self._unanswered:
            # The pong can also be the answer to a waiting ping, with a wrong number.
            self._again.append(number)
        elif number in self._answered:
            yield _is_sent_twice(number)
        elif short := misfit(encode(value)):
            yield Finding("frame.fixed-lengths", short)
        elif not self._unanswered:
            what = f"received a pong with {number}, although no ping was waiting for an answer"
            yield Finding("pong.each", what)
        else:
            self._has_misnumbered = True
            yield Finding("pong.number", f"received a pong with {number}; no ping has that number")

    def _curve(self, sender: str, value: Any) -> Iterator[Finding]:
        self.exercised.add("exercise.curve-structure")
        if "rest" in value:
            self._sides[SERVER].disturbed = True
        yield from ()

    def _end(self, sender: str, value: Any) -> Iterator[Finding]:
        self.exercised.add("end.reason-ascii")
        reason = value["reason"]
        # A C string can include its terminating NUL. Other control characters are no readable
        # text: they show a length before the text, or UTF-16.
        if _UNREADABLE.search(reason.rstrip("\0")):
            yield Finding(
                "end.reason-ascii", f"received {reason[:80]!r}, which is no readable text"
            )


_RULES = {
    **{
        (sender, name): Oracle._handshake_rule
        for sender in (SERVER, CLIENT)
        for name in (MAGIC, VERSION)
    },
    **{(sender, END): Oracle._end for sender in (SERVER, CLIENT)},
    (SERVER, "Ping"): Oracle._ping,
    (SERVER, "Curve"): Oracle._curve,
    (CLIENT, "Pong"): Oracle._pong,
}


@cache
def _types() -> set[int]:
    """Return the known types, without their size identifiers."""
    return {identifier & 0xFFF for identifier in layouts()}


def _is_sent_twice(number: int) -> Finding:
    return Finding("pong.each", f"the ping {number} was answered more than once")


def _reversed_length(begins: bytes) -> int:
    """Return the length of a message in big-endian; 0 if the usual length is plausible."""
    length = begins[HEADER.size : LENGTH_KNOWN]
    turned = int.from_bytes(length, "big")
    return turned if int.from_bytes(length, "little") > LIMIT >= turned else 0


def _missing_half(sender: str, half: tuple[str, str]) -> Finding:
    missing, requirement = half
    return Finding(requirement, f"the {sender} ended the session without sending its {missing}")


def _other(sender: str) -> str:
    return CLIENT if sender == SERVER else SERVER
