"""Faults that only a later connection or another client reveals."""

import asyncio
import signal
from dataclasses import replace
from typing import Any, ClassVar

from conformance.codec import Decoder, Frame
from conformance.deltarobot.codec import UNKNOWN, message
from mocks.deltarobot.client import Client
from mocks.deltarobot.exercise import State, Vector
from mocks.deltarobot.faults.building import LATER, Misreader, named
from mocks.deltarobot.faults.frames import HalfIdentifiersLost
from mocks.deltarobot.server import Server
from mocks.deltarobot.session import MAGIC, VERSION, Session
from mocks.deviations import Fault, Subtle, Table, fault
from mocks.steps import (
    alter,
    before,
    call,
    die,
    exit_process,
    from_connection,
    having,
    instead,
    leave_file_open,
    note,
    noted,
    send,
    skip,
    then,
)

_SPACE = 64  # bytes of the latest message, more than any handshake has


def _forgive_magic(server: Server, _: Any) -> None:
    server.missing.discard(MAGIC)


EITHER = Table(Session)

EITHER["handshake.closes-different"] = {
    "later-peer-trusted": Subtle(
        "Skips all messages before the handshake, from the second connection on.",
        skip("unexpected", LATER),
    ),
}

EITHER["handshake.closes-wrong-magic"] = {
    "later-any-magic": Subtle(
        "Accepts any magic, from the second connection on.",
        instead("acceptable", lambda *_: True, LATER & (lambda _, name, value: name == MAGIC)),
    ),
}

EITHER["handshake.closes-wrong-version"] = {
    "later-any-version": Subtle(
        "Accepts any version, from the second connection on.",
        instead("acceptable", lambda *_: True, LATER & (lambda _, name, value: name == VERSION)),
    ),
}

EITHER["handshake.closes-silent"] = {
    "later-endless-patience": Subtle(
        "Never drops a peer because of a missing handshake, from the second connection on.",
        skip("out_of_patience", LATER),
    ),
}

EITHER["frame.segmentation"] = {
    "later-halves-lost": Subtle(
        "Loses the first byte of an identifier that arrives alone, from the second connection on.",
        before("opened", lambda peer: setattr(peer, "decoder", HalfIdentifiersLost()), LATER),
    ),
}

EITHER["messages.unknown-skipped"] = {
    "later-closes-upon-unknown": Subtle(
        "Closes the connection after an unknown message, from the second connection on.",
        then("skip", call("end", "unknown"), LATER & named(UNKNOWN)),
    ),
}

EITHER["end.announced"] = {
    "later-no-word-at-the-end": Subtle(
        "Closes without an end of transmission, from the second connection on.",
        skip("announce_end", LATER),
    ),
}

SERVER = Table(Server)

SERVER["handshake.closes-partial"] = {
    "magic-of-another": Subtle(
        "Serves a client without a magic if another client has sent one.",
        before(
            "handshake", lambda server, _: server.missing.discard(MAGIC), LATER & named(VERSION)
        ),
    ),
}

SERVER["handshake.magic-value"] = {
    "later-magic-reversed": Subtle(
        "Sends the magic reversed, from the second connection on.",
        instead("send_magic", send(message(MAGIC, magic="rVRatleD")), LATER),
    ),
}

SERVER["handshake.version-sent"] = {
    "later-no-version": Subtle(
        "Sends no version, from the second connection on.", skip("send_version", LATER)
    ),
}

SERVER["frame.byte-order"] = {
    "later-version-big-endian": Subtle(
        "Sends its version in big-endian, from the second connection on.",
        instead("send_version", send(message(VERSION, version=1 << 24)), LATER),
    ),
}

