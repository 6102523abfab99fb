"""The passive judge of a deltarobot session: what may follow what, and what values must agree.

It sees both sides, does not know which of them is under test, and has no clock. Each side goes
through its course in COURSES; everything else is a small rule under the name of the message that
it is about. Rules for this module:

- A message changes a phase only through COURSES.
- A finding is about the message at hand; what the other side did wrong only explains its absence.
- Wherever the specification leaves something open there is no rule. In particular the oracle cannot
  see when an exercise begins: a server may have begun it before the session.
"""

import re
from collections import Counter, deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cache
from itertools import pairwise
from typing import Any

from conformance.course import ANY, Course, Step, Violates, Walk
from conformance.deltarobot.codec import (
    HEADER,
    LENGTHS,
    LIMIT,
    OVERSIZED,
    SAID,
    TRUNCATED,
    begun,
    encode,
    layouts,
    misfit,
)
from conformance.judging.judge import Finding
from conformance.recent import Recent

SERVER, CLIENT = "server", "client"

MAGIC, VERSION, END = "ProtocolMagic", "ProtocolVersion", "EndOfTransmission"
PROGRESS = ("CurrentActuatorPosition", "CurrentDirectionVector", "DesiredDirectionVector")
_SERVICE = ("Ping", "Curve", *PROGRESS)

_UNREADABLE = re.compile(r"[^\t\n\v\f\r -\U0010ffff]")
_TURNED = 1 << 24  # the version, its bytes in reverse order
_END_TYPE = 0x006
_RANDOM = 5  # pings after which equal steps between them are not chance
_MANY = 20  # pings without any pong, which take longer than a pong does
_ALONE = 300  # of one message of progress behind a curve, where another of them has never come
_FEW = 2  # different ones among those, which are not chance either; nor are as many repetitions


class Phase(StrEnum):
    """How far one side has come with what it sends."""

    CONNECTED = "connected"
    MAGIC_SENT = "magic sent"
    VERSION_SENT = "version sent"
    OPEN = "open"
    ENDED = "ended"


_FIRST = Violates("handshake.first", "{name} came before its sender's magic and version")
_AGAIN = Violates("handshake.once", "{name} came a second time")
_LATE = Violates("end.nothing-after", "{name} came after an end of transmission")
_UNSHAKEN = Violates(
    "handshake.before-service", "{message} came before the client's magic and version"
)
_HALVES: Mapping[StrEnum, tuple[str, str]] = {
    Phase.MAGIC_SENT: ("version", "handshake.version-sent"),
    Phase.VERSION_SENT: ("magic", "handshake.magic-sent"),
}
"""By phase of a side: what it still has to send to its handshake."""
_SERVED = "service"
"""What a server's messages are to the course of the client, when they serve it."""


def _side(sender: str, before: Mapping[Step, Violates]) -> Course:
    """The course of one side; `before` are rows of each state until its handshake is complete."""
    magic, version, other = (sender, MAGIC), (sender, VERSION), (sender, ANY)
    return Course(
        f"the {sender}'s side of a session",
        {
            Phase.CONNECTED: {
                magic: Phase.MAGIC_SENT,
                version: Phase.VERSION_SENT,
                other: _FIRST,
                **before,
            },
            Phase.MAGIC_SENT: {magic: _AGAIN, version: Phase.OPEN, other: _FIRST, **before},
            Phase.VERSION_SENT: {magic: Phase.OPEN, version: _AGAIN, other: _FIRST, **before},
            Phase.OPEN: {magic: _AGAIN, version: _AGAIN, (sender, END): Phase.ENDED},
            Phase.ENDED: {other: _LATE},
        },
    )


SIDES = {
    SERVER: _side(SERVER, before={}),
    CLIENT: _side(CLIENT, before={(SERVER, _SERVED): _UNSHAKEN}),
}
"""By side; a server may serve a client only once that has finished its handshake."""
COURSES = tuple(SIDES.values())


