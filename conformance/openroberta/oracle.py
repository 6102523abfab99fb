"""Passive judge of a conversation between robots and a lab: the order of messages.

A session is one connection, and a robot can use a new connection for each request. A `Conversation`
keeps the state that all connections of one implementation share. In it, each token follows COURSE.
The oracle does not know which side is under test and has no clock. Rules of this module:

- A token changes its step only through COURSE: by a request of its robot or by the answer.
- Answers belong to requests in their order, on each connection.
- An answer that the robot did not wait for changes nothing.
- If the robot has reset the connection, it may not have read the last answer. The answer then
  counts only if the robot's next request fits it.
- An error is an error status, a body without a command, or the end of a connection.
- An abort is an error, too, if it is no valid outcome of the request.
- Other paths, repeated requests for a program, repeated pushes and the time of a registration have
  no rule, because the specification is silent about them.
"""

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from conformance.bounded_dict import BoundedDict
from conformance.course import Walk
from conformance.judging.judge import Finding
from conformance.openroberta.courses import COURSE, LAB, ROBOT, Step
from conformance.openroberta.message_names import (
    COMMANDS,
    HELD,
    MANDATORY,
    REQUEST,
    TLS_HELLO,
    is_error,
    is_refusal,
)

CONSTANT = ("firmwarename", "macaddr", "firmwareversion", "menuversion")
"""Fields that stay the same in all requests with one token.

The robot's name can change, and some robots give their name in `robot`: so `robot` is not here.
"""

MAX_HELD = 3
"""Largest number of unanswered pushes of one robot.

Robots and HTTP libraries repeat lost requests.
"""

COURSES = (COURSE,)

ANSWERS: dict[str, tuple[str, ...]] = {
    "Register": ("Repeat", "Abort", "Refusal"),
    "Push": (*COMMANDS, "Refusal"),
    "DownloadRequest": ("File", "Refusal"),
    "UpdateRequest": ("File", "Refusal"),
}
"""Allowed answers, by request."""

_UNLINKED = (Step.UNREGISTERED, Step.REGISTERING, Step.ABORTED)
_UNNAMED = {"DownloadRequest": "run.filename", "UpdateRequest": "update.filename"}
_DUE: Mapping[tuple[str, StrEnum], str] = {
    ("Register", Step.REGISTERING): "register.aborted",
    ("Push", Step.LINKED): "push.answered",
    ("DownloadRequest", Step.FETCHING): "run.bytes",
}
"""By request and step of the robot: the requirement that closing the connection violates."""

_MAX_CLOSED = 3  # closed connections; a user does not restart a lab so often while robots wait


@dataclass
class _Robot:
    """State of the robot of one token."""

    walk: Walk = field(default_factory=lambda: Walk(COURSE))
    registered: Mapping[str, Any] = field(default_factory=dict)
    latest: "_Asked | None" = None
    """The robot's last request."""
    held: "list[_Asked]" = field(default_factory=list)
    """The robot's unanswered pushes."""
    missed: StrEnum | None = None
    """The step to assume if the robot did not read its last answer; None if it surely read it."""
    pushed_early: bool = False
    """True after a push while another push was unanswered: later steps are then uncertain."""

    @property
    def step(self) -> StrEnum:
        return self.walk.state


class Conversation:
    """State that the connections of one implementation share.

    `running`: the implementation was running before the session, so robots may have registered
    then.
    """

    def __init__(self, running: bool = False) -> None:
        self.running = running
        self.robots: BoundedDict[str, _Robot] = BoundedDict()
        self.malformed = False
        """A robot has sent a body that is not a JSON object, or bytes that are not a request."""
        self._ended = 0

    def ended(self, due: str, asked: "_Asked") -> Finding:
        """Return the finding for a lab that closed a connection with an unanswered request.

        A user can stop a lab that was running before; only repeated closing is then a violation.
        """
        self._ended += 1
        what = f"expected an answer to {asked.name}; the lab closed the connection"
        if self.malformed:
            # The behaviour after malformed requests has its own requirements.
            return Finding(due, f"{what} after a malformed request", inconclusive=True)
        if not self.running:
            return Finding(due, what)
        if self._ended < _MAX_CLOSED:
            return Finding(due, f"{what}; the user may have stopped the lab", inconclusive=True)
        return Finding(due, f"{what} repeatedly")

    def robot(self, data: Any) -> _Robot | None:
        """Return the robot of a data object; None if the object has no token."""
        token = data.get("token") if isinstance(data, Mapping) else None
        if not isinstance(token, str):
            return None
        if token not in self.robots:
            self.robots[token] = _Robot()
        return self.robots[token]


@dataclass(frozen=True, eq=False)
class _Asked:
    """A request that waits for its answer."""

    name: str
    data: Any = None
    posted: bool = False

    @property
    def missing(self) -> list[str]:
        """Mandatory fields that the request does not have."""
        if self.name not in HELD or not isinstance(self.data, Mapping):
            return []
        return [name for name in MANDATORY if name not in self.data]


