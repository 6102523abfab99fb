"""Judges what a mock's peers send, while it plays: each finding is told, and each message heard.

It judges in a thread of its own, so that the mock is never kept waiting; where that fails or falls
behind, the mock plays on, and it is told of which connection the rest was not judged.
"""

import queue
import threading
from dataclasses import dataclass, field

from conformance import protocols
from conformance.codec import Frame
from conformance.judge import Finding, Judge
from mocks import deviations
from mocks.run import Run

BACKLOG = 16 * 1024 * 1024  # bytes that may wait to be judged
EVENT = 300  # bytes that an event takes in memory beside its data
MOST = 1000  # different findings that are told


@dataclass(frozen=True, slots=True)
class _Event:
    """What has happened on a connection: it began, bytes of one side, its end, or all is over."""

    what: str
    number: int
    channel: str = ""
    came: bool = False
    data: bytes = b""


@dataclass
class _Judged:
    """A connection that is judged; `told` counts the findings of its judge that were told."""

    judge: Judge
    peer: str
    told: int = 0
    ended: set[bool] = field(default_factory=set)


class Judging:
    """The observer of a run that judges its peers."""

    def __init__(self, role: str, run: Run, messages: bool = False) -> None:
        """`role` is the mock's own; with `messages` each that comes is told, too."""
        self.musts = 0
        """How many different violations of a must were found."""
        self._run = run
        self._messages = messages
        self._name = role
        self._open: dict[int, _Judged] = {}
        self._told: set[tuple[str, str]] = set()
        # Two counts, for each is changed by one thread only.
        self._come = self._done = 0
        self._waiting: queue.SimpleQueue[_Event | threading.Event | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    # What the run tells; these return at once

    def connected(self, number: int, channel: str, kind: str) -> None:
        # A thread has no context of ours: the kind of stream goes in the place of its bytes.
        self._waiting.put(_Event("connected", number, channel, data=kind.encode()))

    def passed(self, number: int, channel: str, came: bool, data: bytes) -> None:
        size = len(data) + EVENT
        if self._come + size - self._done > BACKLOG:
            self._waiting.put(_Event("late", number))
        else:
            self._come += size
            self._waiting.put(_Event("passed", number, channel, came, data))

    def ended(self, number: int, channel: str, came: bool) -> None:
        self._waiting.put(_Event("ended", number, channel, came))

    def left(self, number: int) -> None:
        """Nothing more will be read of a connection."""
        self._waiting.put(_Event("left", number))

    def settle(self) -> None:
        """Wait until everything that has passed is judged."""
        done = threading.Event()
        self._waiting.put(done)
        # Whoever ends the run meanwhile has judged everything, too.
        while not done.wait(0.1) and self._thread.is_alive():
            pass

    def end(self) -> None:
        """Judge what still waits, and stop."""
        self._waiting.put(None)
        self._thread.join()

    # In the thread

    def _work(self) -> None:
        # Here, for it takes a while, in which the mock can listen already.
        self._role = protocols.role(self._name)
        self._protocol = protocols.load(self._role.protocol)
        self._conversation = self._protocol.conversation(True)
        module = deviations.role_module(self._name)
        self._of_peer = getattr(module, "of_peer", lambda frame: True)
        while (event := self._waiting.get()) is not None:
            if isinstance(event, threading.Event):
                event.set()
                continue
            self._done += len(event.data) + EVENT if event.what == "passed" else 0
            try:
                self._judge(event)
            except Exception as error:
                self._give_up(event.number, f"{type(error).__name__}: {error}")

    def _judge(self, event: _Event) -> None:
        if event.what == "connected":
            self._open[event.number] = self._begin(event.channel, event.data.decode())
            return
        judged = self._open.get(event.number)
        if judged is None:
            return
        sender = judged.peer if event.came else self._role.name
        if event.what == "passed":
            for frame in judged.judge.decode(sender, event.data):
                if event.came and not self._of_peer(frame):
                    del self._open[event.number]
                    return
                self._frame(event, judged, sender, frame)
        elif event.what == "ended":
            for frame in judged.judge.rest(sender):
                self._frame(event, judged, sender, frame)
            judged.judge.closed(None, sender)
            judged.ended.add(event.came)
        elif event.what == "late":
            self._give_up(event.number, "judging fell behind")
        self._tell(event.number, judged)
        if event.what == "left" or len(judged.ended) == 2:
            self._open.pop(event.number, None)

    def _begin(self, channel: str, kind: str) -> _Judged:
        peer = channel or self._role.peer
        judge = Judge(
            self._protocol,
            [name for name in self._protocol.roles if name != self._role.name],
            transport=kind,
            conversation=self._conversation,
        )
        return _Judged(judge, peer)

    def _frame(self, event: _Event, judged: _Judged, sender: str, frame: Frame) -> None:
        if event.came and self._messages:
            text = f"{frame.name or 'bytes that are no message'} {frame.value!r}"
            facts = {"name": frame.name, "value": frame.value}
            self._run.tell("received", text, event.number, **facts)
        judged.judge.frame(None, sender, frame)

    def _tell(self, number: int, judged: _Judged) -> None:
        new = judged.judge.findings[judged.told :]
        judged.told += len(new)
        for finding in new:
            known = (finding.requirement, finding.message)
            if known not in self._told and len(self._told) < MOST:
                self._told.add(known)
                self._found(number, finding)

    def _found(self, number: int, finding: Finding) -> None:
        requirement = self._protocol.requirements.get(finding.requirement)
        level = requirement.level if requirement else "must"
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

    def _give_up(self, number: int, why: str) -> None:
        if self._open.pop(number, None):
            self._run.tell("unjudged", f"is not judged any more: {why}", number)
