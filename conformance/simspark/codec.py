"""Decodes a SimSpark stream into messages, and encodes messages.

A message is a length of 32 bits, followed by S-expressions. Its decoded form is the list of its
expressions (see `sexp`).

The wire does not name the message. `name_of` derives the name from the structure and the first
words:

- `Expressions`: a message without a known word.
- `TooDeep`: lists nested deeper than in any scene. An example of its value is
  `{"depth": 100000, "bytes": 200000}`.
- `Truncated`: an incomplete message at the end of the stream. An example of its value is
  `{"announced": 12, "came": 3}`, in bytes.
"""

import re
import struct
from collections.abc import Sequence
from typing import Any

from conformance.codec import Frame
from conformance.definitions import protocols
from conformance.simspark import sexp
from conformance.simspark.sexp import Expression, SexpError, read, read_deep, write

LENGTH = struct.Struct(">I")
LIMIT = 16 * 1024 * 1024  # bytes; a scene of 22 robots needs a tenth of this
_SHORT = 512  # bytes; only a shorter beginning is searched for a length of two bytes
DEEP = 100  # levels of lists; a robot whose limbs are nested in one another needs about 30

TOO_DEEP, TRUNCATED = "TooDeep", "Truncated"
_SERVER = "server"  # the party that sends perceptors and states

_TOO_MANY = "the length counts {} bytes too many: the text ends earlier"
_TOO_FEW = "the length counts too few bytes: the text continues after them"
_CUT = "the length counts too many bytes: the next message begins after {} bytes of text: {}"
_NEXT = re.compile(rb"\0[\0-\xff]{3}\(")  # a next message shorter than 16 MiB
_PREFIX, _TEXT, _ASCII = "frame.length-prefix", "text.s-expressions", "text.ascii"

ENVIRONMENT_KEYS = frozenset(
    {
        *("FieldLength", "FieldWidth", "FieldHeight", "GoalWidth", "GoalDepth", "GoalHeight"),
        *("FreeKickDistance", "WaitBeforeKickOff", "AgentRadius", "BallRadius", "BallMass"),
        *("RuleGoalPauseTime", "RuleKickInPauseTime", "RuleHalfTime", "play_modes"),
    }
)
STATES = protocols.load("simspark").groups["states"]
"""The messages that change what a monitor knows."""

PERCEPTORS = protocols.load("simspark").groups["perceptors"]

COMMANDS = frozenset(
    {
        *("agent", "ball", "playMode", "dropBall", "kickOff", "select", "kill", "repos", "getAck"),
        *("time", "score", "reqfullstate", "killsim"),
    }
)
_PERCEPTORS = frozenset({"GS", "HJ", "UJ", "GYR", "ACC", "FRP", "TCH", "See", "hear", "AgentState"})
_EFFECTOR = re.compile(r"he[12]|[lr]ae[1-4]|[lr]le[1-7]|beam|say|syn|pass|catch|kick|drive|pantilt")


def encode(value: Any) -> bytes:
    """Encode a message from its decoded form.

    Raises ValueError if `value` cannot be written as a message.
    """
    if not isinstance(value, list | tuple):
        raise ValueError(f"{value!r:.80} is not a list of expressions")
    return frame(write(value))


def frame(payload: bytes) -> bytes:
    """Put the length of `payload` in front of the payload, which can be any bytes."""
    return LENGTH.pack(len(payload)) + payload


def place(data: bytes, path: Sequence[str | int]) -> tuple[int, int] | None:
    """Locate an expression in the bytes of one message.

    `path` is the path of the expression in the decoded form. Returns the offsets of its first byte
    and after its last byte, or None if the message has no such expression.
    """
    found = sexp.place(data[LENGTH.size :], path)
    return (found[0] + LENGTH.size, found[1] + LENGTH.size) if found else None


