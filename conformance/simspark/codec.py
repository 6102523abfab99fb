"""Cuts a SimSpark stream into messages and back: a length of 32 bits, then S-expressions.

The decoded form of a message is the list of its expressions (`sexp`). The wire says nowhere which
message it is; `name_of` tells by what it looks like and by the words that it begins with. Whatever
has no such word is `Expressions`. Nested deeper than any scene is, it is `TooDeep`, and its value
only `{"depth": 100000, "bytes": 200000}`. What is left of a message where the stream ends is a
`Truncated`, `{"announced": 12, "came": 3}`.
"""

import re
import struct
from collections.abc import Sequence
from typing import Any

from conformance.codec import Frame
from conformance.simspark import sexp
from conformance.simspark.sexp import Expression, SexpError, read, read_deep, write

LENGTH = struct.Struct(">I")
LIMIT = 16 * 1024 * 1024  # bytes of one message that are held; a scene of 22 robots has a tenth
_SHORT = 512  # bytes in which the end of an agent's or a trainer's first message is looked for
DEEP = 100  # levels of lists; a robot whose limbs hang on one another has some thirty

TOO_DEEP, TRUNCATED = "TooDeep", "Truncated"

_TOO_MANY = "the length counts {} bytes too many: the text has ended before"
_TOO_FEW = "the length counts too few bytes: the text goes on behind it"
_CUT = "the length counts too many bytes: {} are there of the text, and then the next message, {}"
_NEXT = re.compile(rb"\0[\0-\xff]{3}\(")  # a message begins, of less than 16 MiB
_PREFIX, _TEXT, _ASCII = "frame.length-prefix", "text.s-expressions", "text.ascii"

ENVIRONMENT_KEYS = frozenset(
    {
        *("FieldLength", "FieldWidth", "FieldHeight", "GoalWidth", "GoalDepth", "GoalHeight"),
        *("FreeKickDistance", "WaitBeforeKickOff", "AgentRadius", "BallRadius", "BallMass"),
        *("RuleGoalPauseTime", "RuleKickInPauseTime", "RuleHalfTime", "play_modes"),
    }
)
COMMANDS = frozenset(
    {
        *("agent", "ball", "playMode", "dropBall", "kickOff", "select", "kill", "repos", "getAck"),
        *("time", "score", "reqfullstate", "killsim"),
    }
)
_PERCEPTORS = frozenset({"GS", "HJ", "UJ", "GYR", "ACC", "FRP", "TCH", "See", "hear", "AgentState"})
_EFFECTOR = re.compile(r"he[12]|[lr]ae[1-4]|[lr]le[1-7]|beam|say|syn|pass|catch|kick|drive|pantilt")


def encode(value: Any) -> bytes:
    """The bytes of a message in its decoded form. Raises ValueError where it cannot be one."""
    if not isinstance(value, list | tuple):
        raise ValueError(f"{value!r:.80} is not a list of expressions")
    return frame(write(value))


def frame(payload: bytes) -> bytes:
    """Any bytes behind their length."""
    return LENGTH.pack(len(payload)) + payload


def place(data: bytes, path: Sequence[str | int]) -> tuple[int, int] | None:
    """Where in the bytes of one message the expression at a path of its decoded form stands."""
    found = sexp.place(data[LENGTH.size :], path)
    return (found[0] + LENGTH.size, found[1] + LENGTH.size) if found else None


def name_of(value: list[Expression]) -> str:
    """What kind of message this is."""
    if not value:
        return "Empty"
    if _begins_a_state(value):
        return _name_of_state(value)
    names = [item[0] for item in value if isinstance(item, list) and item]
    for item in value:
        if isinstance(item, list) and item[:1] == ["time"] and isinstance(item[-1], list):
            return "Perceptors"
        if isinstance(item, list) and item[:1] == ["init"] and len(item) > 1:
            return "Init" if "scene" not in names else "Scene"
    words = {name for name in names if isinstance(name, str)}
    if "scene" in words:
        return "Scene"
    if words & COMMANDS or value == [["init"]]:
        return "Commands"
    if words & _PERCEPTORS:
        return "Perceptors"
    if "ack" in words:
        return "Ack"
    return "Effectors" if any(map(_EFFECTOR.fullmatch, words)) else "Expressions"


def _begins_a_state(value: list[Expression]) -> bool:
    """Whether a list of lists comes first; one that is empty, if a header comes behind it."""
    first, *rest = value
    if first == []:
        return bool(rest) and isinstance(rest[0], list) and rest[0][:1] in (["RSG"], ["RDS"])
    return isinstance(first, list) and isinstance(first[0], list)


def _name_of_state(value: list[Expression]) -> str:
    """Environment, game state, or a command in a list of its own."""
    names = [item[0] for item in value[0] if isinstance(item, list) and item]
    if len(value) == 1 and any(name in COMMANDS and name != "time" for name in names if _is(name)):
        return "Commands"
    if any(name in ENVIRONMENT_KEYS for name in names if _is(name)):
        return "Environment"
    header = value[1] if len(value) > 1 else None
    return "FullState" if isinstance(header, list) and header[:1] == ["RSG"] else "PartialState"


