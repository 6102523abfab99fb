"""Judge all connections of a live or recorded session, event by event."""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from conformance.codec import Frame
from conformance.definitions.protocol import Protocol
from conformance.judging.captures import LEFT_OUT, Capture, Event
from conformance.judging.coverage import Coverage, Tally
from conformance.judging.judge import Finding, Judge
from conformance.judging.space import FIRST, LATER, PARALLEL

_MAX_FINDINGS = 10_000  # different findings that are counted, which bounds memory


class Connections:
    """Judge the events of a live or recorded session, each connection with its own `Judge`.

    Connections with one instance of an IUT share a conversation, the state that their oracles have
    in common.

    - ``conversation`` continues the conversation of an earlier session.
    - ``running``: the IUT was running before this session.
    - ``of_peer`` returns whether a party has really sent a frame. If False, the connection uses
      another protocol, and is not judged. By default, all frames count.
    """

    def __init__(
        self,
        protocol: Protocol,
        judged: Iterable[str],
        fragment: bool = False,
        running: bool = False,
        conversation: Any = None,
        of_peer: Callable[[str, Frame], bool] | None = None,
    ) -> None:
        self._protocol = protocol
        self._tally = Tally(protocol)
        self._connected: dict[Any, int] = {}
        """The number of connections so far of each instance of the IUT."""
        self._open: dict[Any, set[int | None]] = {}
        """The connections of each instance of the IUT that no side has closed."""
        self._judged = tuple(judged)
        self._of_peer = of_peer
        self._foreign: set[int | None] = set()
        self.times: Counter[tuple[str, str, str]] = Counter()
        """The number of times that each role made each violation on ended connections."""
        self._fragment = fragment
        self._gaps: list[Event] = []
        self._running = running
        self._conversation = conversation
        self._conversations: dict[Any, Any] = {}
        self._transport = ""
        self._judges: dict[int | None, Judge] = {}
        self._latest: dict[tuple[int | None, str], int] = {}
        self._reported: dict[int | None, int] = {}
        self._exercised: dict[str, set[str]] = {role: set() for role in self._judged}
        self.spoiled = False
        self.foreign = ""

    def take(self, index: int, event: Event) -> tuple[list[Frame], list[Finding]]:
        """Judge event ``index``; return the frames that it completes, and its violations.

        All findings of an event are about its sender.
        """
        if event.event == LEFT_OUT:
            # The omitted messages can have begun a connection, and can matter to other oracles.
            self._fragment = True
            self._gaps.append(event)
            for connection, judge in self._judges.items():
                judge.resume(cut=event.is_gap_of(connection))
            return [], []
        if event.connection in self._foreign:
            return [], []
        judge = self._judges.get(event.connection) or self._begin(event)
        frames: list[Frame] = []
        if event.sender is None:
            return frames, []
        if event.data is not None:
            self._latest[event.connection, event.sender] = index
            frames = judge.decode(event.sender, event.data)
            judge.count_arrival(event.sender, [len(event.data)], frames)
            for frame in frames:
                if self._of_peer and not self._of_peer(event.sender, frame):
                    self.forget(event.connection)
                    self._foreign.add(event.connection)
                    return [], []
                judge.frame(index, event.sender, frame)
        elif event.event == "closed":
            for connections in self._open.values():
                connections.discard(event.connection)
            if event.details.get("reset"):
                judge.reset(event.sender)
            frames = judge.take_rest(event.sender)
            for frame in frames:
                last = self._latest.get((event.connection, event.sender), index)
                judge.frame(last, event.sender, frame)
            judge.closed(index, event.sender)
        found = judge.found[self._reported.get(event.connection, 0) :]
        self._reported[event.connection] = len(judge.found)
        return frames, found

    def _begin(self, event: Event) -> Judge:
        begins = event.event == "connected"
        instance = event.details.get("instance") if begins else None
        if begins:
            self._transport = str(event.details.get("transport", self._transport))
        if instance not in self._conversations:
            self._conversations[instance] = self._conversation or self._protocol.conversation(
                self._running
            )
        judge = Judge(
            self._protocol,
            self._judged,
            self._fragment,
            self._transport,
            self._conversations[instance],
            self._tally.session(self._place_of(instance, event.connection)),
        )
        self._judges[event.connection] = judge
        if not begins and any(gap.is_gap_of(event.connection) for gap in self._gaps):
            # The connection began within the gap.
            judge.resume(cut=True)
        return judge

    def _place_of(self, instance: Any, connection: int | None) -> str:
        """Return the place of a new connection among those of its instance."""
        others = self._open.setdefault(instance, set())
        has_open = bool(others)
        others.add(connection)
        self._connected[instance] = self._connected.get(instance, 0) + 1
        if has_open:
            return PARALLEL
        return FIRST if self._connected[instance] == 1 else LATER

    @property
    def coverage(self) -> Coverage:
        """The points that all connections have shown."""
        return self._tally.coverage

    def forget(self, connection: int | None) -> None:
        """Drop the state of a connection that has ended; keep only its results."""
        self._foreign.discard(connection)
        judge = self._judges.pop(connection, None)
        if judge is None:
            return
        for role in self._judged:
            self._exercised[role] |= judge.exercised_by(role)
            for (requirement, message), number in judge.times(role).items():
                key = role, requirement, message
                if key in self.times or len(self.times) < _MAX_FINDINGS:
                    self.times[key] += number
        for party in self._protocol.parties:
            self._latest.pop((connection, party), None)
        self._reported.pop(connection, None)
        for connections in self._open.values():
            connections.discard(connection)
        self.spoiled = self.spoiled or judge.spoiled
        self.foreign = self.foreign or judge.foreign

    def end(self) -> dict[str, set[str]]:
        """Forget all connections; return the requirements that each role exercised."""
        for connection in list(self._judges):
            self.forget(connection)
        return self._exercised


@dataclass
class JudgedSession:
    """The results of a recorded session, with the fields of a `Judge`.

    The ``event`` of each finding is an index into the events of the whole session.
    """

    found: list[Finding]
    exercised: set[str]
    spoiled: bool
    foreign: str
    coverage: Coverage

    @property
    def findings(self) -> list[Finding]:
        """The findings that are violations."""
        return [finding for finding in self.found if not finding.inconclusive]


def judge_capture(
    protocol: Protocol,
    capture: Capture,
    judged: Iterable[str],
    conversation: Any = None,
    took: Callable[[int, list[Frame]], None] | None = None,
) -> JudgedSession:
    """Judge a recorded session; each finding has the index of the event that shows it.

    ``conversation`` is passed to `Connections`. ``took`` is called with the index of each event and
    the frames that its bytes complete.
    """
    connections = Connections(
        protocol,
        judged,
        fragment=bool(capture.extra.get("fragment")),
        running=bool(capture.extra.get("running")),
        conversation=conversation,
    )
    found: list[Finding] = []
    for index, event in enumerate(capture.events):
        frames, more = connections.take(index, event)
        found += more
        if took and event.sender is not None:
            took(index, frames)
    exercised = set().union(*connections.end().values())
    found.sort(key=lambda finding: finding.event or 0)
    return JudgedSession(
        found, exercised, connections.spoiled, connections.foreign, connections.coverage
    )