def name_of(value: list[Expression], sender: str = "") -> str:
    """Return the name of a decoded message, derived from its structure and its first words.

    A server sends neither commands nor effectors, but perceptors can have the same words.
    """
    if not value:
        return "Empty"
    if _begins_a_state(value):
        return _name_of_state(value, sender)
    names = [item[0] for item in value if isinstance(item, list) and item]
    for item in value:
        if isinstance(item, list) and item[:1] == ["time"] and isinstance(item[-1], list):
            return "Perceptors"
        if isinstance(item, list) and item[:1] == ["init"] and len(item) > 1:
            return "Init" if "scene" not in names else "Scene"
    words = {name for name in names if isinstance(name, str)}
    if "scene" in words:
        return "Scene"
    if sender != _SERVER and (words & COMMANDS or value == [["init"]]):
        return "Commands"
    if words & _PERCEPTORS:
        return "Perceptors"
    if "ack" in words:
        return "Ack"
    if sender != _SERVER and any(map(_EFFECTOR.fullmatch, words)):
        return "Effectors"
    return "Expressions"


def label(message: str, value: Any) -> str:
    """Return the kind of a message for the report: its name and its first words."""
    if message not in ("Perceptors", "Effectors", "Commands", "Expressions"):
        return message
    words = (item[0] for item in value if isinstance(item, list) and item)
    heads = dict.fromkeys(word for word in words if isinstance(word, str))
    return f"{message} ({' '.join([*heads][:12])})"


def _begins_a_state(value: list[Expression]) -> bool:
    """Return True if the message begins like a state, with a list of pairs.

    An empty first list counts only if a scene graph header follows.
    """
    first, *rest = value
    if first == []:
        return bool(rest) and isinstance(rest[0], list) and rest[0][:1] in (["RSG"], ["RDS"])
    return isinstance(first, list) and isinstance(first[0], list)


def _name_of_state(value: list[Expression], sender: str) -> str:
    """Distinguish environment information, a game state, and commands wrapped in an extra list."""
    names = [item[0] for item in value[0] if isinstance(item, list) and item]
    wrapped = len(value) == 1 and sender != _SERVER
    if wrapped and any(name in COMMANDS and name != "time" for name in names if _is(name)):
        return "Commands"
    if any(name in ENVIRONMENT_KEYS for name in names if _is(name)):
        return "Environment"
    header = value[1] if len(value) > 1 else None
    return "FullState" if isinstance(header, list) and header[:1] == ["RSG"] else "PartialState"


def _is(name: Expression) -> bool:
    return isinstance(name, str)


class Decoder:
    """Decodes the stream of one direction of one session.

    `lost` is the reason why decoding has stopped, or empty. `sender` is the party whose messages
    are decoded, or empty if it is unknown.
    """

    def __init__(self, limit: int = LIMIT, sender: str = "") -> None:
        self._limit = limit
        self._sender = sender
        self._held = bytearray()
        self._wanted = LENGTH.size
        self._torn = False  # the latest text was malformed
        self.lost = ""

    def feed(self, data: bytes) -> list[Frame]:
        if self.lost:
            return []
        self._held += data
        frames: list[Frame] = []
        at = 0
        if len(self._held) < self._wanted:
            return self._lose(at, why_two_byte_length(self._held))
        while len(self._held) - at >= LENGTH.size:
            (size,) = LENGTH.unpack_from(self._held, at)
            if size > self._limit:
                begins = bytes(self._held[at : at + 64])
                return frames + self._lose(at, _TOO_FEW if self._torn else _why_huge(size, begins))
            end = at + LENGTH.size + size
            self._wanted = end - at
            if end > len(self._held):
                frames += self._lose(at, why_two_byte_length(self._held[at : at + 512]))
                break
            following = bytes(self._held[end : end + 1])
            frames.append(_frame(bytes(self._held[at:end]), following, self._sender))
            self._torn = frames[-1].requirement == _TEXT
            at = end
            self._wanted = LENGTH.size
        del self._held[:at]
        return frames

    def _lose(self, at: int, why: str) -> list[Frame]:
        """Stop decoding at offset `at` for the reason `why`. An empty reason changes nothing."""
        if not why:
            return []
        self.lost = why
        raw = bytes(self._held[at:])
        self._held.clear()
        return [Frame(raw, error=why, requirement=_PREFIX, earlier=self._torn)]

    def end(self) -> list[Frame]:
        if not self._held:
            return []
        raw = bytes(self._held)
        announced = LENGTH.unpack_from(raw)[0] if len(raw) >= LENGTH.size else None
        came = max(len(raw) - LENGTH.size, 0)
        if announced == came + LENGTH.size and (value := _whole(raw[LENGTH.size :])):
            name = name_of(value, self._sender)
            return [Frame(raw, name, value, _TOO_MANY.format(LENGTH.size), _PREFIX)]
        return [Frame(raw, TRUNCATED, {"announced": announced, "came": came})]


