"""Judges what a mock's peers send, while it plays: each finding is told, and each message heard."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from conformance.codec import Frame
from conformance.definitions import protocols
from conformance.judging.beside import CUT, Bench, Beside, Came, Seen, Told, Unjudged
from conformance.judging.captures import Event
from conformance.judging.judge import Finding
from mocks import deviations
from mocks.run import Run

_PEER = "peer"  # the sender of what the only peer of a mock sends


class Judging:
    """The observer of a run that judges its peers."""

    def __init__(self, role: str, run: Run, messages: bool = False) -> None:
        """`role` is the mock's own; with `messages` each that comes is told, too."""
        self.musts = 0
        """How many different violations of a must were found."""
        self._run = run
        self._name = role.partition("/")[2]
        # Where it is part of another program, one more process would take longer than it judges.
        self._beside = Beside(partial(_Bench, role, messages), self._hear, apart=not run.inside)

    # What the run tells; these return at once

    def connected(self, number: int, channel: str, kind: str) -> None:
        self._beside.connected(number, kind)

    def passed(self, number: int, channel: str, came: bool, data: bytes) -> None:
        self._beside.put(number, self._sender(channel, came), data)

    def ended(self, number: int, channel: str, came: bool) -> None:
        self._beside.put(number, self._sender(channel, came), event="closed")

    def left(self, number: int) -> None:
        """Nothing more will be read of a connection."""
        self._beside.put(number, None, event=CUT)

    def settle(self) -> None:
        """Wait until everything that has passed is judged."""
        self._beside.settle()

    def end(self) -> None:
        """Judge what still waits, and stop."""
        self._beside.end()

    def _sender(self, channel: str, came: bool) -> str:
        return (channel or _PEER) if came else self._name

    def _hear(self, told: Told) -> None:
        match told:
            case Came(number, name, value):
                text = f"{name or 'bytes that are no message'} {value!r}"
                self._run.tell("received", text, number, name=name, value=value)
            case Seen(finding=Finding(inconclusive=True)):
                pass  # how a session ends tells a mock's user nothing that can be mended
            case Seen(_, level, finding, number):
                self.musts += level == "must"
                self._run.tell(
                    "finding",
                    f"violates {finding.requirement} ({level}): {finding.message}",
                    number,
                    requirement=finding.requirement,
                    level=level,
                    message=finding.message,
                    path=list(finding.path),
                )
            case Unjudged(connection, _, why):
                self._run.tell("unjudged", f"is not judged any more: {why}", connection)


class _Bench(Bench):
    """Judges the peers of a mock."""

    def __init__(self, name: str, messages: bool) -> None:
        role = protocols.role(name)
        protocol = protocols.load(role.protocol)
        of_peer = getattr(deviations.role_module(name), "of_peer", None)

        def whose(sender: str, frame: Frame) -> bool:
            return of_peer is None or sender == role.name or bool(of_peer(frame))

        super().__init__(
            protocol,
            [judged for judged in protocol.roles if judged != role.name],
            heard=[party for party in protocol.parties if party != role.name] if messages else (),
            of_peer=whose,
        )
        self._peer = role.peer

    def take(self, events: Sequence[Event]) -> list[Told]:
        # A mock does not know the name of its peer: to load the protocol takes a while.
        named = {_PEER: self._peer}
        return super().take(
            [replace(event, sender=named.get(event.sender or "", event.sender)) for event in events]
        )
