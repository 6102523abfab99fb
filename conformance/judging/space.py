"""List the points that the parties of a protocol can show, from schemas and courses."""

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache, partial
from itertools import islice
from pathlib import PurePosixPath
from typing import Any

from conformance.definitions.keywords import canonical, regex, short_json
from conformance.definitions.matchers import Fits, Fitting, Unknown
from conformance.definitions.protocol import DATAGRAMS, MessageType, Protocol, Role

ITEMS = 64
"""Items of an array that are observed; the others would take long, and seldom show a new point."""

NOISE = "bytes that are no message"
"""In a course: bytes that spoil a session. A row with it is never shown."""

WHOLE, CUT, JOINED = "a message in one piece", "a message in pieces", "several messages together"
FIRST, LATER, PARALLEL = (
    "a first connection",
    "a later connection",
    "a connection parallel to another",
)

FORM = "the form "
"""The beginning of the text of a point for a branch of a oneOf or anyOf."""

_WIDE = {"2^31": 2**31, "2^53": 2**53}
"""Integers that many programs cannot hold: in signed 32 bits, or in a double."""


class Aspect(StrEnum):
    """The kind of a point."""

    KIND = "kind"
    """A message of this name."""
    FIELD = "field"
    """An optional or required member, or an item."""
    VARIETY = "variety"
    """A second value of a member, null, or a member that is absent."""
    VALUE = "value"
    """A value of an enum or a boolean, or a branch of a oneOf or anyOf."""
    BOUND = "bound"
    """An extreme number or length."""
    ROW = "row"
    """A lawful row of a course."""
    FRAMING = "framing"
    """A way in which messages arrive, or in which connections follow each other."""


@dataclass(frozen=True, slots=True)
class Point:
    """A thing that a party can show.

    - ``subject``: the name of the message or of the course
    - ``place``: a path in the message, or the state of the course
    - ``requirement``: the requirement of the nearest schema that names one, or empty
    - ``to``: the receivers of the message; empty for all
    """

    sender: str
    aspect: Aspect
    subject: str
    place: str
    what: str
    requirement: str = ""
    to: tuple[str, ...] = ()


Observe = Callable[[Any, set[Any]], bool]
"""Returns True if a value fits its schema; adds what the value shows to a set.

An entry of the set is the index of a point, or the index of a point with the hash of a value. The
second point is shown as soon as two hashes differ.
"""

Row = tuple[str, str, tuple[str, str]]
"""The subject of a course, a state, and a step."""


@dataclass(frozen=True)
class Space:
    """All points of a protocol; a point has the same index in every process.

    - ``kinds``: the point of each message, by sender and name
    - ``observers``: by sender and name; a message with an unsupported schema has none
    - ``rows``: the point of each lawful row
    - ``framing``: by party and way; a party without a stream has none
    """

    points: tuple[Point, ...]
    kinds: Mapping[tuple[str, str], int]
    observers: Mapping[tuple[str, str], Observe]
    rows: Mapping[Row, int]
    framing: Mapping[tuple[str, str], int]

    def of(self, sender: str, receivers: Sequence[str]) -> Iterator[tuple[int, Point]]:
        """Yield the points of one party in sessions with these receivers, with their indices."""
        for index, point in enumerate(self.points):
            reached = not point.to or any(party in point.to for party in receivers)
            if point.sender == sender and reached:
                yield index, point


@cache
def space(protocol: Protocol) -> Space:
    """Return all points of a protocol."""
    points: list[Point] = []
    known: dict[Point, int] = {}

    def add(point: Point) -> int:
        # Two parts of a schema can speak about one place, with different requirements.
        key = replace(point, requirement="")
        if key not in known:
            known[key] = len(points)
            points.append(point)
        return known[key]

    kinds, observers = {}, {}
    for key, message in protocol.messages.items():
        kind = Point(
            message.sender, Aspect.KIND, message.name, "", "sent", message.handled, message.to
        )
        kinds[key] = add(kind)
        with contextlib.suppress(Unknown):
            observers[key] = _Observing(protocol, message, add).make_function()
    rows = {
        (course.of, state, step): add(
            Point(step[0], Aspect.ROW, course.of, str(state), step[1], to=course.to)
        )
        for course in getattr(protocol.oracle, "COURSES", ())
        for state, step in course.lawful_rows()
        if step[1] != NOISE
    }
    framing = {
        (party, what): add(Point(party, Aspect.FRAMING, "", "", what))
        for party in protocol.parties
        if any(_streams(role) for role in protocol.roles.values() if party in parties(role))
        for what in (WHOLE, CUT, JOINED, FIRST, LATER, PARALLEL)
    }
    return Space(tuple(points), kinds, observers, rows, framing)