def decoder(party: str) -> Decoder:
    """Return a decoder for the messages of one party."""
    return Decoder(sender=party)


def _frame(raw: bytes, following: bytes, sender: str) -> Frame:
    payload = raw[LENGTH.size :]
    if b"\0" in payload and (why := why_counted_wrongly(payload)):
        return Frame(raw, error=why, requirement=_PREFIX)
    try:
        # Some peers send the final NUL of a C string too. The NUL has no meaning.
        value, deepest = read_deep(payload.removesuffix(b"\0"))
    except SexpError as error:
        if payload.endswith(b"\0\0"):
            count = len(payload) - payload.index(b"\0", -LENGTH.size)
            return Frame(raw, error=_TOO_MANY.format(count), requirement=_PREFIX)
        if cut := _NEXT.search(payload):
            why = _CUT.format(cut.start(), _quote(payload, cut.start()))
            return Frame(raw, error=why, requirement=_PREFIX)
        if following == b")":
            return Frame(raw, error=_TOO_FEW, requirement=_PREFIX)
        requirement = _TEXT if error.ascii else _ASCII
        return Frame(
            raw,
            error=f"{error} of the text {_quote(payload, error.offset)}",
            requirement=requirement,
        )
    if deepest > DEEP:
        return Frame(raw, TOO_DEEP, {"depth": deepest, "bytes": len(payload)})
    if value and isinstance(value[0], list) and value[0][:1] in (["RSG"], ["RDS"]):
        why = f"the message begins with a scene graph and has no state: {_quote(payload)}"
        return Frame(raw, error=why, requirement="state.structure")
    return Frame(raw, name_of(value, sender), value)


def _whole(payload: bytes) -> list[Expression]:
    """Return the expressions of a complete text, or an empty list."""
    try:
        return read(payload)
    except SexpError:
        return []


def why_counted_wrongly(payload: bytes) -> str:
    """Describe a length that includes the beginning of the next message.

    Returns an empty string if no NUL of a next length follows a complete text.
    """
    depth = 0
    for place in re.finditer(rb"[()]", payload):
        depth += 1 if place[0] == b"(" else -1
        rest = payload[place.end() :].lstrip(b" \t\r\n")
        if depth == 0 and rest.startswith(b"\0") and 1 < len(rest) <= LENGTH.size:
            return _TOO_MANY.format(len(rest))
        if depth < 0:
            break
    return ""


def why_two_byte_length(begins: bytes | bytearray) -> str:
    """Describe a length of only two bytes at the beginning of a message.

    Returns an empty string unless a complete list follows the first two bytes and fills exactly the
    length that these two bytes give. With a length of four bytes, the text would begin in the
    middle.
    """
    size = int.from_bytes(begins[:2], "big")
    text = bytes(begins[2 : 2 + size])
    if len(begins) > _SHORT or not 2 < len(text) == size or text[:1] != b"(" or text[1:2] in b"()":
        return ""
    if not _whole(text):
        return ""
    return f"the length has two bytes, not four: {_quote(bytes(begins))}"


def _why_huge(size: int, begins: bytes) -> str:
    swapped = int.from_bytes(begins[: LENGTH.size], "little")
    if begins[:1] in (b"(", b" ", b"\n"):
        return f"received a message without a length: {_quote(begins)}"
    if begins[: LENGTH.size].strip(b"0123456789 ()") == b"":
        return f"the length is written in digits: {_quote(begins)}"
    if swapped <= LIMIT:
        return f"the length is {size}, or {swapped} with the least significant byte first"
    return f"the length is {size}, more than any message has"


def _quote(data: bytes, about: int = 0) -> str:
    """Quote the beginning of some bytes, or the bytes around a greater offset `about`."""
    first = about - 20 if about > 40 else 0
    text = repr(data[first : first + 60].decode("latin-1"))
    return ("…" if first else "") + text + ("…" if len(data) > first + 60 else "")