SERVER["robustness.next-client"] = {
    "dies-of-a-second-client": Fault(
        "Crashes when a second client connects.", before("run", die, LATER)
    ),
    "one-client-ever": Fault(
        "Closes every connection but the first at once.",
        instead("run", lambda _, stream: stream.closed(), LATER),
    ),
    "three-clients-ever": Subtle(
        "Closes every connection but the first three at once, because it never frees places.",
        instead("run", lambda _, stream: stream.closed(), from_connection(4)),
    ),
    "busy-for-ever": Subtle(
        "Ends the transmission to every client but the first after its handshake.",
        then("opened", call("end", "busy"), LATER),
    ),
    "dies-of-sigpipe": Subtle(
        "Is killed by SIGPIPE when it writes to a client that has disconnected.",
        before("opened", lambda _: signal.signal(signal.SIGPIPE, signal.SIG_DFL)),
    ),
    "files-left-open": Subtle(
        "Leaves a file open for each client whose handshake is wrong.",
        then("refuse", leave_file_open),
    ),
    "fourth-client-unserved": Subtle(
        "Sends the handshake to its fourth client, and then does not serve it.",
        skip("welcome", lambda server: server.number == 4),
    ),
    "ends-with-its-client": Subtle(
        "Exits in an orderly way after a client has ended the transmission.",
        then("peer_ends", exit_process),
    ),
    "ends-with-a-reset": Subtle(
        "Exits in an orderly way after a client has reset its connection.",
        before("input_ended", exit_process, having("stream.broken")),
    ),
    "ends-with-a-slow-reader": Subtle(
        "Exits in an orderly way after a client has left that had not read everything.",
        before("begin", note("behind", having("stream.is_behind"))),
        before("closed", exit_process, noted("behind")),
    ),
}

SERVER["exercise.curve-first"] = {
    "later-no-curve": Subtle(
        "Sends the curve of an exercise only to its first client.", skip("send_curve", LATER)
    ),
}

SERVER["progress.continuous"] = {
    "later-no-progress": Subtle("Sends progress only to its first client.", skip("show", LATER)),
}

SERVER["exercise.curve-values"] = {
    "later-curve-reversed": Subtle(
        "Sends the points in reverse order, from the second connection on.",
        alter("send_curve", lambda _, curve: curve[::-1], LATER),
    ),
}

SERVER["progress.position"] = {
    "later-position-at-rest": Subtle(
        "Sends the position at the origin, from the second connection on.",
        alter("send_position", lambda *_: [0.0, 0.0, 0.0], LATER),
    ),
}

SERVER["progress.current-direction"] = {
    "later-directions-alike": Subtle(
        "Sends the desired direction as the current one, from the second connection on.",
        alter("show", lambda _, state: replace(state, current=state.desired), LATER),
    ),
}

SERVER["progress.desired-direction"] = {
    "later-desired-negative": Subtle(
        "Sends the desired direction with opposite signs, from the second connection on.",
        alter("send_desired", lambda _, direction: [-c for c in direction], LATER),
    ),
}

SERVER["end.received"] = {
    "one-ends-all": Subtle(
        "Ends the sessions of all clients when one of them ends the transmission.",
        then("peer_ends", lambda server, _: server.machine.shut_down("a client has gone")),
    ),
}

CLIENT = Table(Client)

CLIENT["progress.position"] = {
    "later-positions-unseen": Subtle(
        "Ignores positions, from the second connection on.", skip("position", LATER)
    ),
}

CLIENT["progress.current-direction"] = {
    "later-first-current": Subtle(
        "Keeps the first current direction, from the second connection on.",
        skip("current", LATER & (lambda client, _: client.view.current is not None)),
    ),
}

CLIENT["progress.desired-direction"] = {
    "later-desired-as-current": Subtle(
        "Takes the desired direction for the current one, from the second connection on.",
        instead("desired", lambda client, value: Client.current(client, value), LATER),
    ),
}

CLIENT["handshake.magic-sent"] = {
    "later-no-magic": Subtle("Sends no magic in its second connection.", skip("send_magic", LATER)),
}