def parties(role: Role) -> tuple[str, ...]:
    """Return a role, and the parties that the suite plays when it tests the role."""
    return (role.name, *(role.channels or (role.peer,)))


def _streams(role: Role) -> bool:
    return any(each not in (*DATAGRAMS, "none") for each in role.transports)


class _Observing(Fitting):
    """The function that checks and observes one message; its places are paths in the message."""

    def __init__(
        self, protocol: Protocol, message: MessageType, add: Callable[[Point], int]
    ) -> None:
        schema = protocol.schemas.schema(message.schema)
        super().__init__(schema.files.lookup)
        self._plain = Fitting(schema.files.lookup)
        self._contents = schema.contents
        self._message = message
        self._add = add
        self._place = ""
        self._requirement = ""
        self._needed: frozenset[str] = frozenset()
        """The members that are required at this place."""
        self._entered: dict[int, list[Fits]] = {}
        """The functions of the schemas around this place, by identity; empty lists at first."""

    def make_function(self) -> Observe:
        """Return the function. Raises Unknown for an unsupported keyword."""
        return self._enter(self._contents)

    def of(self, schema: Any) -> Fits:
        if isinstance(schema, bool):
            return super().of(schema)
        before = self._requirement, self._needed
        named = schema.get("x-requirement")
        self._requirement = named if isinstance(named, str) else self._requirement
        self._needed = self._needed | self._required_by(schema)
        fits = super().of(schema)
        marks = self._marks(schema)
        self._requirement, self._needed = before
        return partial(_observe, fits, marks) if marks else fits

    def _required_by(self, schema: Any, depth: int = 8) -> frozenset[str]:
        """Return the members that a schema requires, also by its references."""
        if not isinstance(schema, dict) or not depth:
            return frozenset()
        parts = list(schema.get("allOf", ()))
        parts += [self._lookup(schema["$ref"])] if "$ref" in schema else []
        below = (self._required_by(part, depth - 1) for part in parts)
        return frozenset(schema.get("required", ())).union(*below)

    @contextlib.contextmanager
    def _at(self, step: str, child: bool = True) -> Iterator[None]:
        before = self._place, self._needed
        self._place = f"{self._place}{step}".removeprefix(".")
        self._needed = frozenset() if child else self._needed
        yield
        self._place, self._needed = before

    def _point(self, aspect: Aspect, what: str) -> int:
        message = self._message
        return self._add(
            Point(
                message.sender,
                aspect,
                message.name,
                self._place,
                what,
                self._requirement,
                message.to,
            )
        )

    # Points of a value itself

    def _marks(self, schema: Any) -> tuple[Callable[[Any, set[Any]], None], ...]:
        if "const" in schema or "enum" in schema:
            return ()
        named = schema.get("type", ())
        types = [named] if isinstance(named, str) else list(named)
        made = []
        for name in types:
            if name in ("integer", "number"):
                made.append(self._number(schema, name == "integer"))
            elif name == "string":
                made.append(self._string(schema))
            elif name == "boolean":
                made.append(self._boolean())
            elif name in ("array", "object"):
                made += self._size_functions(schema, name)
            elif name == "null" and len(types) > 1:
                made.append(self._null())
        return tuple(made)

    def _number(self, schema: Any, integer: bool) -> Callable[[Any, set[Any]], None]:
        low, high = schema.get("minimum"), schema.get("maximum")
        holds: list[tuple[int, Callable[[Any], bool]]] = []

        def add(what: str, condition: Callable[[Any], bool]) -> None:
            holds.append((self._point(Aspect.BOUND, what), condition))

        if low is not None:
            add(f"the least value, {short_json(low)}", lambda value: bool(value == low))
        if high is not None:
            add(f"the greatest value, {short_json(high)}", lambda value: bool(value == high))
        lowest = schema.get("exclusiveMinimum", low)
        highest = schema.get("exclusiveMaximum", high)
        under = lowest is None or lowest < 0
        if under and (highest is None or highest > 0):
            add("zero", lambda value: bool(value == 0))
        if under:
            add("a negative value", lambda value: bool(value < 0))
        for what, limit in _WIDE.items() if integer else ():
            if highest is None or highest >= limit:
                add(f"{what} or more", lambda value, limit=limit: bool(value >= limit))  # type: ignore[misc]
        another = self._point(Aspect.VARIETY, "a second value")

        def mark(value: Any, marks: set[Any]) -> None:
            if type(value) is int or type(value) is float:
                marks.add((another, value))
                marks.update([point for point, condition in holds if condition(value)])

        return mark

    def _string(self, schema: Any) -> Callable[[Any, set[Any]], None]:
        least, most = schema.get("minLength", 0), schema.get("maxLength")
        pattern = schema.get("pattern")
        lengths = {least: f"the least length, {least}", most: f"the greatest length, {most}"}
        if not least:
            lengths[0] = "empty"
        fixed = pattern is not None and not regex(pattern).search("")
        points = {
            length: self._point(Aspect.BOUND, what)
            for length, what in lengths.items()
            if length is not None and not (fixed and length == least)
        }
        another = self._point(Aspect.VARIETY, "a second value")

        def mark(value: Any, marks: set[Any]) -> None:
            if type(value) is str:
                marks.add((another, hash(value)))
                if len(value) in points:
                    marks.add(points[len(value)])

        return mark

    def _boolean(self) -> Callable[[Any, set[Any]], None]:
        points = {value: self._point(Aspect.VALUE, short_json(value)) for value in (True, False)}

        def mark(value: Any, marks: set[Any]) -> None:
            if type(value) is bool:
                marks.add(points[value])

        return mark

    def _null(self) -> Callable[[Any, set[Any]], None]:
        point = self._point(Aspect.VARIETY, "null")

        def mark(value: Any, marks: set[Any]) -> None:
            if value is None:
                marks.add(point)

        return mark

    def _size_functions(self, schema: Any, name: str) -> Iterator[Callable[[Any, set[Any]], None]]:
        """Yield the function for the sizes of an array or a map, if they can differ."""
        kind = list if name == "array" else dict
        end = "Items" if kind is list else "Properties"
        least, most = schema.get(f"min{end}", 0), schema.get(f"max{end}")
        tagged = kind is dict and ("properties" in schema or "additionalProperties" not in schema)
        tuples = kind is list and schema.get("items") is False
        if tagged or tuples or least == most:
            return
        first = len(schema.get("prefixItems", ()))
        if least > first or not least:
            sizes = {least: f"the least size, {least}" if least else "empty"}
        else:
            sizes = {least: f"no more than {least}"} if least else {}
        sizes |= {most: f"the greatest size, {most}"} if most is not None else {}
        points = {size: self._point(Aspect.BOUND, what) for size, what in sizes.items()}

        def mark(value: Any, marks: set[Any]) -> None:
            if isinstance(value, kind) and len(value) in points:
                marks.add(points[len(value)])

        yield mark

    # Keywords that lead to other places, or that name values

    def _enum(self, values: Any, schema: Any) -> Fits:
        fits = super()._enum(values, schema)
        if len(values) < 2:
            return fits
        points = {canonical(each): self._point(Aspect.VALUE, short_json(each)) for each in values}

        def observe(value: Any, marks: set[Any]) -> bool:
            if not fits(value, marks):
                return False
            marks.add(points[canonical(value)])
            return True

        return observe

    def _x_requirement(self, requirement: Any, schema: Any) -> Fits | None:
        return None

    def _not(self, other: Any, schema: Any) -> Fits:
        return self._plain._not(other, schema)

    def _propertyNames(self, names: Any, schema: Any) -> Fits:
        return self._plain._propertyNames(names, schema)

    def _ref(self, uri: Any, schema: Any) -> Fits:
        return self._enter(self._lookup(uri))

    def _enter(self, schema: Any) -> Fits:
        if id(schema) in self._entered:
            # A value inside a value of the same schema shows the points of the outer value.
            outer = self._entered[id(schema)]
            return lambda value, marks: outer[0](value, marks)
        self._entered[id(schema)] = made = []
        made.append(self.of(schema))
        del self._entered[id(schema)]
        return made[0]

    def _properties(self, properties: Any, schema: Any) -> Fits:
        known: list[tuple[str, Fits, int, int | None]] = []
        for name, part in properties.items():
            if part is False:
                known.append((name, self.of(part), -1, None))
                continue
            needed = name in self._needed
            step = f".{name}" if name.isidentifier() else f"[{short_json(name, 40)}]"
            with self._at(step):
                present = self._point(Aspect.FIELD, "present")
                absent = None if needed else self._point(Aspect.VARIETY, "absent")
                known.append((name, self.of(part), present, absent))

        def observe(value: Any, marks: set[Any]) -> bool:
            if not isinstance(value, dict):
                return True
            for name, fits, present, absent in known:
                if name in value:
                    if not fits(value[name], marks):
                        return False
                    marks.add(present)
                elif absent is not None:
                    marks.add(absent)
            return True

        return observe

    def _additionalProperties(self, extra: Any, schema: Any) -> Fits:
        with self._at(".*"):
            return super()._additionalProperties(extra, schema)

    def _prefixItems(self, prefix: Any, schema: Any) -> Fits:
        parts = []
        for number, part in enumerate(prefix):
            with self._at(f"[{number}]"):
                certain = number < schema.get("minItems", 0)
                present = None if certain else self._point(Aspect.FIELD, "present")
                parts.append((self.of(part), present))

        def observe(value: Any, marks: set[Any]) -> bool:
            if isinstance(value, list):
                for (fits, present), item in zip(parts, value, strict=False):
                    if not fits(item, marks):
                        return False
                    if present is not None:
                        marks.add(present)
            return True

        return observe

    def _items(self, items: Any, schema: Any) -> Fits:
        first = len(schema.get("prefixItems", ()))
        if items is False:
            return super()._items(items, schema)
        with self._at("[]"):
            present = self._point(Aspect.FIELD, "present")
            part = self.of(items)

        def observe(value: Any, marks: set[Any]) -> bool:
            if isinstance(value, list) and len(value) > first:
                marks.add(present)
                for item in islice(value, first, first + ITEMS):
                    if not part(item, marks):
                        return False
            return True

        return observe

    def _anyOf(self, branches: Any, schema: Any) -> Fits:
        return self._branches(branches, len(branches))

    def _oneOf(self, branches: Any, schema: Any) -> Fits:
        return self._branches(branches, 1)

    def _branches(self, branches: Any, most: int) -> Fits:
        closed = [branch for branch in branches if not _is_open(branch)]
        labels = _labels([self._resolve(branch) for branch in closed], closed)
        made: list[tuple[Fits, int | None]] = []
        for branch in branches:
            if _is_open(branch):
                made.append((self._plain.of(branch), None))
                continue
            label = labels[next(n for n, each in enumerate(closed) if each is branch)]
            point = self._point(Aspect.VALUE, f"{FORM}{label}") if len(closed) > 1 else None
            # Items of different forms have the same numbers, so their places name the form.
            listed = len(closed) > 1 and "prefixItems" in self._resolve(branch)
            with self._at(f"<{label}>" if listed else "", child=False):
                made.append((self.of(branch), point))

        def observe(value: Any, marks: set[Any]) -> bool:
            count = 0
            for fits, point in made:
                own: set[Any] = set()
                if fits(value, own):
                    count += 1
                    marks.update(own)
                    if point is not None:
                        marks.add(point)
            return 1 <= count <= most

        return observe

    def _resolve(self, branch: Any) -> Any:
        """Return a branch, or the schema to which it refers."""
        while isinstance(branch, dict) and "$ref" in branch:
            branch = self._lookup(branch["$ref"])
        return branch if isinstance(branch, dict) else {}