class Oracle:
    """State of one connection, within its conversation."""

    def __init__(self, conversation: Conversation | None = None) -> None:
        self.exercised: set[str] = set()
        self._conversation = conversation or Conversation()
        self._asked: deque[_Asked] = deque()
        self._answered: tuple[_Asked, StrEnum] | None = None
        """The request that was answered last, and the step of its robot before the answer."""
        self._left: _Asked | None = None
        """The request after which the robot half-closed its connection; an answer can still come.
        """
        self._deaf = False  # the robot has disconnected, or sent bytes that cannot be decoded
        # the lab has sent bytes that cannot be decoded, or messages of the other role
        self._lost = False
        self._unanswered = False  # the lab has disconnected instead of an answer
        # an answer came without a request; the robot can take it for the answer to its next request
        self._strayed = False
        # the robot sent bytes that are not HTTP; their answer need not be HTTP either
        self._foreign = False

    def message(self, sender: str, name: str, value: Any) -> Iterator[Finding]:
        if sender == LAB:
            yield from self._answer(name, value)
        elif "method" in value:
            asked = _Asked(name, value.get("json"), value["method"] == "POST")
            self._conversation.malformed |= name == "Push" and asked.data is None
            if name in (*HELD, "DownloadRequest"):
                yield from self._request(asked)
            self._asked.append(asked)

    def unknown(self, sender: str, name: str, value: Any, foreign: bool) -> Iterator[Finding]:
        if foreign:
            self._lost = self._lost or sender == LAB
            yield Finding(
                "http.messages",
                f"received {name} from the {sender}; only its peer sends this message",
            )
        elif sender == ROBOT and name == REQUEST:
            self._asked.append(_Asked(name))
        elif sender == ROBOT:
            self._deaf = self._conversation.malformed = True
            self._foreign = self._foreign or name == TLS_HELLO
        elif "status" in value:
            yield from self._answer(name, value)

    def broken(self, sender: str) -> bool:
        self._deaf = self._deaf or sender == ROBOT
        self._conversation.malformed |= sender == ROBOT
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

    def has_said_goodbye(self, sender: str) -> bool:
        """True for a robot, and for a lab if no request waits for an answer."""
        return sender == ROBOT or not (self._asked or self._unanswered)

    def closed(self, sender: str) -> Iterator[Finding]:
        self._unanswered = sender == LAB and bool(self._asked)
        for left in self._asked:
            self._forget_push(left)
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

    # Requests of a robot

    def _request(self, asked: _Asked) -> Iterator[Finding]:
        name, data = asked.name, asked.data
        robot = self._conversation.robot(data)
        if robot is None or (name == "Push" and data.get("cmd") != "push"):
            return
        if name == "Push":
            robot.pushed_early = robot.pushed_early or bool(robot.held)
            robot.held.append(asked)
            if len(robot.held) > MAX_HELD:
                what = (
                    "expected an answer before the next Push; received Push "
                    f"while {len(robot.held) - 1} others were unanswered"
                )
                yield Finding("push.one-at-a-time", what)
        robot.latest = asked
        if name == "Register":
            robot.registered = data
        elif robot.step is Step.UNREGISTERED and self._conversation.running:
            # The robot registered before the session was watched.
            robot.walk.state, robot.registered = Step.LINKED, data
        elif other := self._registered_since(robot, data):
            what = (
                f"expected the token {other!r}, which was registered last; "
                f"received {name} with {data['token']!r}"
            )
            yield Finding("data.same-object", what)
            return
        elif robot.step is Step.UNREGISTERED and (other := self._linked_token()):
            what = (
                f"expected the token {other!r}, which is registered; "
                f"received {name} with {data['token']!r}"
            )
            yield Finding("data.same-object", what)
            return
        wrong = robot.walk.step(ROBOT, name)
        if wrong and robot.missed:
            walk = Walk(COURSE, robot.missed)
            if not walk.step(ROBOT, name):
                robot.walk, wrong = walk, []
        robot.missed = None
        if not (self._strayed or robot.pushed_early):
            yield from wrong
        if wrong and name == "Push":
            # A robot that goes on after an update can have other versions than before.
            robot.registered = data
        for field_ in CONSTANT:
            before, after = robot.registered.get(field_), data.get(field_)
            # A value of another type is an error of its own (data.strings).
            if isinstance(before, str) and isinstance(after, str) and before != after:
                what = (
                    f"expected {field_} {str(before)[:80]!r} as before; "
                    f"received {str(after)[:80]!r}"
                )
                yield Finding("data.same-object", what)
        if name == "DownloadRequest":
            left_out = [each for each in robot.registered if each in MANDATORY and each not in data]
            if left_out:
                what = (
                    "expected the fields of the registration in "
                    "DownloadRequest; received none of: "
                    f"{', '.join(left_out)}"
                )
                yield Finding("run.download-push", what)
        if name == "Push" and robot.step is Step.LINKED:
            self.exercised |= {"register.first", "data.same-object", "push.one-at-a-time"}

    def _linked_token(self) -> str:
        """Return a token whose registration was successful, or an empty string."""
        robots = self._conversation.robots
        return next((token for token, robot in robots.items() if robot.step not in _UNLINKED), "")

    def _registered_since(self, robot: _Robot, data: Mapping[str, Any]) -> str:
        """Return the token that a dismissed robot has registered later, or an empty string.

        Robots are compared by their MAC address.
        """
        if robot.step not in (Step.ABORTED, Step.UPDATING, Step.PUSH_ABORTED):
            return ""
        for token, other in reversed(self._conversation.robots.items()):
            if other is robot:
                break
            same = other.registered.get("macaddr") == data.get("macaddr")
            if same and other.step not in _UNLINKED:
                return token
        return ""

    # Answers of a lab

    def _answer(self, name: str, value: Any) -> Iterator[Finding]:
        if not self._asked and self._left:
            self._answer_left(self._left, name)
            return
        if not self._asked:
            # A lab may refuse a robot that sends nothing sensible, and a quiet connection.
            self._strayed = True
            refused = is_error(name, value) or (name == "Abort" and self._answered is None)
            if not (refused or self._deaf):
                yield Finding(
                    "http.messages", f"expected no message without a request; received {name}"
                )
            return
        asked = self._asked.popleft()
        self._forget_push(asked)
        missing = asked.missing
        robot = self._conversation.robot(asked.data)
        self._answered = (asked, robot.step) if robot else None
        if missing:
            yield from self._check_refused(asked, missing, name)
        elif asked.name in ANSWERS:
            yield from self._check_allowed(asked, robot, name, value)
        if robot and (not self._deaf or robot.latest is asked):
            outcome = name in ANSWERS.get(asked.name, ())
            step = "Refusal" if is_refusal(name, value) and not outcome else name
            content = value.get("json")
            # Some robots cannot read an answer with further members.
            if self._deaf or (isinstance(content, dict) and content.keys() > {"cmd"}):
                robot.missed = robot.step
            yield from robot.walk.step(LAB, step)

    def _answer_left(self, asked: _Asked, name: str) -> None:
        """Handle an answer to a robot that has half-closed its connection."""
        self._left = None
        robot = self._conversation.robot(asked.data)
        if robot and robot.latest is asked:
            robot.missed = robot.step
            robot.walk.step(LAB, name)

    def _forget_push(self, asked: _Asked) -> None:
        """Remove a request from its robot's unanswered pushes."""
        robot = self._conversation.robot(asked.data)
        if robot and asked in robot.held:
            robot.held.remove(asked)

    def _check_allowed(
        self, asked: _Asked, robot: _Robot | None, name: str, value: Any
    ) -> Iterator[Finding]:
        """Check that the request can get this answer."""
        if name in ANSWERS[asked.name]:
            self.exercised |= {"http.messages"}
            if name in COMMANDS:
                self.exercised |= {"commands.lab", "http.json"}
        elif is_refusal(name, value) and ("json" in value or not self._due(asked, robot)):
            pass
        elif asked.name in _UNNAMED:
            came = _description(name, value)
            what = f"expected a file with a Filename for {asked.name}; received {came}"
            yield Finding(_UNNAMED[asked.name], what)
        elif name in COMMANDS:
            yield Finding(
                "register.repeat", f"expected repeat or abort for a registration; received {name}"
            )
        elif "cmd" in value.get("json", {}):
            command = str(value["json"]["cmd"])[:80]
            yield Finding("commands.lab", f"expected a known command; received {command!r}")
        else:
            came = _description(name, value)
            what = f"expected a command in the answer to {asked.name}; received {came}"
            yield Finding("http.json", what)

    def _due(self, asked: _Asked, robot: _Robot | None) -> bool:
        """True if the request needs an answer other than an error."""
        return asked.name in _UNNAMED or bool(robot and (asked.name, robot.step) in _DUE)

    def _check_refused(self, asked: _Asked, missing: list[str], name: str) -> Iterator[Finding]:
        """Check that a request without mandatory fields got an error."""
        for each in missing:
            if name == "Abort":
                # abort is an error or the end of the hold time: only a clock can distinguish them
                continue
            self.exercised.add(f"refuses.{each}")
            if name in COMMANDS:
                what = f"expected an error for {asked.name} without {each}; received {name}"
                yield Finding(f"refuses.{each}", what)


def _description(name: str, value: Any) -> str:
    return f"{name} with status {value.get('status')}"