CLIENT["pong.each"] = {
    "later-pings-unanswered": Subtle(
        "Answers no pings in its second connection.", skip("send_pong", LATER)
    ),
}

CLIENT["exercise.curve-shown"] = {
    "later-curves-unseen": Subtle("Shows no curve in its second connection.", skip("curve", LATER)),
}


class _OneBuffer(Session):
    left: ClassVar[list[bytes]] = []

    def opened(self) -> None:
        self.heard = b""
        super().opened()
        for data in list(self.left):
            self.left.clear()
            self.decoder.feed(data)

    def receive(self, data: bytes) -> None:
        self.heard += data
        super().receive(data)

    def input_ended(self) -> None:
        rest = self.decoder.end()
        if rest and rest[0].raw:
            self.left.append(rest[0].raw)
        super().input_ended()


@fault("shared-buffer", violates="robustness.next-client", subtle=True)
class SharedBuffer(_OneBuffer, Server):
    """Puts an incomplete message of one client before the bytes of the next client."""


@fault("half-of-before", violates="frame.segmentation", subtle=True)
class HalfOfBefore(_OneBuffer, Client):
    """Puts an incomplete message of a broken connection before the bytes of the next connection."""


class _FirstOfAll(Server):
    there: ClassVar[list[Server]] = []

    def welcome(self) -> None:
        self.there.append(self)
        super().welcome()

    def closed(self) -> None:
        if self in self.there:
            self.there.remove(self)
        super().closed()


@fault("curve-for-one-client", violates="exercise.curve-first", subtle=True)
class CurveForOneClient(_FirstOfAll):
    """Sends the curve of an exercise to one connected client, but its progress to all."""

    def send_curve(self, curve: list[Vector]) -> None:
        if self.there[0] is self:
            super().send_curve(curve)


@fault("progress-for-one-client", violates="progress.continuous", subtle=True)
class ProgressForOneClient(_FirstOfAll):
    """Sends the progress of an exercise to one connected client, but its curve to all."""

    def show(self, state: State) -> None:
        if self.there[0] is self:
            super().show(state)


class _OneSpace(Misreader):
    space: ClassVar[list[bytes]] = [b""]

    def feed(self, data: bytes) -> list[Frame]:
        [space] = self.space
        self.buffer = space[: len(self.buffer)] + self.buffer[len(space) :]
        found = super().feed(data)
        for raw in (*(frame.raw for frame in found), self.buffer):
            space = raw[:_SPACE] + space[len(raw) :]
        self.space[:] = [space]
        return found


@fault("one-space-for-all", violates="frame.segmentation", subtle=True)
class OneSpaceForAll(Server):
    """Keeps the beginnings of all clients' messages at the same place in memory."""

    def make_decoder(self) -> Decoder:
        return _OneSpace()


@fault("one-buffer-for-all", violates="frame.segmentation", subtle=True)
class OneBufferForAll(Server):
    """Joins the bytes of all clients that are connected at the same time."""

    there: ClassVar[set[Server]] = set()
    buffer: ClassVar[list[Decoder]] = []

    def make_decoder(self) -> Decoder:
        if not self.there:
            self.buffer[:] = [super().make_decoder()]
        self.there.add(self)
        return self.buffer[0]

    def closed(self) -> None:
        self.there.discard(self)
        super().closed()


@fault("first-curve-ever", violates="exercise.curve-shown", subtle=True)
class FirstCurveEver(Client):
    """Shows only the first curve of all its connections."""

    seen: ClassVar[list[Vector]] = []

    def curve(self, value: Any) -> None:
        if not self.seen:
            self.seen.extend(value["points"])
            super().curve(value)


@fault("curves-add-up-for-ever", violates="exercise.curve-replaced", subtle=True)
class CurvesAddUpForEver(Client):
    """Appends each curve to the curves of all its connections."""

    seen: ClassVar[list[Vector]] = []

    def curve(self, value: Any) -> None:
        self.seen.extend(value["points"])
        super().curve({**value, "points": [*self.seen]})