def _observe(
    fits: Fits, parts: tuple[Callable[[Any, set[Any]], None], ...], value: Any, marks: set[Any]
) -> bool:
    if not fits(value, marks):
        return False
    for mark in parts:
        mark(value, marks)
    return True


def _is_open(branch: Any) -> bool:
    return isinstance(branch, dict) and branch.get("x-open") is True


def _labels(branches: Sequence[Any], written: Sequence[Any]) -> list[str]:
    """Return a different short label for each branch of a oneOf or anyOf."""
    found: list[str] = []
    for branch, original in zip(branches, written, strict=True):
        label = base = _label(branch, original)
        while label in found:
            label = f"{base} ({found.count(label) + sum(one.startswith(base) for one in found)})"
        found.append(label)
    return found


def _label(branch: Any, written: Any) -> str:
    if "const" in branch:
        return short_json(branch["const"])
    if branch.get("required"):
        return " and ".join(branch["required"][:2])
    first = (branch.get("prefixItems") or [None])[0]
    if isinstance(first, dict) and "const" in first:
        return str(first["const"])
    if isinstance(first, dict) and "enum" in first:
        return "|".join(map(str, first["enum"][:2])) + ("|…" if len(first["enum"]) > 2 else "")
    if isinstance(written, dict) and "$ref" in written:
        return PurePosixPath(written["$ref"].partition("#")[2] or written["$ref"]).stem
    if "title" in branch:
        return str(branch["title"])
    if "enum" in branch:
        return short_json(branch["enum"], 30)
    named = branch.get("type", "any")
    return named if isinstance(named, str) else " or ".join(named)