def _is(name: Expression) -> bool:
    return isinstance(name, str)


class Decoder:
    """One direction of one session. `lost`: why nothing can be decoded any more, else empty."""

    def __init__(self, limit: int = LIMIT) -> None:
        self._limit = limit
        self._held = bytearray()
        self._wanted = LENGTH.size
        self._torn = False  # the last text has no end
        self.lost = ""

    def feed(self, data: bytes) -> list[Frame]:
        if self.lost:
            return []
        self._held += data
        frames: list[Frame] = []
        at = 0
        if len(self._held) < self._wanted:
            return self._lose(at, counted_in_two_bytes(self._held))
        while len(self._held) - at >= LENGTH.size:
            (size,) = LENGTH.unpack_from(self._held, at)
            if size > self._limit:
                begins = bytes(self._held[at : at + 64])
                return frames + self._lose(at, _TOO_FEW if self._torn else _why_huge(size, begins))
            end = at + LENGTH.size + size
            self._wanted = end - at
            if end > len(self._held):
                frames += self._lose(at, counted_in_two_bytes(self._held[at : at + 512]))
                break
            frames.append(_frame(bytes(self._held[at:end]), bytes(self._held[end : end + 1])))
            self._torn = frames[-1].requirement == _TEXT
            at = end
            self._wanted = LENGTH.size
        del self._held[:at]
        return frames

    def _lose(self, at: int, why: str) -> list[Frame]:
        """Nothing can be decoded from there on, if there is a reason."""
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
            return [Frame(raw, name_of(value), value, _TOO_MANY.format(LENGTH.size), _PREFIX)]
        return [Frame(raw, TRUNCATED, {"announced": announced, "came": came})]


def _frame(raw: bytes, following: bytes) -> Frame:
    payload = raw[LENGTH.size :]
    if b"\0" in payload and (why := counted_wrongly(payload)):
        return Frame(raw, error=why, requirement=_PREFIX)
    try:
        # Some send the end of a C string along, which means nothing.
        value, deepest = read_deep(payload.removesuffix(b"\0"))
    except SexpError as error:
        if following == b")":
            return Frame(raw, error=_TOO_FEW, requirement=_PREFIX)
        if cut := _NEXT.search(payload):
            why = _CUT.format(cut.start(), _shown(payload, cut.start()))
            return Frame(raw, error=why, requirement=_PREFIX)
        requirement = _TEXT if error.ascii else _ASCII
        return Frame(
            raw,
            error=f"{error} of the text {_shown(payload, error.offset)}",
            requirement=requirement,
        )
    if deepest > DEEP:
        return Frame(raw, TOO_DEEP, {"depth": deepest, "bytes": len(payload)})
    if value and isinstance(value[0], list) and value[0][:1] in (["RSG"], ["RDS"]):
        why = f"a scene graph came without a state before it, {_shown(payload)}"
        return Frame(raw, error=why, requirement="state.structure")
    return Frame(raw, name_of(value), value)


def _whole(payload: bytes) -> list[Expression]:
    """The expressions of a complete text; none of another."""
    try:
        return read(payload)
    except SexpError:
        return []


def counted_wrongly(payload: bytes) -> str:
    """What is wrong with the length, if behind a complete text the next one stands in it."""
    depth = 0
    for place in re.finditer(rb"[()]", payload):
        depth += 1 if place[0] == b"(" else -1
        rest = payload[place.end() :].lstrip(b" \t\r\n")
        if depth == 0 and rest.startswith(b"\0") and 1 < len(rest) <= LENGTH.size:
            return _TOO_MANY.format(len(rest))
        if depth < 0:
            break
    return ""


def counted_in_two_bytes(begins: bytes | bytearray) -> str:
    """What is wrong with the length of a message that has begun to come, if it has two bytes only.

    Then they count a list that begins behind them, which from the fifth byte on would be none.
    """
    size = int.from_bytes(begins[:2], "big")
    text = bytes(begins[2 : 2 + size])
    if len(begins) > _SHORT or not 2 < len(text) == size or text[:1] != b"(" or text[1:2] in b"()":
        return ""
    if not _whole(text):
        return ""
    return f"the length has two bytes: {_shown(bytes(begins))}"


def _why_huge(size: int, begins: bytes) -> str:
    swapped = int.from_bytes(begins[: LENGTH.size], "little")
    if begins[:1] in (b"(", b" ", b"\n"):
        return f"a message without a length came, {_shown(begins)}"
    if begins[: LENGTH.size].strip(b"0123456789 ()") == b"":
        return f"the length is written in digits, {_shown(begins)}"
    if swapped <= LIMIT:
        return f"the length {size} came, which is {swapped} with the least significant byte first"
    return f"the length {size} came, more than any message has"


def _shown(data: bytes, about: int = 0) -> str:
    """The beginning of some bytes, or those around one that is farther on."""
    first = about - 20 if about > 40 else 0
    text = repr(data[first : first + 60].decode("latin-1"))
    return ("…" if first else "") + text + ("…" if len(data) > first + 60 else "")
