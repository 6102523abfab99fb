"""Passive judge of the runtime's sockets: matches responses, and checks rules beyond the schemas.

The oracle sees both sides of one connection. It does not know which side is under test, and has no
clock. Rules for this module:

- A finding is about the current message and its sender.
- A call is identified by one id, and changes its state only through CALL.
- After an unusual message of the client, any response of the server is accepted, because it can be
  an answer to that message.
- Rules that a schema expresses are checked only by the schema.
"""

import itertools
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, ClassVar

from conformance.bounded_dict import MAX_ENTRIES, BoundedDict
from conformance.course import Course, Violates, Walk
from conformance.definitions.keywords import short_json
from conformance.judging.judge import Finding
from conformance.runtime.codec import is_notification, is_request
from conformance.runtime.shapes import GAMEPADS, LOG, NOTIFICATION, REQUEST, RESPONSE, UPDATE, mark

CLIENT, SERVER = "rpc-client", "rpc-server"


class Call(StrEnum):
    """State of one request id."""

    UNUSED = "not used yet"
    OPEN = "not answered yet"
    ANSWERED = "answered"


CALL = Course(
    "an id of a request",
    {
        Call.UNUSED: {
            (CLIENT, REQUEST): Call.OPEN,
            (SERVER, RESPONSE): Violates(
                "rpc.response-id", "expected the id of an open request; received the id {id}"
            ),
        },
        Call.OPEN: {
            (CLIENT, REQUEST): Call.OPEN,
            (SERVER, RESPONSE): Call.ANSWERED,
        },
        Call.ANSWERED: {
            (CLIENT, REQUEST): Call.OPEN,
            (SERVER, RESPONSE): Violates(
                "rpc.each-answered", "expected one response to request {id}; received another one"
            ),
        },
    },
)
COURSES = (CALL,)

UIDS = 2**88
_WITH_BLANK = re.compile(r"\d{4}[-W\d]* \d")
"""The beginning of a timestamp of ISO 8601 with a blank after the date."""
_MAX_PASSED = 10  # equal later calls with a response; then the call is unanswered, not only slow
CIRCLE = 1 + 1e-6  # square of the radius, with a tolerance for rounding to single precision

_OWN = {
    SERVER: ("rpc.response-form", "a response"),
    CLIENT: ("rpc.request-form", "a request or notification"),
    "log-publisher": ("log.form", "a map with event, logger, level, timestamp and extra"),
    "gamepad-sender": ("gamepad.form", "a map with gamepads"),
    "update-publisher": ("update.form", "a map with sd and aliases"),
}
"""By sender: the requirement that an unknown object violates, and the expected message."""

_TEXTS: dict[str, Callable[[Any], list[Any]]] = {
    REQUEST: lambda value: value[2:3],
    NOTIFICATION: lambda value: value[1:2],
    LOG: lambda value: [value.get(name) for name in ("event", "logger", "level", "timestamp")],
    GAMEPADS: lambda value: [],
    UPDATE: lambda value: list(_members(value.get("aliases")).values()),
}
"""Parts of a message that must be strings. All keys of a message that is a map are strings too."""


@dataclass
class _Called:
    """The latest request of an id without a response.

    ``after`` counts the responses that were sent before it. ``what`` contains its procedure and
    arguments. ``passed`` counts later answered calls with equal procedure and arguments. Only calls
    after a further response count, because a server can answer simultaneous calls in any order.
    ``again`` counts earlier requests of the same id without a response.
    """

    walk: Walk
    after: int
    what: list[Any]
    passed: int = 0
    again: int = 0


class Conversation:
    """The open connections of one implementation, whose ids do not belong together."""

    def __init__(self, running: bool = False) -> None:
        self._connections: list[Oracle] = []
        self._lenient = False

    @property
    def lenient(self) -> bool:
        """True if a client has sent something unusual, which can end the server."""
        return self._lenient or any(each.lenient for each in self._connections)

    def join(self, connection: "Oracle") -> None:
        """Add a connection."""
        self._connections.append(connection)

    def leave(self, connection: "Oracle") -> None:
        """Remove a connection that one side has closed."""
        self._lenient |= connection.lenient
        if connection in self._connections:
            self._connections.remove(connection)

    def is_used_elsewhere(self, number: int, connection: "Oracle") -> bool:
        """Return True if another open connection has a request with this id."""
        others = (each for each in self._connections if each is not connection)
        return any(each.has_request(number) for each in others)


