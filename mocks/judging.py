"""Judge the peers of a mock while it plays; report each finding and received message."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from conformance.codec import Frame
from conformance.definitions import protocols
from conformance.judging.captures import Event
from conformance.judging.judge import Finding
from conformance.judging.judge_queue import (
    CUT,
    Bench,
    JudgeQueue,
    JudgeReport,
    PartyFinding,
    PeerMessage,
    Unjudged,
)
from mocks import deviations
from mocks.run import Run

_PEER = "peer"  # the sender name of messages from a mock's only peer


class Judging:
    """The observer of a run that judges the mock's peers."""

    def __init__(self, role: str, run: Run, messages: bool = False) -> None:
        """`role` is the role of the mock. With `messages`, received messages are reported, too."""
        self.musts = 0
        """How many different violations of level must were found."""
        self._run = run
        self._name = role.partition("/")[2]
        # Inside another program a thread judges: starting a process would take longer than judging.
        self._beside = JudgeQueue(
            partial(_Bench, role, messages), self._hear, separate=not run.inside
        )

    # Called by the run; these methods return at once.

    def connected(self, number: int, channel: str, kind: str) -> None:
        self._beside.connected(number, kind)

    def passed(self, number: int, channel: str, came: bool, data: bytes) -> None:
        self._beside.put(number, self._sender(channel, came), data)

    def ended(self, number: int, channel: str, came: bool) -> None:
        self._beside.put(number, self._sender(channel, came), event="closed")

    def left(self, number: int) -> None:
        """Report that nothing more of a connection will be read."""
        self._beside.put(number, None, event=CUT)

    def settle(self) -> None:
        """Wait until everything received so far is judged."""
        self._beside.settle()

    def end(self) -> None:
        """Judge the rest of the traffic, and stop."""
        self._beside.end()

    def _sender(self, channel: str, came: bool) -> str:
        return (channel or _PEER) if came else self._name

    def _hear(self, told: JudgeReport) -> None:
        match told:
            case PeerMessage(number, name, value):
                text = f"{name or 'bytes that are not a message'} {value!r}"
                self._run.tell("received", text, number, name=name, value=value)
            case PartyFinding(finding=Finding(inconclusive=True)):
                pass  # findings about the end of a session do not help a mock's user
            case PartyFinding(_, level, finding, number):
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
    """The judge of a mock's peers; runs in a separate process."""

    def __init__(self, name: str, messages: bool) -> None:
        role = protocols.role(name)
        protocol = protocols.load(role.protocol)
        of_peer = getattr(deviations.role_module(name), "of_peer", None)

        def whose(sender: str, frame: Frame) -> bool:
            return of_peer is None or sender == role.name or bool(of_peer(frame))

        super().__init__(
            protocol,
            [judged for judged in protocol.roles if judged != role.name],
            reported_parties=[party for party in protocol.parties if party != role.name]
            if messages
            else (),
            of_peer=whose,
        )
        self._peer = role.peer

    def take(self, events: Sequence[Event]) -> list[JudgeReport]:
        # The mock does not know its peer's name, because loading the protocol is slow.
        named = {_PEER: self._peer}
        return super().take(
            [replace(event, sender=named.get(event.sender or "", event.sender)) for event in events]
        )
