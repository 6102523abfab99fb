"""The passive judge of a conversation between robots and a lab: what may follow what.

One session is one connection, and a robot may use a new one for each request: what all connections
of one implementation have in common is a `Conversation`, in which each token goes through COURSE.
The oracle does not know which side is under test and has no clock. Rules for this module:

- A token changes its step only through COURSE, by what its robot asks and by how that is answered.
- Answers belong to requests in their order, on each connection.
- An answer that the robot did not wait for changes nothing, and one that it may not have read, as
  it has reset the connection, only if what it asks next fits it.
- An error is one in whatever form: a status, a body without a command, the end of a connection,
  and abort wherever it is no outcome of what was asked.
- Wherever the specification leaves something open there is no rule: other paths, further requests
  for a program, pushes that come twice, a registration at any time.
"""

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from conformance.course import Walk
from conformance.judging.judge import Finding
from conformance.openroberta.courses import COURSE, LAB, ROBOT, Step
from conformance.openroberta.naming import (
    COMMANDS,
    MANDATORY,
    REQUEST,
    TLS_HELLO,
    is_error,
    refuses,
)
from conformance.recent import Recent

CONSTANT = ("firmwarename", "macaddr", "firmwareversion", "menuversion")
"""What stays the same in all requests with one token; the name, which may change, may be robot."""

MOST_HELD = 3
"""Pushes of one robot that may be held: it, or its HTTP, may repeat one that seems lost."""

COURSES = (COURSE,)

ANSWERS: dict[str, tuple[str, ...]] = {
    "Register": ("Repeat", "Abort", "Refusal"),
    "Push": (*COMMANDS, "Refusal"),
    "DownloadRequest": ("File", "Refusal"),
    "UpdateRequest": ("File", "Refusal"),
}
"""By request: the answers it may get."""

_UNLINKED = (Step.NEW, Step.REGISTERING, Step.ABORTED)
_UNNAMED = {"DownloadRequest": "run.filename", "UpdateRequest": "update.filename"}
_DUE: Mapping[tuple[str, StrEnum], str] = {
    ("Register", Step.REGISTERING): "register.aborted",
    ("Push", Step.LINKED): "push.answered",
    ("DownloadRequest", Step.FETCHING): "run.bytes",
}
"""By request and step of the robot: what a lab violates that ends the connection instead."""

_OFTEN = 3  # ends of connections: nobody stops a lab as often while its robots ask


@dataclass
class _Robot:
    """What is known of the robot of one token."""

    walk: Walk = field(default_factory=lambda: Walk(COURSE))
    registered: Mapping[str, Any] = field(default_factory=dict)
    latest: "_Asked | None" = None
    """Its last request."""
    held: "list[_Asked]" = field(default_factory=list)
    """Its pushes that wait to be answered."""
    missed: StrEnum | None = None
    """How far it has come if it has not read its last answer, which it may not have."""
    hasty: bool = False
    """It has pushed beside one that was held: which answer it has read can no longer be told."""

    @property
    def step(self) -> StrEnum:
        return self.walk.state


class Conversation:
    """What the connections of one implementation have in common.

    `running`: it has been running before, and may have registered then.
    """

    def __init__(self, running: bool = False) -> None:
        self.running = running
        self.robots: Recent[str, _Robot] = Recent()
        self._ended = 0

    def ended(self, due: str, asked: "_Asked") -> Finding:
        """What it violates that a lab has ended a connection at which something waited.

        One that has been running may be stopped; only again and again does it show more.
        """
        self._ended += 1
        what = f"the lab ended the connection at which {asked.name} waited for its answer"
        if not self.running:
            return Finding(due, what)
        if self._ended < _OFTEN:
            return Finding(due, f"{what}; it may have been stopped", inconclusive=True)
        return Finding(due, f"{what}, again and again")

    def robot(self, data: Any) -> _Robot | None:
        """The robot of a data object; None where it has no token."""
        token = data.get("token") if isinstance(data, Mapping) else None
        if not isinstance(token, str):
            return None
        if token not in self.robots:
            self.robots[token] = _Robot()
        return self.robots[token]


@dataclass(frozen=True, eq=False)
class _Asked:
    """A request that is to be answered."""

    name: str
    data: Any = None
    posted: bool = False

    @property
    def missing(self) -> list[str]:
        """The mandatory fields that it lacks."""
        if self.name not in ("Register", "Push") or not isinstance(self.data, Mapping):
            return []
        return [name for name in MANDATORY if name not in self.data]