class Oracle:
    """The state of one connection: open requests, and sides that have closed."""

    def __init__(self, conversation: Conversation | None = None) -> None:
        self.exercised: set[str] = set()
        self._conversation = conversation or Conversation()
        self._conversation.join(self)
        self._open: BoundedDict[int, _Called] = BoundedDict()
        self._answered: BoundedDict[int, Walk] = BoundedDict()
        self._answers = 0
        self._notified = 0
        self._unclear: list[int] = []
        """Strange ids that came while requests were open, after notifications."""
        """Notifications of the client that nothing has answered."""
        self._asked: BoundedDict[int, int] = BoundedDict()
        """Requests that have reached the client, and that the client can answer."""
        self._gone: set[str] = set()
        self._lenient = False
        self._latest: dict[str, Any] = {}
        """By sender: its latest map or array, whose header can announce too short a length."""

    @property
    def lenient(self) -> bool:
        """True if the client has sent something unusual."""
        return self._lenient

    def message(self, sender: str, name: str, value: Any) -> Iterator[Finding]:
        if sender in (CLIENT, SERVER):
            self.exercised.add("rpc.own-direction")
        self._latest[sender] = value
        if name in _TEXTS:
            yield from self._strings(name, value)
        yield from self._RULES[name](self, value)

    def unknown(self, sender: str, name: str, value: Any, foreign: bool) -> Iterator[Finding]:
        if self._both_ways(sender, name, value):
            return
        self._lenient |= sender == CLIENT
        requirement, wanted = _OWN.get(sender, (None, ""))
        if requirement is None:
            return
        if sender in (CLIENT, SERVER) and foreign and not self._answers_one(sender, value):
            requirement = "rpc.own-direction"
        is_map = isinstance(value, dict) and not foreign and sender != SERVER
        if is_map and any(map(mark, _keys(value))):
            yield Finding(
                "encoding.strings",
                f"expected strings as keys of a map; received {short_json(value)}",
            )
        wrapped = " in an RPC notification" if name == NOTIFICATION and sender != SERVER else ""
        latest = [short_json(self._latest[sender])] if sender in self._latest else []
        after = "".join(f" after {message}" for message in latest)
        text = f"expected {wanted}; received {short_json(value)}{wrapped}{after}"
        # An object that is neither a map nor an array is probably the rest of the previous message.
        # It separates two messages in any case.
        rest = bool(after) and not isinstance(value, dict | list)
        if rest:
            requirement = "encoding.messagepack"
            text += ", whose header perhaps announces too short a length"
        elif isinstance(value, dict | list):
            self._latest[sender] = value
        yield Finding(requirement, text, earlier=rest)

    def _answers_one(self, sender: str, value: Any) -> bool:
        """Return True if an object of another type seems to answer an open request."""
        if sender != SERVER or len(value) != 4 or is_request(value):
            return False
        return type(value[1]) is int and value[1] in self._open

    def broken(self, sender: str) -> None:
        self._lenient |= sender == CLIENT

    def _both_ways(self, sender: str, name: str, value: Any) -> bool:
        """Return True for a message between peers that are client and server at once."""
        # A malformed request can also be answered, with an error.
        if sender == SERVER and name == REQUEST and len(value) > 1 and type(value[1]) is int:
            self._asked[value[1]] = self._asked.get(value[1], 0) + 1
        if sender == CLIENT and name == RESPONSE and len(value) == 4 and type(value[1]) is int:
            waiting = self._asked.pop(value[1], 0)
            if waiting > 1:
                self._asked[value[1]] = waiting - 1
            return waiting > 0
        return sender == SERVER and name == NOTIFICATION and is_notification(value)

    def closed(self, sender: str) -> Iterator[Finding]:
        """Yield findings if a server closes the stream before it has answered its requests.

        After unusual messages of any client, nothing is expected: they can end a server.
        A client can close at any time. After that, a request without a response is a violation only
        if enough later requests were answered.
        """
        if sender == SERVER and not self._conversation.lenient:
            early = CLIENT not in self._gone
            due = [n for n, call in self._open.items() if early or call.passed >= _MAX_PASSED]
            if due:
                text = f"expected responses to {_few(due)}; the server closed the stream"
                yield Finding("rpc.each-answered", text)
            elif self._open:
                text = f"{_few(self._open)} had no response when the client closed the stream"
                yield Finding("rpc.each-answered", text, inconclusive=True)
        self._gone.add(sender)
        self._conversation.leave(self)

    # RPC

    def _request(self, value: Any) -> Iterator[Finding]:
        if not is_request(value):
            self._lenient = True
            return
        number = value[1]
        # Many decoders accept only strings as keys of a map, and stop at any other key.
        self._lenient |= any(type(key) is not str for key in _keys(value[3]))
        if self._open:
            self.exercised.add("rpc.ids-differ")
        again = self._open.pop(number, None)
        walk = again.walk if again else self._answered.pop(number, Walk(CALL))
        earlier = again.again + 1 if again else 0
        # The oldest requests are forgotten, and their responses cannot be judged.
        self._lenient |= len(self._open) >= MAX_ENTRIES
        self._open[number] = _Called(walk, self._answers, value[2:], again=earlier)
        yield from walk.step(CLIENT, REQUEST, id=str(number))
        if again:
            # A call that has timed out no longer waits, and its id is free again.
            text = (
                f"expected a new id; received request {number} while {number} was unanswered; "
                "the earlier call can have timed out"
            )
            yield Finding("rpc.ids-differ", text, inconclusive=True)

    def _notification(self, value: Any) -> Iterator[Finding]:
        self._lenient |= not is_notification(value)
        self._notified += 1
        yield from ()

    def _response(self, value: Any) -> Iterator[Finding]:
        if len(value) < 4:
            return
        _, number, error, result, *_ = value
        walk = self._walk(number) if type(number) is int else Walk(CALL)
        wrong = walk.step(SERVER, RESPONSE, id=short_json(number))
        if not wrong:
            self.exercised |= {"rpc.response-id", "rpc.each-answered"}
        elif not self._lenient:
            yield from self._stray(number, wrong)
        if walk.state is Call.ANSWERED and number in self._open:
            self._answers += 1
            call = self._open.pop(number)
            self._passes(call)
            if call.again:
                still_open = Walk(CALL, Call.OPEN)
                self._open[number] = replace(call, walk=still_open, again=call.again - 1)
            else:
                self._answered[number] = walk
            if not self._open:
                # No strange id can have been meant for a request.
                for strange in self._unclear[: self._notified]:
                    yield from self._to_notification(strange)
                self._unclear.clear()
        if error is not None:
            self.exercised.add("rpc.error-without-result")
            # A server that sends false, 0 or "" together with a result means no error.
            if error and result is not None:
                text = (
                    f"expected a nil result with an error; received the result {short_json(result)}"
                )
                yield Finding("rpc.error-without-result", text)

    def has_request(self, number: int) -> bool:
        """Return True if this connection had a request with this id, answered or not."""
        return number in self._open or number in self._answered

    def _stray(self, number: Any, wrong: list[Finding]) -> list[Finding]:
        """Return the findings about a response without its request.

        The response belongs to another client, answers a notification, or has a wrong id
        (``wrong``). After notifications, an open request delays this decision.
        """
        known = type(number) is int
        if known and self._conversation.is_used_elsewhere(number, self):
            text = f"expected only the client's own responses; received the id {number}, which "
            return [Finding("rpc.clients-apart", text + "another client has used")]
        if not self._notified or (known and number in self._answered):
            return wrong
        if self._open and number is not None:
            if not known:
                return wrong
            if len(self._unclear) < MAX_ENTRIES:
                self._unclear.append(number)
            return []
        return self._to_notification(number)

    def _to_notification(self, number: Any) -> list[Finding]:
        self._notified -= 1
        text = "expected no response to a notification; received one with the id"
        return [Finding("rpc.notification-unanswered", f"{text} {short_json(number)}")]

    def _walk(self, number: int) -> Walk:
        if call := self._open.get(number):
            return call.walk
        return self._answered.get(number) or Walk(CALL)

    def _passes(self, answered: _Called) -> None:
        """Count this response for older requests that are still open."""
        for call in self._open.values():
            if call.after >= answered.after:
                return
            call.passed += call.what == answered.what

    # Maps

    def _log(self, value: Any) -> Iterator[Finding]:
        self.exercised |= {"log.extra-present", "log.timestamp-separator"}
        timestamp = value.get("timestamp")
        if isinstance(timestamp, str) and _WITH_BLANK.match(timestamp):
            text = f"expected T in the timestamp {short_json(timestamp)}; received a blank"
            yield Finding("log.timestamp-separator", text)
        if "extra" not in value:
            yield Finding(
                "log.extra-present", "expected the key extra in a log message; the key is missing"
            )

    def _gamepads(self, value: Any) -> Iterator[Finding]:
        for index, pad in _members(value["gamepads"]).items():
            for side in "lr":
                yield from self._joystick(index, side, _members(pad))

    def _joystick(self, index: str, side: str, pad: dict[str, Any]) -> Iterator[Finding]:
        names = [f"{side}x", f"{side}y"]
        axes = [pad.get(name) for name in names]
        if not all(type(axis) in (int, float) for axis in axes):
            return
        self.exercised |= {"gamepad.unit-circle", "gamepad.axes-floats"}
        if sum(axis * axis for axis in axes if axis) > CIRCLE:
            text = (
                f"gamepad {index}: expected a position in the unit circle; received "
                f"({axes[0]}, {axes[1]})"
            )
            yield Finding("gamepad.unit-circle", text)
        for name, axis in zip(names, axes, strict=True):
            if type(axis) is int:
                yield Finding(
                    "gamepad.axes-floats", f"expected {name} as a float; received an integer"
                )

    def _update(self, value: Any) -> Iterator[Finding]:
        self.exercised.add("update.aliases-present")
        if "aliases" not in value:
            text = "expected the key aliases in an update; the key is missing"
            yield Finding("update.aliases-present", text)
        for part in ("sd", "aliases"):
            for uid in _members(value.get(part)):
                if not (uid.isascii() and uid.isdecimal()):
                    continue
                self.exercised.add("update.uid-width")
                if len(uid) > len(str(UIDS)) or int(uid) >= UIDS:
                    text = f"{part}: expected a UID of at most 88 bits; received {uid[:40]}"
                    yield Finding("update.uid-width", text)

    def _strings(self, name: str, value: Any) -> Iterator[Finding]:
        self.exercised.add("encoding.strings")
        for part in [*_TEXTS[name](value), *(_keys(value) if isinstance(value, dict) else ())]:
            if mark(part) in ("$bin", "$raw"):
                what = "a bin" if mark(part) == "$bin" else "not UTF-8"
                yield Finding(
                    "encoding.strings",
                    f"expected a string; received {short_json(part)}, which is {what}",
                )

    _RULES: ClassVar[dict[str, Callable[..., Iterator[Finding]]]] = {
        REQUEST: _request,
        NOTIFICATION: _notification,
        RESPONSE: _response,
        LOG: _log,
        GAMEPADS: _gamepads,
        UPDATE: _update,
    }


def _few(ids: Iterable[int]) -> str:
    return ", ".join(map(str, itertools.islice(ids, 5)))


def _members(value: Any) -> dict[str, Any]:
    """Return the members of a map whose keys are strings; empty for any other value."""
    return value if isinstance(value, dict) and not mark(value) else {}


def _keys(value: Any) -> Iterator[Any]:
    """Yield all keys of the maps within a value."""
    pairs = value["$map"] if mark(value) == "$map" else _members(value).items()
    for key, entry in pairs:
        yield key
        yield from _keys(entry)
    for entry in value if isinstance(value, list) else ():
        if isinstance(entry, list | dict):
            yield from _keys(entry)