@dataclass
class _Side:
    """What one side has done so far."""

    walk: Walk
    closed: bool = False
    disturbed: bool = False
    """It has given the other one a reason to end the connection without a word."""
    strays: dict[str, Finding] = field(default_factory=dict)
    """By name: what has come between the halves of its handshake, or an end before both of them,
    where the rest is still to come."""
    ragged: bool = False
    """The contents of its latest message do not end where their parts do: their end is in doubt."""
    reset: bool = False
    """It has ended the stream by a reset, which may lose the end of what it sent."""

    @property
    def phase(self) -> StrEnum:
        return self.walk.state


class Oracle:
    """The state of one session and the rules that it obeys."""

    def __init__(self) -> None:
        self.exercised: set[str] = set()
        self._sides = {name: _Side(Walk(course)) for name, course in SIDES.items()}
        self._pings: deque[int] = deque(maxlen=_RANDOM)
        self._unanswered: Recent[int, list[int]] = Recent()
        """By number of a ping: the places of those with that number among all pings."""
        self._pinged = 0
        self._ponged = 0
        """The latest place of a ping that was answered."""
        self._progress: Counter[str] | None = None
        """What has come since the first curve; before, no exercise need go on."""
        self._answered: Recent[int, None] = Recent()
        self._again: deque[int] = deque(maxlen=_RANDOM)
        """The numbers of pongs that came once more while other pings waited for theirs."""
        self._strange: Recent[bytes, str] = Recent()  # what begins messages that are not pings

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
            # Who leaves bytes of its peer unread ends by a reset, and may lose its last word by it.
            peer.disturbed |= side.reset
            # A side whose peer has gone need not finish its message.
            if not (peer.closed or peer.disturbed or peer.phase is Phase.ENDED):
                begins = bytes.fromhex(value["begins"])
                what = f"the stream ended inside a message that begins {begins.hex(' ')}"
                # What ends the session says in vain how much more there is of it.
                said = begun(begins) == END and len(begins) == SAID
                if turned := _turned(begins):
                    what += f", whose length would be {turned} in the other byte order"
                yield Finding(LENGTHS if said or turned else "frame.whole-messages", what)
            return
        yield from self._course(sender, name)
        if foreign:
            side.disturbed = True
            came = f"the {sender} sent {name}, which is its peer's"
            yield Finding("messages.own-direction", came)
        elif name == OVERSIZED:
            side.disturbed = True
        elif side.ragged:
            side.disturbed = True
            what = "what comes behind a curve whose length is not that of points makes no sense"
            yield Finding(LENGTHS, what, earlier=True)
        elif value["identifier"].endswith("000"):
            side.disturbed = True
            yield Finding("messages.null-not-sent", f"{value['identifier']} came, of the null type")
        else:
            known = int(value["identifier"], 16) & 0xFFF in _types()
            about = "messages.whole-identifier" if known else "messages.type-identifier"
            self._strange[bytes.fromhex(value["data"])[:8]] = about
            # A side that ends the connection because of it must say so, unless it takes it for an
            # end, which is what is wrong then.
            side.disturbed |= int(value["identifier"], 16) & 0xFF == _END_TYPE
            what = f"{value['identifier']} came, which version 1 does not have"
            yield Finding("messages.defined-only", what)

    def broken(self, sender: str) -> None:
        self._sides[sender].disturbed = True

    def reset(self, sender: str) -> None:
        self._sides[sender].reset = True

    def parted(self, sender: str) -> bool:
        return self._sides[sender].phase is Phase.ENDED

    def closed(self, sender: str) -> Iterator[Finding]:
        side, peer = self._sides[sender], self._sides[_other(sender)]
        side.closed = True
        # One that listens first may give up a peer of which it hears no handshake that is right.
        waited = peer.disturbed or peer.phase not in (Phase.OPEN, Phase.ENDED)
        if [*side.strays] == [END] and waited:
            what = f"the {sender} ended the session, and had kept its handshake back"
            # Whether one that has sent a half ever sends the rest, other sessions show.
            half = side.phase in _HALVES
            yield Finding("handshake.unasked", what, earlier=True, inconclusive=half)
        elif side.strays and side.phase is Phase.CONNECTED:
            yield from (replace(stray, earlier=True) for stray in side.strays.values())
        elif side.strays:
            yield _lacking(sender, _HALVES[side.phase])
        elif not (peer.closed or peer.disturbed or peer.phase is Phase.ENDED):
            yield from self._never_came(sender, side, peer)
        if side.phase in (Phase.OPEN, Phase.ENDED):
            self.exercised.add("frame.whole-messages")
        if side.phase is Phase.ENDED:
            self.exercised |= {"end.announced", "end.nothing-after", "end.closes"}
        elif self._owes_a_word(sender, side, peer):
            what = f"the {sender} closed the connection without an end of transmission"
            yield Finding("end.announced", what)

    def _never_came(self, sender: str, side: _Side, peer: _Side) -> Iterator[Finding]:
        """What one side still had to send when it ended the stream, and nothing had kept it."""
        if peer.phase is Phase.OPEN and side.phase in _HALVES:
            yield _lacking(sender, _HALVES[side.phase])
        if sender == CLIENT:
            first = min((places[0] for places in self._unanswered.values()), default=self._pinged)
            if first < self._ponged:
                number = next(n for n, places in self._unanswered.items() if places[0] == first)
                what = f"the ping {number} was never answered, although later ones were"
                yield Finding("pong.each", what)
            elif not self._ponged and self._pinged > 1:
                what = f"{self._pinged} pings came, and the client left without any pong"
                yield Finding("pong.each", what, inconclusive=self._pinged < _MANY)

    def _owes_a_word(self, sender: str, side: _Side, peer: _Side) -> bool:
        """Nothing that the other side did, or did not do, explains that this one just closes."""
        dead = sender == SERVER and bool(self._unanswered)
        shaken = side.phase is Phase.OPEN and peer.phase is Phase.OPEN
        return shaken and not (peer.closed or peer.disturbed or dead)

    def _course(self, sender: str, name: str) -> Iterator[Finding]:
        """What holds for a message of any name."""
        side = self._sides[sender]
        began = side.phase
        found = side.walk.step(sender, name)
        # A side that insists on the usual order of the handshake has a reason, right or wrong.
        side.disturbed |= bool(found) or side.phase is Phase.VERSION_SENT
        instead = (END,) if began is Phase.CONNECTED else (*_SERVICE, "Pong", END)
        if began in (Phase.CONNECTED, *_HALVES) and name in instead:
            # Where the rest never comes, that is what is wrong, and not what came instead.
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
        yield from client.walk.step(SERVER, _SERVED, message=name)
        if name in PROGRESS:
            yield from self._goes_on(name)

    # Rules, one for each message that has any

    def _hello(self, sender: str, value: Any) -> Iterator[Finding]:
        # Its schema says what is wrong; here it explains that the other side closes.
        if value.get("magic", "DeltaRVr") != "DeltaRVr" or value.get("version", 1) != 1:
            self._sides[sender].disturbed = True
            if wrong := misfit(encode(value)):
                yield Finding("frame.fixed-lengths", wrong)
        if value.get("version") == _TURNED:
            yield Finding("frame.byte-order", "the version 1 came as 00 00 00 01, in big-endian")

    def _ping(self, sender: str, value: Any) -> Iterator[Finding]:
        number = value["number"]
        self._pings.append(number)
        self._pinged += 1
        self._unanswered[number] = [*self._unanswered.get(number, ()), self._pinged]
        self.exercised.add("ping.sent")
        if len(self._pings) < _RANDOM:
            return
        self.exercised.add("ping.random")
        steps = {(after - before) % 2**64 for before, after in pairwise(self._pings)}
        repeated = sum(before == after for before, after in pairwise(self._pings))
        if (different := len(set(self._pings))) <= _FEW or repeated >= _FEW:
            how = f"are {different} different ones" if different > 1 else "are all the same"
        elif len(steps) == 1:
            how = f"grow by {steps.pop()} each"
        else:
            return
        yield Finding("ping.random", f"the numbers of {_RANDOM} pings {how}: {self._pings[0]}, …")

    def _pong(self, sender: str, value: Any) -> Iterator[Finding]:
        number = value["number"]
        self.exercised |= {"pong.each", "pong.number"}
        if waiting := self._unanswered.pop(number, []):
            self._ponged = max(self._ponged, waiting.pop(0))
            if waiting:
                self._unanswered[number] = waiting
            self._answered[number] = None
            if not self._unanswered:
                yield from map(_twice, self._again)
                self._again.clear()
            return
        self._sides[CLIENT].disturbed = True
        if wrong := self._strange.get(number.to_bytes(8, "little")):
            yield Finding(wrong, f"a message that is not a ping was answered by the pong {number}")
        elif number in self._answered and self._unanswered:
            # Or else it answers one of those that wait, by a wrong number.
            self._again.append(number)
        elif number in self._answered:
            yield _twice(number)
        elif short := misfit(encode(value)):
            yield Finding("frame.fixed-lengths", short)
        else:
            yield Finding("pong.number", f"a pong with {number} came, and no ping has that number")

    def _curve(self, sender: str, value: Any) -> Iterator[Finding]:
        self.exercised.add("exercise.curve-structure")
        self._progress = self._progress or Counter(dict.fromkeys(PROGRESS, 0))
        if "rest" in value:
            self._sides[SERVER].disturbed = True
        yield from ()

    def _goes_on(self, name: str) -> Iterator[Finding]:
        if (came := self._progress) is None:
            return
        came[name] += 1
        if came[name] == max(came.values()) == _ALONE:
            self.exercised.add("progress.continuous")
            for other in (each for each in PROGRESS if not came[each]):
                what = f"{_ALONE} of {name} came, and no {other}"
                yield Finding("progress.continuous", what)

    def _end(self, sender: str, value: Any) -> Iterator[Finding]:
        self.exercised.add("end.reason-ascii")
        reason = value["reason"]
        # A string of C may bring its end along. Other control characters are not readable text:
        # they are the length of a string, or half of a letter in UTF-16.
        if _UNREADABLE.search(reason.rstrip("\0")):
            yield Finding("end.reason-ascii", f"{reason[:80]!r} came, which is not readable text")


_RULES = {
    **{(sender, name): Oracle._hello for sender in (SERVER, CLIENT) for name in (MAGIC, VERSION)},
    **{(sender, END): Oracle._end for sender in (SERVER, CLIENT)},
    (SERVER, "Ping"): Oracle._ping,
    (SERVER, "Curve"): Oracle._curve,
    (CLIENT, "Pong"): Oracle._pong,
}


@cache
def _types() -> set[int]:
    """The known types, without their sizes."""
    return {identifier & 0xFFF for identifier in layouts()}


def _twice(number: int) -> Finding:
    return Finding("pong.each", f"the ping {number} was answered more than once")


def _turned(begins: bytes) -> int:
    """What the length that begins a message would be in the other byte order; 0 if it may be so."""
    length = begins[HEADER.size : SAID]
    turned = int.from_bytes(length, "big")
    return turned if int.from_bytes(length, "little") > LIMIT >= turned else 0


def _lacking(sender: str, half: tuple[str, str]) -> Finding:
    missing, requirement = half
    return Finding(requirement, f"the {sender} ended the session without its {missing}")


def _other(sender: str) -> str:
    return CLIENT if sender == SERVER else SERVER