class Oracle:
    """The state of one connection, within its conversation."""

    def __init__(self, conversation: Conversation | None = None) -> None:
        self.exercised: set[str] = set()
        self._conversation = conversation or Conversation()
        self._asked: deque[_Asked] = deque()
        self._answered: tuple[_Asked, StrEnum] | None = None
        """What was answered last, and how far its robot had come before."""
        self._left: _Asked | None = None
        """The request after which the robot has ended its direction: it may still be answered."""
        self._deaf = False  # the robot has gone, or sent what cannot be followed
        self._lost = False  # so did the lab
        self._strayed = False  # an answer came that nothing was asked for, and the robot takes it
        self._foreign = False  # the robot sent what is not HTTP; its answer need not be HTTP either

    def message(self, sender: str, name: str, value: Any) -> Iterator[Finding]:
        if sender == LAB:
            yield from self._answer(name, value)
        elif "method" in value:
            asked = _Asked(name, value.get("json"), value["method"] == "POST")
            if name in ("Register", "Push", "DownloadRequest"):
                yield from self._request(asked)
            self._asked.append(asked)

    def unknown(self, sender: str, name: str, value: Any, foreign: bool) -> Iterator[Finding]:
        if foreign:
            self._lost = self._lost or sender == LAB
            yield Finding("http.messages", f"the {sender} sent {name}, which is its peer's")
        elif sender == ROBOT and name == REQUEST:
            self._asked.append(_Asked(name))
        elif sender == ROBOT:
            self._deaf = True
            self._foreign = self._foreign or name == TLS_HELLO
        elif "status" in value:
            yield from self._answer(name, value)

    def broken(self, sender: str) -> bool:
        self._deaf = self._deaf or sender == ROBOT
        self._foreign = self._foreign or sender == ROBOT
        self._lost = self._lost or sender == LAB
        return sender == LAB and self._foreign

    def reset(self, sender: str) -> None:
        if sender != ROBOT or self._answered is None:
            return
        asked, before = self._answered
        robot = self._conversation.robot(asked.data)
        if robot and robot.latest is asked:
            robot.missed = before

    def parted(self, sender: str) -> bool:
        """A robot may end its connection in any way and at any time: it opens another."""
        return sender == ROBOT

    def closed(self, sender: str) -> Iterator[Finding]:
        for left in self._asked:
            self._over(left)
        asked = self._asked.popleft() if self._asked else None
        robot = self._conversation.robot(asked.data) if asked else None
        if asked and robot and asked is robot.latest:
            due = _DUE.get((asked.name, robot.step)) if asked.posted else None
            whole = all(name in asked.data for name in MANDATORY)
            if sender == LAB and due and whole and not (self._deaf or self._lost):
                yield self._conversation.ended(due, asked)
            if asked.name == "DownloadRequest":
                robot.walk.step(LAB, "Refusal")
        self._asked.clear()
        if sender == ROBOT:
            self._deaf, self._left = True, asked

    # What a robot asks

    def _request(self, asked: _Asked) -> Iterator[Finding]:
        name, data = asked.name, asked.data
        robot = self._conversation.robot(data)
        if robot is None or (name == "Push" and data.get("cmd") != "push"):
            return
        if name == "Push":
            robot.hasty = robot.hasty or bool(robot.held)
            robot.held.append(asked)
            if len(robot.held) > MOST_HELD:
                what = f"Push came while {len(robot.held) - 1} others waited for their answers"
                yield Finding("push.one-at-a-time", what)
        robot.latest = asked
        if name == "Register":
            robot.registered = data
        elif robot.step is Step.NEW and self._conversation.running:
            # It registered before the session was watched.
            robot.walk.state, robot.registered = Step.LINKED, data
        elif other := self._registered_since(robot, data):
            what = f"the token {other!r} was registered since; {name} came with {data['token']!r}"
            yield Finding("data.same-object", what)
            return
        elif robot.step is Step.NEW and (other := self._linked()):
            what = f"the token {other!r} was registered, and {name} came with {data['token']!r}"
            yield Finding("data.same-object", what)
            return
        wrong = robot.walk.step(ROBOT, name)
        if wrong and robot.missed:
            walk = Walk(COURSE, robot.missed)
            if not walk.step(ROBOT, name):
                robot.walk, wrong = walk, []
        robot.missed = None
        if not (self._strayed or robot.hasty):
            yield from wrong
        for field_ in CONSTANT:
            before, after = robot.registered.get(field_), data.get(field_)
            if None not in (before, after) and before != after:
                what = f"{field_} was {str(before)[:80]!r} and became {str(after)[:80]!r}"
                yield Finding("data.same-object", what)
        if name == "DownloadRequest":
            left_out = [each for each in robot.registered if each in MANDATORY and each not in data]
            if left_out:
                what = f"DownloadRequest came without {', '.join(left_out)} of the registration"
                yield Finding("run.download-push", what)
        if name == "Push" and robot.step is Step.LINKED:
            self.exercised |= {"register.first", "data.same-object", "push.one-at-a-time"}

    def _linked(self) -> str:
        """A token that has come beyond its registration, or nothing."""
        robots = self._conversation.robots
        return next((token for token, robot in robots.items() if robot.step not in _UNLINKED), "")

    def _registered_since(self, robot: _Robot, data: Mapping[str, Any]) -> str:
        """The token that a robot which may not push with this one has registered later, if any."""
        if robot.step not in (Step.ABORTED, Step.UPDATING, Step.DISMISSED):
            return ""
        for token, other in reversed(self._conversation.robots.items()):
            if other is robot:
                break
            same = other.registered.get("macaddr") == data.get("macaddr")
            if same and other.step not in _UNLINKED:
                return token
        return ""

    # How a lab answers

    def _answer(self, name: str, value: Any) -> Iterator[Finding]:
        if not self._asked and self._left:
            self._answer_left(self._left, name)
            return
        if not self._asked:
            # A robot that sends nothing sensible may be refused, and so may a quiet connection.
            self._strayed = True
            refused = is_error(name, value) or (name == "Abort" and self._answered is None)
            if not (refused or self._deaf):
                yield Finding("http.messages", f"{name} came, and nothing was asked")
            return
        asked = self._asked.popleft()
        self._over(asked)
        missing = asked.missing
        robot = self._conversation.robot(asked.data)
        self._answered = (asked, robot.step) if robot else None
        if missing:
            yield from self._refused(asked, missing, name)
        elif asked.name in ANSWERS:
            yield from self._allowed(asked, robot, name, value)
        if robot and not self._deaf:
            outcome = name in ANSWERS.get(asked.name, ())
            told = "Refusal" if refuses(name, value) and not outcome else name
            yield from robot.walk.step(LAB, told)

    def _answer_left(self, asked: _Asked, name: str) -> None:
        """What a robot that has ended its direction is answered, it may read or not."""
        self._left = None
        robot = self._conversation.robot(asked.data)
        if robot and robot.latest is asked:
            robot.missed = robot.step
            robot.walk.step(LAB, name)

    def _over(self, asked: _Asked) -> None:
        """Nobody waits for the answer to this request any more."""
        robot = self._conversation.robot(asked.data)
        if robot and asked in robot.held:
            robot.held.remove(asked)

    def _allowed(
        self, asked: _Asked, robot: _Robot | None, name: str, value: Any
    ) -> Iterator[Finding]:
        """Whether the answer is one that the request may get."""
        if name in ANSWERS[asked.name]:
            self.exercised |= {"http.messages"}
            if name in COMMANDS:
                self.exercised |= {"commands.lab", "http.json"}
        elif refuses(name, value) and ("json" in value or not self._due(asked, robot)):
            pass
        elif asked.name in _UNNAMED:
            what = f"{asked.name} was answered with {_shown(name, value)}, without a Filename"
            yield Finding(_UNNAMED[asked.name], what)
        elif name in COMMANDS:
            yield Finding("register.repeat", f"a registration was answered with {name}")
        elif "cmd" in value.get("json", {}):
            command = str(value["json"]["cmd"])[:80]
            yield Finding("commands.lab", f"the command {command!r} came, which there is not")
        else:
            what = f"{asked.name} was answered with {_shown(name, value)}, without a command"
            yield Finding("http.json", what)

    def _due(self, asked: _Asked, robot: _Robot | None) -> bool:
        """Whether the request is to have another answer than an error."""
        return asked.name in _UNNAMED or bool(robot and (asked.name, robot.step) in _DUE)

    def _refused(self, asked: _Asked, missing: list[str], name: str) -> Iterator[Finding]:
        """Whether a request that lacks mandatory fields was answered with an error."""
        for each in missing:
            if name == "Abort":
                continue  # an error, or the end of its time: only a clock can tell them apart
            self.exercised.add(f"refuses.{each}")
            if name in COMMANDS:
                what = f"{asked.name} without {each} was answered with {name}"
                yield Finding(f"refuses.{each}", what)


def _shown(name: str, value: Any) -> str:
    return f"{name} of status {value.get('status')}"