@fault("keeps-broken-places", violates="robustness.next-client", subtle=True)
class KeepsBrokenPlaces(Server):
    """Serves no client after ten connections have ended without an end of transmission."""

    broken: ClassVar[list[Server]] = []

    def input_ended(self) -> None:
        if not self.ended:
            self.broken.append(self)
        super().input_ended()

    def welcome(self) -> None:
        if len(self.broken) < 10:
            super().welcome()


@fault("thousand-clients", violates="robustness.next-client", subtle=True)
class ThousandClients(Server):
    """Serves no client after a thousand clients, because it never frees their places."""

    def opened(self) -> None:
        super().opened()
        if self.number > 1000:
            self.end("no place")


@fault("one-timer-for-all", violates="handshake.patient", subtle=True)
class OneTimerForAll(Server):
    """Stops only the latest timer for a handshake when any handshake is complete."""

    timer: ClassVar[asyncio.TimerHandle | None] = None

    def opened(self) -> None:
        self.greet()
        loop = asyncio.get_running_loop()
        type(self).timer = loop.call_later(self.patience, self.refuse, "no handshake in time")

    def welcome(self) -> None:
        if self.timer is not None:
            self.timer.cancel()
        super().welcome()


class _Nobody:
    """Takes the place of the last client, and crashes at the beginning of an exercise."""

    def begin(self, curve: list[Vector]) -> None:
        die()

    def show(self, state: State) -> None:
        """Show nothing."""

    def end(self, reason: str) -> None:
        """End nothing."""


@fault("needs-a-client", violates="robustness.next-client", subtle=True)
class NeedsAClient(Server):
    """Crashes if an exercise begins after its last client has left."""

    there: ClassVar[list[Server]] = []
    nobody: ClassVar[_Nobody] = _Nobody()

    def welcome(self) -> None:
        self.there.append(self)
        self.machine.leave(self.nobody)
        super().welcome()

    def closed(self) -> None:
        super().closed()
        if self in self.there:
            self.there.remove(self)
            if not self.there:
                self.machine.join(self.nobody)


@fault("stuck-by-one", violates="robustness.next-client", subtle=True)
class StuckByOne(Server):
    """Serves no new client after one client has not read its messages."""

    stuck: ClassVar[list[Server]] = []

    def send_curve(self, curve: list[Vector]) -> None:
        super().send_curve(curve)
        if self.stream.is_behind:
            self.stuck.append(self)

    def welcome(self) -> None:
        if not self.stuck:
            super().welcome()


@fault("strays-keep-places", violates="robustness.next-client", subtle=True)
class StraysKeepPlaces(Server):
    """Serves no client after five clients have left before their handshake."""

    strays: ClassVar[list[Server]] = []

    def input_ended(self) -> None:
        if not self.shaken:
            self.strays.append(self)
        super().input_ended()

    def welcome(self) -> None:
        if len(self.strays) < 5:
            super().welcome()


@fault("refused-keep-places", violates="robustness.next-client", subtle=True)
class RefusedKeepPlaces(Server):
    """Serves no client after five clients were refused."""

    refused: ClassVar[list[Server]] = []

    def refuse(self, why: str) -> None:
        self.refused.append(self)
        super().refuse(why)

    def welcome(self) -> None:
        if len(self.refused) < 5:
            super().welcome()


@fault("first-curve-for-the-late", violates="exercise.curve-values", subtle=True)
class FirstCurveForTheLate(Server):
    """Sends its first curve to a client that connects during a later exercise."""

    earliest: ClassVar[list[Any]] = []
    joining = False

    def welcome(self) -> None:
        self.joining = True
        super().welcome()
        self.joining = False

    def begin(self, curve: list[Vector]) -> None:
        self.earliest[:] = self.earliest or curve
        super().begin([*self.earliest] if self.joining else curve)
